/* Ledger entries as JSON (traces/FORMAT.md, "ledger"). What is unknown is left out. */
#include "traces/ledger.h"

#include <stddef.h>

struct field {
    const char *name;
    size_t offset;
    bool time;     /* a string of digits */
    bool required; /* else absent means `absent`, and is not written */
    int64_t absent;
};

#define FIELD(member, ...)                                                                         \
    {                                                                                              \
#member, offsetof(struct ledger_entry, member), __VA_ARGS__                                \
    }

static const struct field numbers[] = {
    FIELD(repeat, false, true, 0),   FIELD(warmup, false, false, 0),
    FIELD(group, false, false, -1),  FIELD(due_ns, true, false, -1),
    FIELD(sent_ns, true, false, -1), FIELD(first_ns, true, false, -1),
    FIELD(end_ns, true, false, -1),  FIELD(local_port, false, true, 0),
    FIELD(nth, false, true, 0),      FIELD(status, false, false, 0),
};

static const struct field texts[] = {
    FIELD(workload, false, true, 0),
    FIELD(name, false, true, 0),
    FIELD(outcome, false, true, 0),
};

enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = sizeof texts / sizeof *texts };

void ledger_write(struct jsonw *w, const struct ledger_entry *entry)
{
    jsonw_object(w, NULL);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text;
        memcpy(&text, (const char *)entry + texts[i].offset, sizeof text);
        jsonw_text(w, texts[i].name, text == NULL ? "" : text);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct field *f = &numbers[i];
        int64_t v;
        memcpy(&v, (const char *)entry + f->offset, sizeof v);
        if (!f->required && v == f->absent)
            continue;
        if (f->time)
            jsonw_ns(w, f->name, v);
        else
            jsonw_int(w, f->name, v);
    }
    jsonw_end(w);
}

bool ledger_read(const struct json *v, struct arena *a, struct ledger_entry *out)
{
    if (v == NULL || json_kind(v) != JSON_OBJECT)
        return false;
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = json_string(v, texts[i].name);
        if (text == NULL)
            return false;
        text = arena_text(a, slice_of(text));
        memcpy((char *)out + texts[i].offset, &text, sizeof text);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct field *f = &numbers[i];
        int64_t n = f->absent;
        bool found = f->time ? json_ns(v, f->name, &n) : json_int(v, f->name, &n);
        if (!found && (f->required || json_get(v, f->name) != NULL))
            return false;
        memcpy((char *)out + f->offset, &n, sizeof n);
    }
    return true;
}
