/* Workload files of other tools, hand-made in the shapes that peers-and-formats 4.1 gives: what is
 * read of them, what is said, and how a file is cut must not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/formats.h"
#include "replay/formats_row.h"

static const struct formats_options plain = {
    .max_tokens = -1, .model = "m", .path = "/v1/chat/completions"};

struct reading {
    struct plan plan;
    struct buf says;
    struct err e;
    int rc;
    enum formats_kind kind;
    char name[32];
};

static struct reading read_bytes(struct slice text, const struct formats_options *o,
                                 const char *format)
{
    struct reading r = {.kind = FORMATS_SPEC};
    struct formats *s = NULL;
    buf_init(&r.says, 1 << 20);
    FILE *f = text.n > 0 ? fmemopen((void *)(uintptr_t)text.p, text.n, "r") : tmpfile();
    assert_non_null(f);
    r.rc = formats_open(&s, f, (struct slice){NULL, 0}, "file", format, &r.e);
    if (r.rc == TA_OK) {
        r.kind = formats_kind(s);
        snprintf(r.name, sizeof r.name, "%s", formats_name(s) ? formats_name(s) : "-");
    }
    if (r.rc == TA_OK && r.kind == FORMATS_FOREIGN)
        r.rc = formats_read(s, &r.plan, o, &r.says, &r.e);
    formats_close(s);
    fclose(f);
    return r;
}

static struct reading read_as(const char *text, const struct formats_options *o, const char *format)
{
    struct reading r = read_bytes(slice_of(text), o, format);
    if (r.rc != TA_OK)
        fail_msg("%s", r.e.msg);
    return r;
}

static struct reading read_text(const char *text)
{
    return read_as(text, &plain, NULL);
}

static void done(struct reading *r)
{
    plan_free(&r->plan);
    buf_done(&r->says);
}

static const struct plan_request *at(const struct reading *r, size_t i)
{
    assert_true(i < r->plan.requests.n);
    return &r->plan.requests.v[i];
}

static void assert_says(struct reading *r, const char *what)
{
    if (strstr(buf_text(&r->says), what) == NULL)
        fail_msg("expected '%s' in: %s", what, buf_text(&r->says));
}

/* The text of the one message of a body; freed by the caller. */
static char *content(const struct plan_request *q)
{
    struct json *v = json_parse(q->body.p, q->body.n, NULL);
    assert_non_null(v);
    const char *text = json_string(json_first(json_get(v, "messages")), "content");
    assert_non_null(text);
    char *copy = mem_strdup(text);
    json_free(v);
    return copy;
}

static int64_t body_int(const struct plan_request *q, const char *name)
{
    struct json *v = json_parse(q->body.p, q->body.n, NULL);
    int64_t n = -1;
    json_int(v, name, &n);
    json_free(v);
    return n;
}

/* About one token each: words, and the full stop that closes a longer text. */
static size_t count_words(const char *text)
{
    size_t n = *text != '\0' && text[strlen(text) - 1] == '.';
    for (const char *p = text; *p != '\0';) {
        p += strspn(p, " \n");
        n += *p != '\0';
        p += strcspn(p, " \n");
    }
    return n;
}

static size_t shared_bytes(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

/* --- lengths ---------------------------------------------------------------------------------- */

static const char mooncake[] =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 52, \"hash_ids\": [46, 47, "
    "48]}\n"
    "{\"timestamp\": 3000, \"input_length\": 1030, \"output_length\": 5, \"hash_ids\": [46, 47, "
    "9]}\n"
    "\n"
    "{\"timestamp\": 3000, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [47]}\r\n"
    "{\"timestamp\": 5999, \"input_length\": 600, \"output_length\": 0, \"hash_ids\": [1, 2]}\n"
    "{\"timestamp\": 5999, \"input_length\": 7, \"output_length\": 3, \"hash_ids\": [5]}";

static void mooncake_rows(void **state)
{
    (void)state;
    struct reading r = read_text(mooncake);
    const int64_t t_ns[] = {0, 3000000000, 3000000000, 5999000000};
    const int64_t in[] = {1100, 1030, 512, 7}, out[] = {52, 5, 1, 3};
    assert_string_equal(r.name, "mooncake");
    assert_int_equal(r.plan.requests.n, 4);
    for (size_t i = 0; i < 4; i++) {
        char *text = content(at(&r, i));
        assert_int_equal(at(&r, i)->t_ns, t_ns[i]);
        assert_int_equal(at(&r, i)->after, -1);
        assert_int_equal(at(&r, i)->group, -1);
        assert_int_equal(at(&r, i)->expect_prompt_tokens, in[i]);
        assert_int_equal(at(&r, i)->expect_completion_tokens, out[i]);
        assert_int_equal(body_int(at(&r, i), "max_tokens"), out[i]);
        assert_int_equal(count_words(text), in[i]);
        free(text);
    }
    assert_says(&r, "read as mooncake: the first row has 'hash_ids'");
    assert_says(&r, "times are taken as ms");
    assert_says(&r,
                "left out: 1 rows that have 0 output tokens (failed calls), the first in line 5");
    done(&r);
}

/* Equal ids are equal text, another place of it included: prefix caching behaves as recorded. */
static void hash_ids_are_shared_prefixes(void **state)
{
    (void)state;
    struct reading r = read_text(mooncake);
    char *a = content(at(&r, 0)), *b = content(at(&r, 1)), *c = content(at(&r, 2));
    size_t shared = shared_bytes(a, b);
    char *prefix = mem_strndup(a, shared);
    assert_in_range(count_words(prefix), 1024, 1024 + 2); /* two blocks, and chance */
    assert_null(strstr(a + shared, b + shared));
    assert_non_null(strstr(a, c)); /* block 47 alone is in both, behind 46 */
    assert_true(shared_bytes(a, c) < 60);
    struct formats_options o = plain;
    o.seed = 1;
    struct reading other = read_as(mooncake, &o, NULL);
    char *d = content(at(&other, 0));
    assert_true(shared_bytes(a, d) < 60);
    free(a);
    free(b);
    free(c);
    free(d);
    free(prefix);
    done(&other);
    done(&r);
}

static void ties_become_groups_on_request(void **state)
{
    (void)state;
    struct formats_options o = plain;
    o.barrier_ties = true;
    struct reading r = read_as(mooncake, &o, NULL);
    const int64_t groups[] = {-1, 0, 0, -1}, members[] = {0, 0, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(at(&r, i)->group, groups[i]);
        assert_int_equal(at(&r, i)->member, members[i]);
    }
    done(&r);
    o.requests = 2;
    r = read_as(mooncake, &o, NULL);
    assert_int_equal(r.plan.requests.n, 2);
    done(&r);
}

/* The dialect of AIPerf: texts and messages win over lengths; sessions wait for their last turn. */
static void aiperf_rows(void **state)
{
    (void)state;
    struct reading r = read_text(
        "{\"timestamp\":1000,\"session_id\":\"a\",\"text_input\":\"Say \\u00e9 \\\"hi\\\"\","
        "\"output_length\":4}\n"
        "{\"session_id\":\"a\",\"delay\":250,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
        "\"tools\":[{\"n\":1}],\"extra\":{\"temper\\u0061ture\":0.5,\"min\\u0022_tokens\":2},"
        "\"output_length\":"
        "6}"
        "\n"
        "{\"timestamp\":1500.0,\"payload\":{\"messages\": [ ],\"n\":12345678901234567890}}\n"
        "{\"timestamp\":500,\"session_id\":\"b\",\"input_length\":40}\n");
    assert_int_equal(r.plan.requests.n, 4);
    assert_int_equal(at(&r, 0)->t_ns, 0);
    assert_int_equal(at(&r, 0)->expect_prompt_tokens, 40);
    assert_int_equal(at(&r, 0)->expect_completion_tokens, 0);
    assert_int_equal(at(&r, 1)->t_ns, 500000000);
    assert_int_equal(at(&r, 2)->after, 1);
    assert_int_equal(at(&r, 2)->t_ns, -1);
    assert_int_equal(at(&r, 2)->pause_ns, 250000000);
    assert_int_equal(at(&r, 3)->t_ns, 1000000000);
    static const struct {
        size_t request;
        const char *body;
    } bodies[] = {
        {1, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Say \\u00e9 "
            "\\\"hi\\\"\"}],\"max_tokens\":4,\"temperature\":0,\"stream\":true,\"stream_options\":"
            "{\"include_usage\":true}}"},
        {2, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":"
            "[{\"n\":1}],\"max_tokens\":6,\"stream\":true,\"stream_options\":"
            "{\"include_usage\":true},\"temper\\u0061ture\":0.5,\"min\\u0022_tokens\":2}"},
        {3, "{\"messages\": [ ],\"n\":12345678901234567890}"}};
    for (size_t i = 0; i < 3; i++) {
        struct slice body = at(&r, bodies[i].request)->body;
        assert_int_equal(body.n, strlen(bodies[i].body));
        assert_memory_equal(body.p, bodies[i].body, body.n);
    }
    char *made = content(at(&r, 0));
    assert_int_equal(count_words(made), 40);
    free(made);
    assert_says(&r, "1 requests say no output length: max_tokens is 256");
    done(&r);
}

static void bailian_sessions(void **state)
{
    (void)state;
    struct reading r = read_text(
        "{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 521,"
        " \"output_length\": 132, \"type\": \"text\", \"turn\": 1, \"hash_ids\": "
        "[1,2,3,4,5,6,7,8,9,"
        "10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33]}\n"
        "{\"chat_id\": 160, \"parent_chat_id\": 159, \"timestamp\": 73.5, \"input_length\": 17,"
        " \"output_length\": 9, \"type\": \"text\", \"turn\": 2, \"hash_ids\": [1, 40]}\n"
        "{\"chat_id\": 161, \"parent_chat_id\": 12, \"timestamp\": 62.0, \"input_length\": 16,"
        " \"output_length\": 9, \"type\": \"text\", \"turn\": 3, \"hash_ids\": [41]}\n");
    assert_string_equal(r.name, "bailian");
    assert_int_equal(at(&r, 0)->t_ns, 0);
    assert_int_equal(at(&r, 1)->t_ns, 886000000);
    assert_int_equal(at(&r, 1)->after, -1);
    assert_int_equal(at(&r, 2)->t_ns, 12386000000);
    assert_int_equal(at(&r, 2)->after, 0);
    assert_says(&r, "times are taken as s");
    assert_says(&r, "1 rows name a turn before them that is not in the file");
    assert_null(strstr(buf_text(&r.says), "hash_ids"));
    done(&r);
}

/* The same names with other units: a fraction means seconds, the blocks that fit are taken. */
static void units_and_blocks_are_guessed_aloud(void **state)
{
    (void)state;
    struct reading r = read_text(
        "{\"timestamp\": 1e-05, \"input_length\": 33, \"output_length\": 1, \"hash_ids\": "
        "[1,2,3]}\n"
        "{\"timestamp\": 2.5, \"input_length\": 16, \"output_length\": 1, \"hash_ids\": [1]}\n");
    assert_int_equal(at(&r, 1)->t_ns, 2499990000);
    assert_says(&r, "times are taken as s: mooncake formats have whole ms, and the time in line 1 "
                    "has a fraction");
    assert_says(&r, "hash_ids stand for blocks of 16 tokens, not of 512");
    done(&r);

    struct formats_options o = plain;
    o.time_unit = "us";
    r = read_as(mooncake, &o, NULL);
    assert_int_equal(at(&r, 1)->t_ns, 3000000);
    assert_says(&r, "times are taken as us (--time-unit)");
    done(&r);

    o.time_unit = "ns"; /* more than a double holds */
    r = read_as("{\"timestamp\":1763284623979960001,\"input_length\":9}\n"
                "{\"timestamp\":1763284623979960000,\"input_length\":9}\n",
                &o, "mooncake");
    assert_int_equal(at(&r, 1)->t_ns, 1);
    done(&r);

    r = read_as(mooncake, &plain, "timed_trace");
    assert_int_equal(at(&r, 1)->t_ns, 3000000000000);
    assert_says(&r, "hash_ids stand for blocks of 512 tokens, not of 16 as timed_trace");
    done(&r);

    r = read_text("{\"timestamp\":1,\"input_length\":99,\"hash_ids\":[1,2,3]}\n");
    assert_says(&r, "WARNING: line 1: its hash_ids do not fit");
    done(&r);
}

/* Ten rows that are five minutes apart, or less than a millisecond; or, where the unit is a guess,
 * less than ten: said. */
static void absurd_spans_are_said(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 16);
    for (int i = 0; i < 12; i++)
        buf_printf(&text, "{\"timestamp\":%d,\"input_length\":9,\"output_length\":9}\n", 300 * i);
    struct reading r = read_as(buf_text(&text), &plain, "trace_synthetic");
    assert_says(&r, "12 requests in 55 min, one every 5 min in the mean");
    assert_says(&r, "WARNING: that is very little load; if the times are not s");
    done(&r);
    r = read_text(buf_text(&text));
    assert_null(strstr(buf_text(&r.says), "WARNING"));
    done(&r);
    struct formats_options o = plain;
    o.time_unit = "us";
    r = read_as(buf_text(&text), &o, NULL);
    assert_says(&r, "requests a second are a very heavy load");
    done(&r);
    buf_clear(&text); /* one every two seconds, taken as ms; then one every 12 ms */
    for (int i = 0; i < 12; i++)
        buf_printf(&text, "{\"timestamp\":%d,\"input_length\":9,\"output_length\":9}\n", 2 * i);
    r = read_text(buf_text(&text));
    assert_says(&r,
                "WARNING: 500 requests a second are a very heavy load; if the times are not ms");
    done(&r);
    o.time_unit = "ms";
    r = read_as(buf_text(&text), &o, NULL);
    assert_null(strstr(buf_text(&r.says), "WARNING"));
    done(&r);
    buf_clear(&text);
    for (int i = 0; i < 12; i++)
        buf_printf(&text, "{\"timestamp\":%d,\"input_length\":9,\"output_length\":9}\n", 12 * i);
    r = read_text(buf_text(&text));
    assert_null(strstr(buf_text(&r.says), "WARNING"));
    done(&r);
    buf_done(&text);
}

static void burstgpt_rows(void **state)
{
    (void)state;
    struct reading r = read_text("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log "
                                 "Type\n5,ChatGPT,472,18,490,Conversation log\n"
                                 "45,\"GPT-4\",1087,230,1317,API log\n"
                                 "118,GPT-4,417,0,417,API log\n"
                                 "43.25,ChatGPT,5,3,8,API log\n");
    assert_string_equal(r.name, "burstgpt");
    assert_int_equal(r.plan.requests.n, 3);
    const int64_t t_ns[] = {0, 38250000000, 40000000000}, in[] = {472, 5, 1087};
    for (size_t i = 0; i < 3; i++) {
        char *text = content(at(&r, i));
        assert_int_equal(at(&r, i)->t_ns, t_ns[i]);
        assert_int_equal(count_words(text), in[i]);
        free(text);
    }
    assert_says(&r,
                "left out: 1 rows that have 0 output tokens (failed calls), the first in line 4");
    done(&r);
    /* The newer release has two columns more, in other places. */
    r = read_text("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total "
                  "tokens,Log Type\n1.5,s1,2,GPT-4,9,8,17,API log\n2.5,s1,2,GPT-4,9,8,17,API log\n"
                  "2.75,,2,GPT-4,9,8,17,API log\n");
    assert_int_equal(at(&r, 1)->after, 0);
    assert_int_equal(at(&r, 1)->t_ns, 1000000000);
    assert_int_equal(at(&r, 2)->after, -1);
    done(&r);
}

static void azure_rows(void **state)
{
    (void)state;
    /* 2023: CRLF, seven decimals, no line end at the end. */
    struct reading r = read_text("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                 "2023-11-16 18:17:03.9799600,4808,10\r\n"
                                 "2023-11-16 18:17:04.0319601,3180,8");
    assert_string_equal(r.name, "azure");
    assert_int_equal(at(&r, 1)->t_ns, 52000100);
    assert_int_equal(at(&r, 1)->expect_prompt_tokens, 3180);
    assert_int_equal(at(&r, 1)->expect_completion_tokens, 8);
    done(&r);
    /* 2024: two shapes in one file; midnight and a leap day between. */
    r = read_text("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                  "2024-02-28 23:59:59.009930+00:00,2162,5\n"
                  "2024-02-29 00:00:00+00:00,2399,6\n"
                  "2024-03-01 02:00:00.5+02:00,76,15\n");
    assert_int_equal(at(&r, 1)->t_ns, 990070000);
    assert_int_equal(at(&r, 2)->t_ns, 86401490070000);
    done(&r);
    r = read_text("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                  "2024-10-15 00:00:00.000100,2,2162,5\n2024-10-15 00:00:01.000100,0,2162,5\n");
    assert_says(&r, "1 rows had images: they are sent as text of their length");
    done(&r);
}

static void guidellm_and_weka(void **state)
{
    (void)state;
    struct reading r =
        read_text("[{\"timestamp\": 0.5, \"input_length\": 12, \"output_length\": 3},"
                  "\n {\"timestamp\": 0.25, \"input_length\": 13}]\n");
    assert_int_equal(at(&r, 0)->expect_prompt_tokens, 13);
    assert_int_equal(at(&r, 1)->t_ns, 250000000);
    done(&r);
    r = read_text("timestamp,input_length,output_length\n10,12,3\n11,13,4\n");
    assert_string_equal(r.name, "trace_synthetic");
    assert_int_equal(at(&r, 1)->t_ns, 1000000000);
    done(&r);
    r = read_text("{\"id\":\"x\",\"t\":3,\"in\":65,\"out\":2,\"hash_ids\":[1,2]}\n");
    assert_string_equal(r.name, "weka");
    assert_int_equal(at(&r, 0)->expect_prompt_tokens, 65);
    assert_null(strstr(buf_text(&r.says), "blocks"));
    done(&r);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void sharegpt_rows(void **state)
{
    (void)state;
    struct reading r = read_text(
        "[\n{\"id\": \"QWJhYvA_0\", \"c\\u006fnversations\": [{\"fr\\u006fm\": \"h\\u0075man\", "
        "\"value\": "
        "\"Summarize "
        "\\\"x\\\" ]}\"}, {\"from\": \"gpt\", \"value\": \"Here\"}, {\"from\": \"human\", "
        "\"value\": "
        "\"more\"}]},\n"
        "{\"id\": \"i6IyJda_0\", \"conversations\": [{\"from\": \"gpt\", \"value\": \"no\"}]},\n"
        "{\"id\": \"i6IyJda_1\", \"conversations\": [{\"from\": \"system\", \"value\": \"s\"}, "
        "{\"from\": \"user\", \"value\": \"last\"}]}\n]\n");
    assert_string_equal(r.name, "sharegpt");
    assert_int_equal(r.plan.requests.n, 2);
    char *first = content(at(&r, 0)), *second = content(at(&r, 1));
    assert_string_equal(first, "Summarize \"x\" ]}");
    assert_string_equal(second, "last");
    assert_int_equal(at(&r, 0)->t_ns, 0);
    assert_int_equal(at(&r, 1)->after, 0);
    assert_int_equal(at(&r, 1)->expect_prompt_tokens, 0);
    assert_says(&r, "it has no times: its requests are sent one after the other");
    assert_says(&r, "left out: 1 rows that have no turn of a person, the first in element 2");
    assert_says(&r, "of 1 conversations the first turn is sent");
    free(first);
    free(second);
    done(&r);
}

static void aiperf_inputs(void **state)
{
    (void)state;
    struct reading r = read_text("{\"text\":\"a\",\"timestamp\":10,\"output_length\":3}\n"
                                 "{\"texts\":[\"b\",\"c\"],\"timestamp\":30}\n"
                                 "{\"text\":\"d\",\"image\":\"x.png\",\"timestamp\":30}\n");
    assert_string_equal(r.name, "single_turn");
    assert_int_equal(r.plan.requests.n, 2);
    assert_int_equal(at(&r, 1)->t_ns, 20000000);
    char *text = content(at(&r, 1));
    assert_string_equal(text, "b\nc");
    free(text);
    assert_says(&r, "left out: 1 rows that need images, audio or video");
    done(&r);

    r = read_text(
        "{\"session_id\":\"s\",\"turns\":[{\"text\":\"a\"},{\"text\":\"b\",\"delay\":20}]}"
        "\n{\"session_id\":\"u\",\"turns\":[{\"text\":\"c\"}]}\n");
    assert_string_equal(r.name, "multi_turn");
    assert_int_equal(r.plan.requests.n, 3);
    assert_int_equal(at(&r, 1)->after, 0);
    assert_int_equal(at(&r, 1)->pause_ns, 20000000);
    assert_int_equal(at(&r, 2)->after, 1);
    text = content(at(&r, 1));
    assert_string_equal(text, "a\nb");
    free(text);
    assert_says(&r, "1 later turns are sent without the replies");
    done(&r);

    static const char body[] = "{\"model\": \"q\", \"messages\": [{\"role\":\"user\"}], \"n\":1}";
    char *lines = mem_printf("%s\n\n%s", body, body);
    r = read_text(lines);
    free(lines);
    assert_string_equal(r.name, "raw_payload");
    assert_int_equal(r.plan.requests.n, 2);
    assert_int_equal(at(&r, 1)->body.n, sizeof body - 1);
    assert_memory_equal(at(&r, 1)->body.p, body, sizeof body - 1);
    done(&r);

    char *inputs = mem_printf("{\"x\": {\"data\": [1]},\n \"data\": [{\"session_id\":\"a\", "
                              "\"payloads\": [%s,\n%s]}, {\"payloads\":[%s]}]}",
                              body, body, body);
    r = read_text(inputs);
    free(inputs);
    assert_string_equal(r.name, "inputs_json");
    assert_int_equal(r.plan.requests.n, 3);
    assert_memory_equal(at(&r, 2)->body.p, body, sizeof body - 1);
    assert_string_equal(at(&r, 1)->fields[3].value, "inputs_json-1-1");
    done(&r);

    struct formats_options o = plain;
    o.path = "/v1/completions";
    o.max_tokens = 7;
    r = read_as("{\"prompt\": \"hi\", \"output_tokens\": 9}\n", &o, NULL);
    assert_string_equal(r.name, "custom");
    struct slice got = at(&r, 0)->body;
    assert_memory_equal(got.p, "{\"model\":\"m\",\"prompt\":\"hi\",\"max_tokens\":7,", 42);
    assert_int_equal(at(&r, 0)->expect_completion_tokens, 9);
    done(&r);
}

static char said_before[4096];

static void note_said(struct buf *says)
{
    snprintf(said_before, sizeof said_before, "%s", buf_text(says));
    buf_clear(says);
}

/* 300 rows of 10 million words are refused before anything is made; what is said comes before. */
static void large_texts_are_said_before(void **state)
{
    (void)state;
    struct buf text;
    struct formats_options o = plain;
    o.lengths_only = true;
    o.said = note_said;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 300; i++)
        buf_puts(&text, "{\"timestamp\":1,\"input_length\":10000000}\n");
    struct reading r = read_as(buf_text(&text), &o, NULL);
    assert_null(strstr(said_before, "temporary file")); /* nothing is made */
    assert_non_null(strstr(said_before, "times are taken as ms"));
    done(&r);
    o.lengths_only = false;
    r = read_bytes(slice_of(buf_text(&text)), &o, NULL);
    assert_int_equal(r.rc, TA_ELIMIT);
    assert_non_null(strstr(r.e.msg, "its prompts are 18 GB of text, more than 16 GiB"));
    done(&r);
    buf_done(&text);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void faults_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *format, *says;
    } cases[] = {
        {"", NULL, "file is empty; expected a workload"},
        {"\x7F"
         "ELF",
         NULL, "neither a workload"},
        {"a,b,c\n1,2,3\n", NULL, "neither a workload"},
        {"[{\"x\":1}]", NULL, "neither a workload"},
        {"{}", "mooncak", "--format: expected one of mooncake, timed_trace"},
        {"{}", "azure", "no azure file, as --format says: it starts with '{'"},
        {"x\n", "azure", "file, line 1: the header of a azure file has columns TIMESTAMP"},
        {"{\"hash_ids\":[1],\"input_length\":1}\n{\"input_length\":1,}\n", NULL,
         "file, line 2: not valid JSON at byte 19"},
        {"{\"hash_ids\":[1],\"input_length\":1}\n\n[]\n", NULL,
         "file, line 3: expected a JSON object"},
        {"{\"hash_ids\":[1],\"input_length\":-4}", NULL, "file, line 1: its input_length is not"},
        {"{\"hash_ids\":[1],\"input_length\":1.5}", NULL, "file, line 1: its input_length is not"},
        {"{\"hash_ids\":[1],\"input_length\":99999999}", NULL,
         "input_length is not a whole number"},
        {"{\"hash_ids\":[\"a\"],\"input_length\":1}", NULL, "file, line 1: its hash_ids are not"},
        {"{\"hash_ids\":[1],\"output_length\":1}", NULL, "line 1: has neither input_length nor"},
        {"{\"hash_ids\":[1],\"input_length\":0}", NULL, "file: no row in it can be sent"},
        {"{\"timestamp\":-1,\"input_length\":1}", NULL, "file, line 1: its timestamp is no number"},
        {"{\"timestamp\":1,\"input_length\":1}\n{\"input_length\":1}", NULL,
         "file, line 2: has no time, as other rows have"},
        {"[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]},\n{\"conversations\":[", NULL,
         "file, element 2 (line 2): the file ends inside it"},
        {"[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}", NULL,
         "element 1 (line 1): expected ',' or ']'"},
        {"[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}] x", NULL,
         "element 1 (line 1): text behind the array"},
        {"[{\"conversations\":[{\"from\":\"human\",\"value\":7}]}]", NULL,
         "element 1 (line 1): a turn of it has no text"},
        {"{\"data\":[{\"payloads\":7}]}", NULL, "element 1 (line 1): has no array 'payloads'"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.97,1,1\r\nx,1,1\r\n", NULL,
         "file, line 3: its time is no stamp"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:17:03,1,1\n", NULL,
         "file, line 2: its time is no stamp"},
        {"Timestamp,Request tokens,Response tokens\n1,x,1\n", NULL,
         "file, line 2: its number of input tokens"},
        {"Timestamp,Request tokens,Response tokens\n\"1,2,1\n", NULL, "file, line 2: not CSV"},
        {"{\"timestamp\":1,\"input_length\":1}\n{\"timestamp\":999999999999999,"
         "\"input_length\":1}",
         NULL, "line 2: its time, in ms, is over 146 years"},
        {"{\"timestamp\":1,\"input_length\":1}\n{\"timestamp\":99999999999,"
         "\"input_length\":1}",
         NULL, "line 2: is due over 104 days after the first"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_bytes(slice_of(cases[i].text), &plain, cases[i].format);
        if (r.rc == TA_OK || strstr(r.e.msg, cases[i].says) == NULL)
            fail_msg("case %zu: expected '%s', found '%s'", i, cases[i].says,
                     r.rc == TA_OK ? "no error" : r.e.msg);
        done(&r);
    }
}

static void own_files_are_left_to_their_readers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum formats_kind kind;
    } cases[] = {{"{\"workload\":\"w\",\"prompts\":[]}", FORMATS_SPEC},
                 {"\xEF\xBB\xBF {\n", FORMATS_SPEC},
                 {"{\"id\":0,\"path\":\"/\",\"body\":\"{}\"}\n", FORMATS_PLAN},
                 {"\n\r\r\n", FORMATS_CAPTURE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_text(cases[i].text);
        assert_int_equal(r.kind, cases[i].kind);
        done(&r);
    }
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* All lines, or elements, of text as one string, read in chunks of that size. */
static char *cut(const char *text, size_t chunk, const char *member, bool lines)
{
    struct formats_input in;
    struct buf all;
    struct slice s;
    struct err e = {0};
    buf_init(&all, 1 << 20);
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    formats_input_init(&in, f, (struct slice){NULL, 0}, "f");
    in.chunk_bytes = chunk;
    int rc = lines ? TA_OK : formats_input_array(&in, member, &e);
    while (rc == TA_OK && (rc = lines ? formats_input_line(&in, &s, &e)
                                      : formats_input_element(&in, &s, &e)) == 1) {
        buf_printf(&all, "<%.*s>%zu/%zu", (int)s.n, s.p, in.line, in.element);
        rc = TA_OK;
    }
    buf_printf(&all, "%d%s", rc, rc < 0 ? e.msg : "");
    formats_input_done(&in);
    fclose(f);
    char *copy = mem_strdup(buf_text(&all));
    buf_done(&all);
    return copy;
}

static void any_cut_gives_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *text, *member, *whole;
        bool lines;
    } cases[] = {
        {"\xEF\xBB\xBF"
         "a\r\n\n \t\nbb\n\nccc",
         NULL, "<a>1/0<bb>4/0<ccc>6/00", true},
        {" [ {\"a]\\\"\":[1,{}]} ,\n\"x,\\\\\",\n12 ,true,[]]\n", NULL,
         "<{\"a]\\\"\":[1,{}]}>1/1<\"x,\\\\\">2/2<12>3/3<true>3/4<[]>3/50", false},
        {"{\"b\" :[{\"data\":[9]}],\n\"data\":[1,2],\"c\":3}", "data", "<1>2/1<2>2/20", false},
        {"[1,2", NULL, "<1>1/1-2f, element 2 (line 1): the file ends inside it", false},
        {"[1 2]", NULL, "<1>1/1-2f, element 1 (line 1): expected ',' or ']' behind it", false},
        {"[1,]", NULL, "<1>1/1-2f, element 2 (line 1): expected a value", false},
        {"[]", NULL, "0", false},
        {"{\"a\":1}", "data", "-2f, line 1: the document has no member 'data'", false},
        {"{\"a\":1", "data", "-2f, line 1: the file ends inside it", false},
        {"{a", "data", "-2f, line 1: expected a member's name in quotes", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t chunk = 1; chunk < 70; chunk += chunk < 16 ? 1 : 17) {
            char *got = cut(cases[i].text, chunk, cases[i].member, cases[i].lines);
            assert_string_equal(got, cases[i].whole);
            free(got);
        }
    }
}

/* Made by gzip -n of two rows of Azure's; without its last bytes it is cut short. */
static void gzip_is_undone(void **state)
{
    (void)state;
    static const uint8_t azure_gz[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0xf1, 0xf4, 0x75,
        0x0d, 0x0e, 0x71, 0xf4, 0x0d, 0xd0, 0x71, 0xce, 0xcf, 0x2b, 0x49, 0xad, 0x28, 0x09,
        0xc9, 0xcf, 0x4e, 0xcd, 0x2b, 0xd6, 0x71, 0x4f, 0xcd, 0x4b, 0x2d, 0x4a, 0x2c, 0x49,
        0x4d, 0x81, 0xf0, 0x79, 0xb9, 0x8c, 0x0c, 0x8c, 0x8c, 0x75, 0x0d, 0x0d, 0x75, 0x0d,
        0xcd, 0x14, 0x0c, 0x2d, 0xac, 0x0c, 0xcd, 0xad, 0x0c, 0x8c, 0xf5, 0x2c, 0xcd, 0x2d,
        0x2d, 0xcd, 0x0c, 0x0c, 0x74, 0x4c, 0x2c, 0x0c, 0x2c, 0x74, 0x0c, 0x0d, 0xb0, 0x29,
        0x32, 0xd1, 0x33, 0x30, 0x36, 0x04, 0x2b, 0x32, 0x36, 0xb4, 0x30, 0xd0, 0xb1, 0xe0,
        0xe5, 0x02, 0x00, 0xd4, 0x17, 0xa2, 0x23, 0x72, 0x00, 0x00, 0x00};
    struct reading r =
        read_bytes((struct slice){(const char *)azure_gz, sizeof azure_gz}, &plain, NULL);
    assert_int_equal(r.rc, TA_OK);
    assert_string_equal(r.name, "azure");
    assert_int_equal(at(&r, 1)->t_ns, 52000000);
    done(&r);
    r = read_bytes((struct slice){(const char *)azure_gz, sizeof azure_gz - 9}, &plain, NULL);
    assert_int_equal(r.rc, TA_EFORMAT);
    assert_non_null(strstr(r.e.msg, "the gzip stream ends early"));
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mooncake_rows),
        cmocka_unit_test(hash_ids_are_shared_prefixes),
        cmocka_unit_test(ties_become_groups_on_request),
        cmocka_unit_test(aiperf_rows),
        cmocka_unit_test(bailian_sessions),
        cmocka_unit_test(units_and_blocks_are_guessed_aloud),
        cmocka_unit_test(absurd_spans_are_said),
        cmocka_unit_test(burstgpt_rows),
        cmocka_unit_test(azure_rows),
        cmocka_unit_test(guidellm_and_weka),
        cmocka_unit_test(sharegpt_rows),
        cmocka_unit_test(aiperf_inputs),
        cmocka_unit_test(large_texts_are_said_before),
        cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(own_files_are_left_to_their_readers),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(gzip_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
