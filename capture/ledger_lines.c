/* JSON lines into ledger blocks. */
#include "capture/ledger_lines.h"

#include <string.h>

#include "traces/base/jscan.h"

static const char block_start[] = "{\"kind\":\"ledger\",\"entries\":[";

void ledger_lines_init(struct ledger_lines *l)
{
    *l = (struct ledger_lines){0};
    buf_init(&l->line, LEDGER_LINE_BYTES);
    buf_init(&l->block, LEDGER_BLOCK_BYTES + LEDGER_LINE_BYTES + sizeof block_start + 2);
}

void ledger_lines_done(struct ledger_lines *l)
{
    buf_done(&l->line);
    buf_done(&l->block);
}

static bool is_object(struct slice line)
{
    struct jscan s = jscan_over(line);
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    jscan_finish(&s);
    return jscan_next(&s) == JT_END;
}

static void add_entry(struct ledger_lines *l, struct slice line)
{
    if (l->taken)
        buf_clear(&l->block);
    l->taken = false;
    buf_puts(&l->block, l->block.n == 0 ? block_start : ",");
    buf_printf(&l->block, "%.*s", (int)line.n, line.p);
    l->entries++;
}

static void end_line(struct ledger_lines *l)
{
    struct slice line = {(const char *)l->line.p, l->line.n};
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (l->overlong || (line.n > 0 && !is_object(line)))
        l->dropped++;
    else if (line.n > 0)
        add_entry(l, line);
    l->overlong = false;
    buf_clear(&l->line);
}

static bool block_is_full(const struct ledger_lines *l)
{
    return !l->taken && l->block.n >= LEDGER_BLOCK_BYTES;
}

size_t ledger_lines_feed(struct ledger_lines *l, const char *p, size_t n)
{
    size_t used = 0;
    while (used < n && !block_is_full(l)) {
        const char *newline = memchr(p + used, '\n', n - used);
        size_t piece = newline ? (size_t)(newline - (p + used)) : n - used;
        if (!l->overlong && buf_add(&l->line, p + used, piece) != TA_OK)
            l->overlong = true;
        used += piece;
        if (newline != NULL) {
            used++;
            end_line(l);
        }
    }
    return used;
}

void ledger_lines_end(struct ledger_lines *l)
{
    if (l->line.n > 0 || l->overlong)
        end_line(l);
}

bool ledger_lines_take(struct ledger_lines *l, struct slice *json)
{
    if (l->taken || l->block.n == 0)
        return false;
    buf_puts(&l->block, "]}");
    l->taken = true;
    *json = (struct slice){(const char *)l->block.p, l->block.n};
    return true;
}
