/* Ledger entries as JSON (traces/FORMAT.md, "ledger"). What is unknown is left out. */
#include "traces/ledger.h"

#include <stddef.h>
#include <string.h>

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
#define RECORDED(member, absent)                                                                   \
    {                                                                                              \
#member, offsetof(struct ledger_recorded, member), false, false, absent                    \
    }

static const struct field numbers[] = {
    FIELD(repeat, false, true, 0),
    FIELD(warmup, false, false, 0),
    FIELD(group, false, false, -1),
    FIELD(due_ns, true, false, -1),
    FIELD(sent_ns, true, false, -1),
    FIELD(first_ns, true, false, -1),
    FIELD(end_ns, true, false, -1),
    FIELD(local_port, false, true, 0),
    FIELD(nth, false, true, 0),
    FIELD(status, false, false, 0),
    FIELD(conn_planned, false, false, -1),
    FIELD(concurrency, false, false, 0),
};

static const struct field recorded[] = {
    RECORDED(conn, -1),  RECORDED(t_ns, -1),        RECORDED(end_ns, -1),
    RECORDED(status, 0), RECORDED(input_units, -1), RECORDED(output_units, -1),
};

static const struct field texts[] = {
    FIELD(workload, false, true, 0),
    FIELD(name, false, true, 0),
    FIELD(outcome, false, true, 0),
    FIELD(body_sha256, false, false, 0),
};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    TEXTS = sizeof texts / sizeof *texts,
    RECORDED_NUMBERS = sizeof recorded / sizeof *recorded
};

static void write_numbers(struct jsonw *w, const struct field *fields, size_t n, const void *from)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        int64_t v;
        memcpy(&v, (const char *)from + f->offset, sizeof v);
        if (!f->required && v == f->absent)
            continue;
        if (f->time)
            jsonw_ns(w, f->name, v);
        else
            jsonw_int(w, f->name, v);
    }
}

void ledger_write(struct jsonw *w, const struct ledger_entry *entry)
{
    jsonw_object(w, NULL);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text;
        memcpy(&text, (const char *)entry + texts[i].offset, sizeof text);
        if (text != NULL || texts[i].required)
            jsonw_text(w, texts[i].name, text == NULL ? "" : text);
    }
    write_numbers(w, numbers, NUMBERS, entry);
    if (entry->has_recorded) {
        jsonw_object(w, "recorded");
        write_numbers(w, recorded, RECORDED_NUMBERS, &entry->recorded);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static bool read_numbers(const struct json *v, const struct field *fields, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        int64_t number = f->absent;
        bool found = f->time ? json_ns(v, f->name, &number) : json_int(v, f->name, &number);
        if (!found && (f->required || json_get(v, f->name) != NULL))
            return false;
        memcpy((char *)to + f->offset, &number, sizeof number);
    }
    return true;
}

static bool read_texts(const struct json *v, struct arena *a, struct ledger_entry *out)
{
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = json_string(v, texts[i].name);
        if (text == NULL && (texts[i].required || json_get(v, texts[i].name) != NULL))
            return false;
        if (text != NULL)
            text = arena_text(a, slice_of(text));
        memcpy((char *)out + texts[i].offset, &text, sizeof text);
    }
    return true;
}

bool ledger_read(const struct json *v, struct arena *a, struct ledger_entry *out)
{
    if (v == NULL || json_kind(v) != JSON_OBJECT)
        return false;
    const struct json *then = json_get(v, "recorded");
    out->has_recorded = then != NULL;
    if (then != NULL && (json_kind(then) != JSON_OBJECT ||
                         !read_numbers(then, recorded, RECORDED_NUMBERS, &out->recorded)))
        return false;
    return read_texts(v, a, out) && read_numbers(v, numbers, NUMBERS, out);
}
