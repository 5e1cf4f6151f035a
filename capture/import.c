/* Copies records of captures into a trace. Files are looked through first, for their link types and
 * manifests, which must be known before the first packet is written; a pipe cannot be. */
#include "capture/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"
#include "traces/base/log.h"
#include "traces/base/same_file.h"
#include "traces/base/units.h"
#include "traces/limits.h"
#include "traces/reader.h"
#include "traces/rotation.h"
#include "traces/twins.h"
#include "traces/writer.h"

enum { LINKS_SHOWN = 8, TICK_PACKETS = 1024, NOTE_BYTES = 8192 };

/* What became of one file's packets. */
struct tally {
    uint64_t read, kept;
    uint64_t other_ports, timeless, not_ip, twins, shortened;
    bool own, closed; /* a trace of ours; its closing block was there */
};

struct import {
    const struct import_plan *plan;
    struct import_result *result;
    struct err *e;
    struct arena texts;
    struct writer_origin origin;
    bool described; /* a manifest was seen */
    bool mixed;     /* of link types: packets become raw IP */
    uint16_t links[LINKS_SHOWN];
    size_t n_links;
    struct writer *writer; /* NULL: not opened yet */
    struct twins *twins;
    struct redactor *redactor;           /* between what is read and the writer */
    struct writer_counts before, counts; /* of the files before; with this one */
    struct tally tally;
};

/* --- what the sources say of themselves ------------------------------------------------------- */

static const char *text_of(struct import *im, const struct json *manifest, const char *name)
{
    const char *text = json_string(manifest, name);
    return text == NULL || text[0] == '\0' ? NULL : arena_text(&im->texts, slice_of(text));
}

/* What was overwritten in any source is missing in the copy. */
static void take_redacted(struct import *im, const struct json *v)
{
    const char *how = json_string(v, "redacted");
    const char *most = redact_mode_name(REDACT_BODIES);
    if (how != NULL && (im->origin.redacted == NULL || strcmp(how, most) == 0))
        im->origin.redacted = arena_text(&im->texts, slice_of(how));
}

/* The first trace of ours describes the copy; several must agree on their vantage. */
static void take_manifest(struct import *im, const struct json *v)
{
    struct writer_origin *o = &im->origin;
    take_redacted(im, v);
    const char *vantage = text_of(im, v, "vantage");
    if (im->described) {
        if (vantage == NULL || strcmp(o->vantage, vantage) != 0)
            o->vantage = "import";
        return;
    }
    im->described = true;
    if (vantage != NULL)
        o->vantage = vantage;
    o->interface = text_of(im, v, "interface");
    o->filter = text_of(im, v, "filter");
    o->host = text_of(im, v, "host");
    o->command = text_of(im, v, "command");
    o->simulated = text_of(im, v, "simulated");
    if (o->label == NULL)
        o->label = text_of(im, v, "label");
}

static void add_link(struct import *im, uint16_t link)
{
    size_t i = 0;
    while (i < im->n_links && im->links[i] != link)
        i++;
    if (i == im->n_links && i < LINKS_SHOWN)
        im->links[im->n_links++] = link;
    im->mixed = im->n_links > 1;
}

static void link_list(const struct import *im, struct buf *out)
{
    for (size_t i = 0; i < im->n_links; i++) {
        const char *name = link_name(im->links[i]);
        buf_printf(out, "%s%s%s%u%s", i > 0 ? ", " : "", name != NULL ? name : "",
                   name != NULL ? " (" : "", im->links[i], name != NULL ? ")" : "");
    }
}

/* "manifest" and so on; NULL if it is not ours to read. The caller frees *v. */
static const char *kind_of(struct slice json, struct json **v)
{
    *v = json_parse(json.p, json.n, NULL);
    return json_string(*v, "kind");
}

/* A look through the whole of a file. */
static int survey(struct import *im, struct reader *r)
{
    struct rec rec;
    bool manifest = false;
    int more;
    while ((more = reader_next(r, &rec, im->e)) == 1) {
        struct json *v = NULL;
        if (rec.kind == REC_PACKET)
            add_link(im, rec.link);
        if (rec.kind != REC_CUSTOM || manifest)
            continue;
        const char *kind = kind_of(rec.json, &v);
        manifest = kind != NULL && strcmp(kind, "manifest") == 0;
        if (manifest)
            take_manifest(im, v);
        json_free(v);
    }
    if (!manifest && im->described)
        im->origin.vantage = "import"; /* one trace of ours, one of others */
    return more;
}

/* --- into the trace --------------------------------------------------------------------------- */

static int open_output(struct import *im, uint16_t link)
{
    if (im->writer != NULL)
        return TA_OK;
    im->origin.link = im->mixed ? LINK_RAW : link;
    return writer_open(&im->writer, im->plan->output, &im->origin, im->e);
}

/* The way of every packet and block into the trace: past the redactor, then … */
static int put_packet(struct import *im, uint16_t link, int64_t t_ns, struct ip_bytes p)
{
    im->tally.kept++;
    return redactor_packet(im->redactor, link, t_ns, p.p, p.n, p.wire_n, im->e);
}

static int put_custom(struct import *im, struct slice json)
{
    return redactor_custom(im->redactor, json, im->e);
}

/* … here. */
static int write_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                        struct err *e)
{
    struct import *im = ctx;
    int rc = TA_OK;
    if (writer_packets(im->writer) % TICK_PACKETS == 0)
        rc = writer_tick(im->writer, e);
    if (rc == TA_OK && writer_is_full(im->writer, t_ns))
        rc = writer_rotate(im->writer, t_ns, im->counts, e);
    return rc == TA_OK ? writer_packet(im->writer, t_ns, p, n, wire_n, e) : rc;
}

static int write_custom(void *ctx, struct slice json, struct err *e)
{
    return writer_custom(((struct import *)ctx)->writer, json, e);
}

/* Is it TCP of a wanted port? Of a datagram in pieces only the first has ports: all are kept. */
static bool is_wanted(const struct import *im, const struct rec *r)
{
    struct segment s;
    if (im->plan->n_ports == 0)
        return true;
    enum link_verdict v = link_decode(r->link, r->p, r->n, r->wire_n, &s);
    for (size_t i = 0; v == LINK_TCP && i < im->plan->n_ports; i++) {
        if (s.from.port == im->plan->ports[i] || s.to.port == im->plan->ports[i])
            return true;
    }
    return v == LINK_FRAGMENT;
}

/* Has another interface shown it? In the copy, which has one, that could not be told any more. */
static bool is_twin(struct import *im, const struct rec *r)
{
    struct segment s;
    if (r->interfaces < 2 && !(im->mixed && r->link == LINK_SLL2))
        return false;
    return link_decode(r->link, r->p, r->n, r->wire_n, &s) == LINK_TCP &&
           twins_saw(im->twins, link_interface(r->link, r->p, r->n, r->interface), &s, r->t_ns);
}

static int refuse_mixture(struct import *im, uint16_t link)
{
    const char *name = link_name(link), *first = link_name(im->origin.link);
    return err_set(im->e, TA_EFORMAT,
                   "standard input holds packets of link types %u%s%s and %u%s%s, which must be "
                   "known beforehand: save it to a file, and read that",
                   im->origin.link, first != NULL ? " " : "", first != NULL ? first : "", link,
                   name != NULL ? " " : "", name != NULL ? name : "");
}

static int take_packet(struct import *im, const struct rec *r)
{
    struct ip_bytes p = {r->p, r->n, r->wire_n};
    im->tally.read++;
    int rc = open_output(im, r->link);
    if (rc != TA_OK)
        return rc;
    if (!r->has_time || r->t_ns < 0) {
        im->tally.timeless++;
        return TA_OK;
    }
    if (!is_wanted(im, r)) {
        im->tally.other_ports++;
        return TA_OK;
    }
    if (is_twin(im, r)) {
        im->tally.twins++;
        return TA_OK;
    }
    if (im->mixed && link_network(r->link, r->p, r->n, r->wire_n, &p) != LINK_IP) {
        im->tally.not_ip++;
        return TA_OK;
    }
    if (!im->mixed && r->link != im->origin.link)
        return refuse_mixture(im, r->link);
    if (p.n > LIMIT_PACKET_BYTES) {
        im->tally.shortened++;
        p.n = LIMIT_PACKET_BYTES;
    }
    return put_packet(im, im->mixed ? LINK_RAW : r->link, r->t_ns, p);
}

/* What a block of ours says of the file that it stands in is not true of the copy. */
static bool is_of_the_file(const char *kind)
{
    return strcmp(kind, "manifest") == 0 || strcmp(kind, "member") == 0 ||
           strcmp(kind, "closing") == 0;
}

static int take_custom(struct import *im, const struct rec *r)
{
    struct json *v;
    int64_t link = LINK_RAW;
    int rc = TA_OK;
    const char *kind = kind_of(r->json, &v);
    im->tally.own |= kind != NULL && strcmp(kind, "manifest") == 0;
    im->tally.closed |= kind != NULL && strcmp(kind, "closing") == 0;
    if (im->writer == NULL) { /* from a pipe, nothing was known before */
        if (kind != NULL && strcmp(kind, "manifest") == 0) {
            take_manifest(im, v);
            json_int(v, "link", &link);
        }
        rc = open_output(im, (uint16_t)link);
    }
    if (rc == TA_OK && kind != NULL && !is_of_the_file(kind))
        rc = put_custom(im, r->json);
    json_free(v);
    return rc;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX ? b : b == UINT64_MAX ? a : a + b;
}

static int take_counts(struct import *im, const struct rec *r)
{
    im->counts.received = sum(im->before.received, r->received);
    im->counts.dropped = sum(im->before.dropped, r->dropped);
    im->counts.if_dropped = sum(im->before.if_dropped, r->if_dropped);
    int rc = open_output(im, LINK_RAW);
    return rc != TA_OK ? rc
                       : writer_counts(im->writer, r->has_time && r->t_ns >= 0 ? r->t_ns : 0,
                                       im->counts, im->e);
}

static int take_record(struct import *im, const struct rec *r)
{
    switch (r->kind) {
    case REC_PACKET:
        return take_packet(im, r);
    case REC_CUSTOM:
        return take_custom(im, r);
    case REC_COUNTS:
        return take_counts(im, r);
    }
    return TA_OK;
}

/* --- what is said of it ----------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return "standard input";
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void say(struct buf *out, uint64_t n, const char *what)
{
    char text[32];
    if (n > 0)
        buf_printf(out, "; %s %s", units_count(n, text), what);
}

static bool is_unclosed(const struct tally *t)
{
    return t->own && !t->closed;
}

static bool is_damaged(const struct tally *t, const struct reader_health *h)
{
    return h->truncated || h->damaged_members > 0 || h->bad_blocks > 0 || is_unclosed(t);
}

static void note_text(const struct import *im, const struct reader_health *h, const char *name,
                      struct buf *out)
{
    char text[32];
    buf_printf(out, "imported from %.255s: %s packets", name, units_count(im->tally.read, text));
    say(out, im->tally.other_ports, "of other ports left out");
    say(out, im->tally.timeless, "without a usable time stamp left out");
    say(out, im->tally.not_ip, "that are no IP left out");
    say(out, im->tally.twins, "seen at another interface already left out");
    say(out, im->tally.shortened, "longer than a trace may have them cut to 262,144 bytes");
    say(out, h->damaged_members, "damaged gzip members left out");
    say(out, h->bad_blocks, "blocks that contradict themselves left out");
    if (h->truncated)
        buf_puts(out, "; the file is cut short, and what it holds was used");
    else if (is_unclosed(&im->tally))
        buf_puts(out, "; it was not ended in order, and its end may be missing");
    if (h->note[0] != '\0')
        buf_printf(out, " (%s)", h->note);
    if (im->mixed) {
        buf_puts(out, "; packets of several link types became raw IP: ");
        link_list(im, out);
    }
}

static void write_source(struct jsonw *w, const struct import *im, const struct reader_health *h,
                         const char *name)
{
    jsonw_object(w, "source");
    jsonw_text(w, "name", name);
    jsonw_text(w, "sha256", h->sha256);
    jsonw_u64(w, "bytes", h->file_bytes);
    jsonw_u64(w, "packets", im->tally.read);
    jsonw_u64(w, "kept", im->tally.kept);
    jsonw_bool(w, "whole", !is_damaged(&im->tally, h));
    jsonw_end(w);
}

/* A note; source NULL: not of one file. */
static int put_note(struct import *im, struct buf *text, const struct reader_health *source,
                    const char *name)
{
    struct buf json;
    struct jsonw w;
    buf_init(&json, 4 * NOTE_BYTES);
    jsonw_init(&w, &json, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "kind", "note");
    jsonw_ns(&w, "t_ns", clock_real_ns());
    jsonw_text(&w, "text", buf_text(text));
    if (source != NULL)
        write_source(&w, im, source, name);
    jsonw_end(&w);
    int rc = put_custom(im, (struct slice){(const char *)json.p, json.n});
    buf_done(&json);
    return rc;
}

static int put_file_note(struct import *im, const struct reader_health *h, const char *name)
{
    struct buf text;
    buf_init(&text, NOTE_BYTES);
    note_text(im, h, name, &text);
    int rc = put_note(im, &text, h, name);
    buf_done(&text);
    return rc;
}

/* Hands on all that the redactor holds, and says what it had to overwrite unread. */
static int end_redaction(struct import *im)
{
    char bytes[32];
    struct buf text;
    int rc = redactor_end(im->redactor, im->e);
    im->result->redacted = redactor_totals(im->redactor);
    if (rc != TA_OK || im->result->redacted.unjudged_bytes == 0)
        return rc;
    buf_init(&text, NOTE_BYTES);
    buf_printf(&text,
               "%s behind missing bytes or in lone IP fragments could not be judged, and were "
               "overwritten too",
               units_bytes(im->result->redacted.unjudged_bytes, bytes));
    rc = put_note(im, &text, NULL, NULL);
    buf_done(&text);
    return rc;
}

/* --- files ------------------------------------------------------------------------------------ */

static int copy_file(struct import *im, const char *path, struct reader *r)
{
    struct rec rec;
    int rc = TA_OK, more = 0;
    im->tally = (struct tally){0};
    im->before = im->counts;
    while (rc == TA_OK && (more = reader_next(r, &rec, im->e)) == 1)
        rc = take_record(im, &rec);
    if (rc == TA_OK)
        rc = more;
    if (rc == TA_OK) /* a capture without a packet */
        rc = open_output(im, LINK_RAW);
    const struct reader_health *h = reader_health(r);
    if (rc == TA_OK)
        rc = put_file_note(im, h, base_name(path));
    im->result->files++;
    im->result->left_out += im->tally.read - im->tally.kept;
    im->result->damaged += is_damaged(&im->tally, h);
    return rc;
}

static bool is_pipe(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* Would the trace, or some file of its rotation, be written there? */
static bool is_output(const struct import_plan *plan, const char *file)
{
    bool rotates = plan->rotate_bytes > 0 || plan->rotate_ns > 0;
    uint64_t seq = rotates ? rotation_seq(plan->output, file) : 0;
    if (!rotates || seq == 0)
        return !rotates && same_file(plan->output, file);
    char *part = rotation_path(plan->output, seq);
    bool same = same_file(part, file);
    free(part);
    return same;
}

/* Writing would destroy what is yet to be read. */
static int refuse_output_among_files(const struct import_plan *plan, struct err *e)
{
    for (size_t i = 0; i < plan->n_files && strcmp(plan->output, "-") != 0; i++) {
        if (strcmp(plan->files[i], "-") != 0 && is_output(plan, plan->files[i]))
            return err_set(e, TA_EUSAGE, "%s would be read and written at once: name another -o",
                           plan->files[i]);
    }
    return TA_OK;
}

/* A file that is no capture is passed over. */
static int survey_file(struct import *im, const char *path)
{
    struct reader *r = NULL;
    if (is_pipe(path))
        return TA_OK;
    int rc = reader_open(&r, path, im->e);
    if (rc == TA_OK)
        rc = survey(im, r);
    reader_close(r);
    return rc == TA_EFORMAT ? TA_OK : rc;
}

/* … and named. */
static int import_file(struct import *im, const char *path)
{
    struct reader *r = NULL;
    int rc = reader_open(&r, path, im->e);
    if (rc == TA_EFORMAT) {
        log_error("%s", im->e->msg);
        im->e->msg[0] = '\0';
        return TA_OK;
    }
    if (rc == TA_OK)
        rc = copy_file(im, path, r);
    reader_close(r);
    return rc;
}

static int import_all(struct import *im)
{
    const struct import_plan *plan = im->plan;
    int rc = refuse_output_among_files(plan, im->e);
    for (size_t i = 0; i < plan->n_files && rc == TA_OK; i++)
        rc = survey_file(im, plan->files[i]);
    for (size_t i = 0; i < plan->n_files && rc == TA_OK; i++)
        rc = import_file(im, plan->files[i]);
    if (rc == TA_OK && im->result->files == 0)
        rc = TA_EFORMAT;
    return rc;
}

int import_run(const struct import_plan *plan, struct import_result *out, struct err *e)
{
    static const struct writer_counts unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct err closing = {.msg = ""};
    const char *redacted = plan->redact == REDACT_NOTHING ? NULL : redact_mode_name(plan->redact);
    struct import im = {.plan = plan,
                        .result = out,
                        .e = e,
                        .origin = {.vantage = "import",
                                   .snaplen = LIMIT_PACKET_BYTES,
                                   .label = plan->label,
                                   .redacted = redacted,
                                   .rotate_bytes = plan->rotate_bytes,
                                   .rotate_ns = plan->rotate_ns,
                                   .copied = true},
                        .before = unknown,
                        .counts = unknown};
    *out = (struct import_result){.files = 0};
    im.twins = twins_new();
    im.redactor = redactor_new(plan->redact, (struct redact_sink){&im, write_packet, write_custom});
    int rc = import_all(&im);
    if (rc == TA_OK)
        rc = end_redaction(&im);
    redactor_free(im.redactor);
    twins_free(im.twins);
    if (im.writer != NULL) {
        out->packets = writer_packets(im.writer);
        out->bytes = writer_bytes(im.writer);
        out->parts = writer_parts(im.writer);
        out->dropped = im.counts.dropped;
        int closed = writer_close(im.writer, &closing);
        if (rc == TA_OK && closed != TA_OK) {
            *e = closing;
            rc = closed;
        }
    }
    arena_free(&im.texts);
    return rc;
}
