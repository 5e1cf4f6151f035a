/* What a stream is, by its first bytes. */
#include "traces/sniff.h"

#include "traces/base/err.h"

int sniff_match(const void *bytes, size_t n, const struct slice *prefixes)
{
    int verdict = 0;
    for (int i = 0; prefixes[i].n > 0; i++) {
        bool shorter = n < prefixes[i].n;
        if (memcmp(bytes, prefixes[i].p, shorter ? n : prefixes[i].n) != 0)
            continue;
        if (!shorter)
            return i + 1;
        verdict = -1;
    }
    return verdict;
}

bool sniff_decide(struct sniff *s, struct span *in, const struct slice *prefixes, unsigned *which)
{
    const struct span whole = *in;
    bool held = s->n > 0;
    while (in->n > 0 && s->n < SNIFF_BYTES) {
        s->bytes[s->n] = in->p[0];
        s->at[s->n++] = in->at;
        *in = (struct span){in->p + 1, in->n - 1, span_mark(*in, 1)};
        int verdict = sniff_match(s->bytes, s->n, prefixes);
        if (verdict >= 0) {
            if (!held) { /* nothing to release: the span goes on as it is */
                *in = whole;
                s->n = 0;
            }
            *which = (unsigned)verdict;
            return true;
        }
    }
    return false;
}

int sniff_release(struct sniff *s, struct byte_sink to)
{
    int rc = TA_OK;
    for (unsigned i = 0; i < s->n && rc == TA_OK; i++)
        if (to.data != NULL)
            rc = to.data(to.ctx, (struct span){&s->bytes[i], 1, s->at[i]});
    s->n = 0;
    return rc;
}
