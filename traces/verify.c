/* Walks a trace member by member, and holds each against what the others say of it. */
#include "traces/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "traces/base/json.h"
#include "traces/custom.h"
#include "traces/gz.h"
#include "traces/limits.h"
#include "traces/pcapng.h"
#include "traces/sha256.h"

struct verify {
    struct gz_source *source;
    struct pcapng section;
    struct reader_health health;
    struct verify_result *out;
    uint64_t last_offset;   /* where the member before the one at hand starts */
    bool closed;            /* the closing block was there, and right */
    bool manifest;          /* … the manifest */
    bool over;              /* judged */
    char hash[SHA256_TEXT]; /* of all before the member at hand */
};

static void judge(struct verify *v, enum verify_state state, uint64_t member, uint64_t offset,
                  const char *fmt, ...) TA_PRINTF(5, 6);

/* The first judgement stands: behind it no hash can be right. */
static void judge(struct verify *v, enum verify_state state, uint64_t member, uint64_t offset,
                  const char *fmt, ...)
{
    if (v->over)
        return;
    va_list ap;
    v->over = true;
    v->out->state = state;
    v->out->member = member;
    v->out->offset = offset;
    va_start(ap, fmt);
    vsnprintf(v->out->why, sizeof v->out->why, fmt, ap);
    va_end(ap);
}

static void broken_here(struct verify *v, const struct gz_piece *m, const char *what)
{
    judge(v, VERIFY_BROKEN, v->out->members, m->offset, "%s", what);
}

/* --- what blocks say ----------------------------------------------------------------------------
 */

/* The `member` block of the member at m, whose place and hash are known from the file itself. */
static void hold_chain(struct verify *v, const struct gz_piece *m, struct slice text)
{
    int64_t seq = -1;
    uint64_t here = v->out->members;
    struct json *j = json_parse(text.p, text.n, NULL);
    const char *hash = json_string(j, "sha256");
    if (!json_int(j, "seq", &seq) || hash == NULL)
        broken_here(v, m, "its `member` block has no number or no hash");
    else if (seq <= 0)
        broken_here(v, m, "the first member has no `member` block, and this one says it is it");
    else if ((uint64_t)seq > here)
        judge(v, VERIFY_BROKEN, here, m->offset,
              "member %" PRIu64 " is missing: member %" PRId64 " stands in its place", here, seq);
    else if ((uint64_t)seq != here)
        judge(v, VERIFY_BROKEN, here, m->offset,
              "member %" PRId64 " stands in the place of member %" PRIu64, seq, here);
    else if (strcmp(hash, v->hash) != 0)
        judge(v, VERIFY_BROKEN, here - 1, v->last_offset,
              "it was changed, or member %" PRIu64 ", at offset %" PRIu64
              ": that holds another hash of all before it",
              here, m->offset);
    json_free(j);
}

static bool is_count(struct verify *v, const struct gz_piece *m, const struct json *closing,
                     const char *name, uint64_t found)
{
    int64_t stated = -1;
    if (json_int(closing, name, &stated) && stated >= 0 && (uint64_t)stated == found)
        return true;
    judge(v, VERIFY_BROKEN, v->out->members, m->offset,
          "the closing block counts %" PRId64 " %s, the file holds %" PRIu64, stated, name, found);
    return false;
}

static void hold_closing(struct verify *v, const struct gz_piece *m, struct slice text)
{
    struct json *j = json_parse(text.p, text.n, NULL);
    const char *hash = json_string(j, "sha256");
    struct verify_result *r = v->out;
    if (hash == NULL || strcmp(hash, v->hash) != 0)
        broken_here(v, m, "the closing block holds another hash of all that stands before it");
    v->closed = !v->over && is_count(v, m, j, "packets", r->packets) &&
                is_count(v, m, j, "bytes", r->packet_bytes) &&
                is_count(v, m, j, "blocks", r->blocks) &&
                is_count(v, m, j, "members", r->members + 1);
    const char *next = json_string(j, "next");
    if (v->closed && next != NULL && strlen(next) < sizeof r->next)
        memcpy(r->next, next, strlen(next) + 1);
    json_free(j);
}

static void take_manifest(struct verify *v, const struct gz_piece *m, struct slice text)
{
    if (v->manifest) {
        broken_here(v, m, "a second manifest");
        return;
    }
    struct json *j = json_parse(text.p, text.n, NULL);
    rotation_read(j, &v->out->part);
    json_free(j);
    v->manifest = true;
}

static void take_custom(struct verify *v, const struct gz_piece *m, size_t nth, struct slice text)
{
    if (custom_is(text, "member")) {
        if (nth != 0)
            broken_here(v, m, "a `member` block stands in its middle");
        else
            hold_chain(v, m, text);
    } else if (custom_is(text, "manifest")) {
        take_manifest(v, m, text);
    } else if (custom_is(text, "closing")) {
        hold_closing(v, m, text);
    }
}

/* --- members ------------------------------------------------------------------------------------
 */

/* The nth block of the member, whole at p[0..n). */
static void take_block(struct verify *v, const struct gz_piece *m, size_t nth, const uint8_t *p,
                       size_t n)
{
    struct pcapng_block b;
    bool first = v->out->members == 0 && nth == 0;
    bool section = pcapng_rd32(p, false) == PCAPNG_SECTION;
    if (v->closed)
        broken_here(v, m, "blocks follow the closing block");
    if (section && !first)
        broken_here(v, m, "a second section header");
    if (v->over)
        return;
    enum pcapng_what what = pcapng_read(&v->section, p, n, &b);
    bool chained = what == PCAPNG_IS_CUSTOM && custom_is(b.json, "member");
    if (nth == 0 && !section && !chained)
        broken_here(v, m, "it does not begin with a `member` block");
    else if (what == PCAPNG_IS_BAD)
        broken_here(v, m, "a block in it contradicts itself");
    else if (what == PCAPNG_IS_CUSTOM)
        take_custom(v, m, nth, b.json);
    v->out->packets += what == PCAPNG_IS_PACKET;
    v->out->packet_bytes += what == PCAPNG_IS_PACKET ? b.n : 0;
    v->out->blocks++;
}

/* All blocks of a member. cut: the file ends inside it, and so may its last block. */
static void take_member(struct verify *v, const struct gz_piece *m, bool cut)
{
    size_t at = 0;
    for (size_t nth = 0; at < m->n && !v->over; nth++) {
        uint32_t n = 0;
        const uint8_t *p = m->p + at;
        bool head = m->n - at >= PCAPNG_HEAD_BYTES;
        bool framed = head && pcapng_frame(&v->section, p, &n) == PCAPNG_FRAME_OK;
        if (head && !framed) {
            broken_here(v, m, "what is in it is no pcapng block");
        } else if (!head || n > m->n - at) {
            if (!cut)
                broken_here(v, m, "its last block goes beyond its end");
            break;
        } else if (pcapng_rd32(p + n - 4, false) != n) {
            broken_here(v, m, "the two lengths of a block in it differ");
        } else {
            take_block(v, m, nth, p, n);
        }
        at += n;
    }
    if (!cut && !v->over && v->out->members == 0 && !v->manifest)
        judge(v, VERIFY_FOREIGN, 0, 0, "its first gzip member holds no manifest of ours");
}

/* Does it start as a trace of ours does, or as a later member of one? */
static bool is_ours(const struct gz_piece *m)
{
    static const char application[] = "tokaudit ";
    uint32_t n;
    struct pcapng any = {.open = true};
    if (m->n < PCAPNG_HEAD_BYTES || pcapng_frame(&any, m->p, &n) != PCAPNG_FRAME_OK)
        return false;
    if (n > m->n)
        n = (uint32_t)m->n;
    size_t word = sizeof application - 1;
    for (size_t i = 0; i + word <= n; i++) {
        if (memcmp(m->p + i, application, word) == 0)
            return true;
    }
    struct pcapng_block b;
    return pcapng_rd32(m->p, false) == PCAPNG_CUSTOM && n < m->n &&
           pcapng_read(&any, m->p, n, &b) == PCAPNG_IS_CUSTOM && custom_is(b.json, "member");
}

/* One member, intact as far as gzip can tell. */
static void hold_member(struct verify *v, const struct gz_piece *m)
{
    bool cut = v->health.truncated;
    if (v->out->members == 0 && !is_ours(m)) {
        judge(v, VERIFY_FOREIGN, 0, m->offset,
              cut ? "it ends before it says what it is" : "no recording of tokaudit");
        return;
    }
    gz_hash_before(v->source, v->hash);
    if (m->lost)
        judge(v, VERIFY_BROKEN, v->out->members, gz_damage_offset(v->source),
              "it fails its check, or is no gzip member");
    if (!m->held)
        broken_here(v, m, "it is longer than any that tokaudit writes");
    if (v->closed)
        broken_here(v, m, "a member follows the closing block");
    struct verify_result before = *v->out;
    if (!v->over)
        take_member(v, m, cut);
    if (cut && !v->over)
        judge(v, VERIFY_UNCLOSED, v->out->members, m->offset, "the file ends inside this member");
    if (cut && v->out->state == VERIFY_UNCLOSED)
        return;
    if (v->over) { /* what is counted is what came before */
        v->out->blocks = before.blocks;
        v->out->packets = before.packets;
        v->out->packet_bytes = before.packet_bytes;
        return;
    }
    v->out->members++;
    v->last_offset = m->offset;
}

/* --- the file -----------------------------------------------------------------------------------
 */

/* After a damaged member: the next is taken where one of ours could start. */
static bool begins(void *ctx, const uint8_t *p, size_t n)
{
    struct verify *v = ctx;
    return pcapng_begins(&v->section, p, n);
}

/* The end of the file, with nothing wrong in any member that gave a byte. */
static void judge_end(struct verify *v)
{
    struct verify_result *r = v->out;
    uint64_t damage = gz_damage_offset(v->source), end = gz_whole_end(v->source);
    bool zeros = v->health.note[0] != '\0'; /* if nothing else */
    if (r->members == 0)
        judge(v, VERIFY_FOREIGN, 0, 0,
              damage != UINT64_MAX ? "it is damaged, and no member is left"
                                   : "it ends before it says what it is");
    if (damage != UINT64_MAX)
        judge(v, VERIFY_BROKEN, r->members, damage, "it fails its check, or is no gzip member");
    if (v->health.truncated)
        judge(v, v->closed ? VERIFY_BROKEN : VERIFY_UNCLOSED, r->members, end,
              v->closed ? "a member follows the closing block"
                        : "the file ends inside this member");
    if (v->closed && zeros)
        judge(v, VERIFY_BROKEN, r->members, end, "zeros follow the closing block");
    if (!v->closed)
        judge(v, VERIFY_UNCLOSED, r->members, end,
              zeros ? "nothing but zeros follows: the machine may have lost power"
                    : "the file ends here, without a closing block");
    if (!v->over)
        r->state = VERIFY_WHOLE;
}

static int walk(struct verify *v, struct err *e)
{
    struct gz_piece piece;
    int rc;
    if (!gz_is_gzip(v->source)) {
        judge(v, VERIFY_FOREIGN, 0, 0, "it is not gzip'd, as every trace of ours is");
        return gz_drain(v->source, e);
    }
    while (!v->over && (rc = gz_next(v->source, &piece, e)) != 0) {
        if (rc < 0)
            return rc;
        hold_member(v, &piece);
    }
    rc = gz_drain(v->source, e);
    if (rc == TA_OK && !v->over)
        judge_end(v);
    return rc;
}

int verify_file(const char *path, struct verify_result *out, struct err *e)
{
    struct verify v = {.out = out, .section.open = true};
    *out = (struct verify_result){.state = VERIFY_FOREIGN};
    int rc = gz_open(&v.source, path, (struct gz_resume){&v, begins}, &v.health, e);
    if (rc == TA_OK)
        rc = walk(&v, e);
    gz_close(v.source);
    pcapng_done(&v.section);
    out->file_bytes = v.health.file_bytes;
    memcpy(out->sha256, v.health.sha256, sizeof out->sha256);
    return rc;
}

bool verify_follows(const struct verify_result *b, const struct verify_result *a)
{
    return a->part.seq > 0 && b->part.seq == a->part.seq + 1 &&
           strcmp(b->part.sha256, a->sha256) == 0;
}

const char *verify_state_name(enum verify_state s)
{
    static const char *const names[] = {"whole", "unclosed", "broken", "foreign"};
    return names[s];
}
