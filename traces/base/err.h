/* Faults of the tool, never of the traffic (those are anomalies, traces/anomaly.h).
 *
 * A function that can fail takes a struct err * last, returns 0 or a negative TA_E…, and composes
 * the text where the facts are: what was being done, to what, what was found, what to do now. */
#ifndef TRACES_BASE_ERR_H
#define TRACES_BASE_ERR_H

enum {
    TA_OK = 0,
    TA_STOP = 1,     /* not an error: a callback has had enough */
    TA_ESYS = -1,    /* the environment: permission, device, disk, network */
    TA_EFORMAT = -2, /* an input is not what it should be */
    TA_ELIMIT = -3,  /* a cap of traces/limits.h was met */
    TA_EUSAGE = -4   /* wrong usage */
};

#if defined(__GNUC__)
#define TA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TA_NODISCARD __attribute__((warn_unused_result))
#define TA_NORETURN __attribute__((noreturn))
#define TA_RARE __attribute__((cold, noinline)) /* keeps the way past it short */
#else
#define TA_PRINTF(fmt, args)
#define TA_NODISCARD
#define TA_NORETURN
#define TA_RARE
#endif

struct err {
    int code;
    char msg[512];
};

/* Sets *e (which may be NULL) and returns code. */
int err_set(struct err *e, int code, const char *fmt, ...) TA_PRINTF(3, 4);

/* As err_set, and adds ": " and the text of errno. */
int err_sys(struct err *e, int code, const char *fmt, ...) TA_PRINTF(3, 4);

#endif
