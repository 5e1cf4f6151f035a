/* What a trace says of itself, as traces/FORMAT.md has it. */
#include "traces/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/custom.h"

/* An argument list can be megabytes. */
static void put_text(struct jsonw *j, const char *key, const char *text)
{
    if (text == NULL)
        return;
    if (strlen(text) <= MANIFEST_TEXT_BYTES) {
        jsonw_text(j, key, text);
        return;
    }
    char *cut = mem_printf("%.*s…", MANIFEST_TEXT_BYTES, text);
    jsonw_text(j, key, cut);
    free(cut);
}

static void put_part(struct jsonw *j, const struct rotation_part *part)
{
    jsonw_object(j, "part");
    jsonw_u64(j, "seq", part->seq);
    if (part->seq > 1) {
        jsonw_text(j, "after", part->after);
        jsonw_text(j, "sha256", part->sha256);
    }
    jsonw_end(j);
}

void manifest_write(struct buf *out, const struct writer_origin *o,
                    const struct rotation_part *part)
{
    struct jsonw j;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "kind", "manifest");
    jsonw_int(&j, "version", CUSTOM_VERSION);
    jsonw_text(&j, "tool", "tokaudit " TOKAUDIT_VERSION);
    jsonw_int(&j, "pid", (int64_t)getpid());
    jsonw_ns(&j, "t_ns", clock_real_ns());
    if (part != NULL)
        put_part(&j, part);
    put_text(&j, "vantage", o->vantage);
    jsonw_int(&j, "link", o->link);
    jsonw_int(&j, "snaplen", o->snaplen);
    put_text(&j, "interface", o->interface);
    put_text(&j, "filter", o->filter);
    put_text(&j, "host", o->host);
    put_text(&j, "command", o->command);
    put_text(&j, "label", o->label);
    put_text(&j, "simulated", o->simulated);
    put_text(&j, "redacted", o->redacted);
    jsonw_end(&j);
}

struct writer_origin manifest_keep(struct arena *a, const struct writer_origin *o)
{
    struct writer_origin kept = *o;
    const char **texts[] = {&kept.vantage, &kept.interface, &kept.filter,    &kept.host,
                            &kept.command, &kept.label,     &kept.simulated, &kept.redacted};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (*texts[i] != NULL)
            *texts[i] = arena_text(a, slice_of(*texts[i]));
    }
    return kept;
}
