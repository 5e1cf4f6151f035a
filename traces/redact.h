/* Secrets, and on demand the texts, overwritten in packets before they reach a file
 * (traces/FORMAT.md, Redaction). Nothing changes its length or its time; a right TCP checksum stays
 * right, a wrong one stays wrong.
 *
 * REDACT_SECRETS: the values of Authorization, cookies, API keys and the like, and credentials in
 * URLs, in whatever pieces they come, both directions.
 * REDACT_BODIES: besides, all text in bodies: JSON strings that do not stand under a key of a short
 * list, and whole bodies that are no JSON.
 *
 *     r = redactor_new(REDACT_SECRETS, (struct redact_sink){w, on_packet, on_custom});
 *     redactor_packet(r, link, t_ns, p, n, wire_n, &e);
 *     redactor_tick(r, clock_real_ns(), &e);
 *     redactor_end(r, &e);
 *     redactor_free(r);
 *
 * on_packet is called once for each packet, in their order, and mostly before redactor_packet
 * returns. The tick is for live recordings, at least every 100 ms.
 *
 * A packet ahead of a hole cannot be judged before the hole is filled. It is held, and all packets
 * behind it, for at most LIMIT_REDACT_HOLD_NS or LIMIT_REDACT_HOLD_BYTES; then what could be secret
 * is overwritten and counted in `unjudged_bytes`. A fragment of an IP packet waits for the others
 * likewise; what is in them together is judged like a packet that is whole. */
#ifndef TRACES_REDACT_H
#define TRACES_REDACT_H

#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/base/span.h"

enum redact_mode { REDACT_NOTHING, REDACT_SECRETS, REDACT_BODIES };

/* "none", "secrets", "bodies": the option's words, and the manifest's `redacted`. */
const char *redact_mode_name(enum redact_mode mode);

struct redact_sink {
    void *ctx;
    /* A packet as it may be written; p lives for the call. */
    int (*packet)(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                  struct err *e);
    /* A custom block: one that was given to redactor_custom, or one of kind "bodies". */
    int (*custom)(void *ctx, struct slice json, struct err *e);
};

struct redactor;

/* With REDACT_NOTHING it hands everything on as it is. */
struct redactor *redactor_new(enum redact_mode mode, struct redact_sink out);

/* TA_OK, or what a sink returned if that was not TA_OK (sticky). */
int redactor_packet(struct redactor *r, uint16_t link, int64_t t_ns, const uint8_t *p, size_t n,
                    size_t wire_n, struct err *e) TA_NODISCARD;

/* A custom block that keeps its place among the packets. Its text is not looked at. */
int redactor_custom(struct redactor *r, struct slice json, struct err *e) TA_NODISCARD;

/* Hands on what has been held too long by the clock of the caller: now_ns is real time. */
int redactor_tick(struct redactor *r, int64_t now_ns, struct err *e) TA_NODISCARD;

/* No packet comes any more: hands on all that is held, and the last block of kind "bodies". */
int redactor_end(struct redactor *r, struct err *e) TA_NODISCARD;

struct redact_totals {
    uint64_t packets; /* changed */
    uint64_t secrets; /* values of headers and URLs */
    uint64_t secret_bytes;
    uint64_t strings; /* of JSON */
    uint64_t string_bytes;
    uint64_t whole_bodies; /* no JSON, or compressed */
    uint64_t whole_bytes;
    uint64_t unjudged_bytes; /* overwritten unread: behind a hole, of a fragment without the others,
                                sent again late */
    uint64_t held;           /* packets that were held for a while */
};
struct redact_totals redactor_totals(const struct redactor *r);

void redactor_free(struct redactor *r); /* may be NULL; what is still held is lost */

#endif
