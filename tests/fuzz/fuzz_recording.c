/* Fuzzes what replay and serve make of a trace: a file or a script (tests/fuzz/script.h), the first
 * byte says which and how requests are matched. What is kept must be in order and within bounds,
 * and every request that was recorded must find its exchange again. */
#include "replay/answers.h"
#include "replay/playback.h"
#include "tests/fuzz/script.h"
#include "tests/fuzz/stdin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_ITSELF = 2 };

static volatile unsigned char sink;

static void touch(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        sink ^= (unsigned char)s.p[i];
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_exchange(const struct recording *r, const struct recording_exchange *x)
{
    uint64_t bytes = 0;
    must(x->conn < r->conns.n && x->method.n > 0);
    must(x->request_flaw != RECORDING_WHOLE || x->body_sha256[0] != '\0');
    must(x->request_flaw != RECORDING_NONE && x->request_flaw != RECORDING_TUNNEL);
    must((x->status == 0) == (x->n_segments == 0) || x->response_flaw == RECORDING_GAP);
    for (size_t i = 0; i < x->n_segments; i++) {
        must(x->segments[i].bytes.n > 0);
        must(i == 0 || x->segments[i].t_ns >= x->segments[i - 1].t_ns);
        touch(x->segments[i].bytes);
        bytes += x->segments[i].bytes.n;
    }
    must(bytes == x->response_bytes);
    touch(x->body);
    touch(x->model);
    for (size_t i = 0; i < x->n_fields; i++) {
        touch(x->fields[i].name);
        touch(x->fields[i].value);
    }
    (void)playback_can_serve(x);
}

static void check_answers(const struct recording *r, enum answers_match match)
{
    struct answers *a = answers_new(r, match);
    struct buf why;
    buf_init(&why, 1 << 20);
    for (size_t i = 0; i < r->exchanges.n; i++) {
        const struct recording_exchange *x = &r->exchanges.v[i];
        buf_clear(&why);
        struct answers_found f = answers_find(a, x->method, x->target, x->body, &why);
        must(f.x != NULL || why.n > 0);
        must(f.x != NULL || x->request_flaw != RECORDING_WHOLE);
        must(f.x != NULL || match != ANSWERS_ORDER);
        buf_clear(&why);
        answers_find(a, x->target, x->method, x->target, &why);
    }
    buf_done(&why);
    answers_free(a);
}

static void fuzz_file(unsigned how, const void *p, size_t n)
{
    struct recording r;
    struct err e;
    stdin_give(p, n);
    if (recording_read(&r, "-", &e) == TA_OK) {
        for (size_t i = 0; i < r.exchanges.n; i++) {
            check_exchange(&r, &r.exchanges.v[i]);
            must(i == 0 || r.exchanges.v[i].id > r.exchanges.v[i - 1].id);
        }
        check_answers(&r, (enum answers_match)(how >> 2 & 3) % 3);
    }
    recording_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & FILE_ITSELF) {
        fuzz_file(data[0], data + 1, size - 1);
        return 0;
    }
    struct script s;
    script_begin(&s);
    script_run(&s, data + 1, size - 1);
    fuzz_file(data[0], s.file.p, s.file.n);
    buf_done(&s.file);
    return 0;
}
