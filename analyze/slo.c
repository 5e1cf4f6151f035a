/* --slo: names of request figures that are times, each with the most it may be. */
#include "analyze/slo.h"

#include <stdio.h>
#include <string.h>

#include "analyze/metrics.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

static int slo_one(struct slice name, const char *value, struct audit_options *o, struct err *e)
{
    int64_t ns;
    enum request_metric m = 0;
    while (m < REQUEST_METRICS &&
           (strcmp(request_metrics[m].unit, "s") != 0 || !slice_is(name, request_metrics[m].name)))
        m++;
    if (m == REQUEST_METRICS)
        return err_set(e, TA_EUSAGE,
                       "--slo: expected a figure that is a time (ttft, tpot, e2el, ttfo, ntpot, "
                       "stream_end, ...), found '%.*s'",
                       (int)name.n, name.p);
    bool unit = value[strspn(value, "0123456789.")] != '\0'; /* "500" would be a guess */
    if (!unit || !units_parse_duration(value, &ns) || ns <= 0)
        return err_set(e, TA_EUSAGE,
                       "--slo: expected a duration above 0 and its unit for %s, such as 500ms, "
                       "found '%s'",
                       request_metrics[m].name, value);
    o->slo[m] = (double)ns / NS_PER_S;
    return TA_OK;
}

int slo_parse(const char *text, struct audit_options *o, struct err *e)
{
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ","), name = strcspn(at, "=,");
        char value[64];
        if (name >= n || n - name > sizeof value)
            return err_set(e, TA_EUSAGE,
                           "--slo: expected NAME=DURATION,... as in ttft=500ms,tpot=50ms, found "
                           "'%s'",
                           text);
        snprintf(value, sizeof value, "%.*s", (int)(n - name - 1), at + name + 1);
        int rc = slo_one((struct slice){at, name}, value, o, e);
        if (rc != TA_OK)
            return rc;
        at += n;
        if (*at == '\0')
            return TA_OK;
    }
}
