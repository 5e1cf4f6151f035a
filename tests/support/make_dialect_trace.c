/* make_dialect_trace FILE: the trace of tests/golden/dialects. */
#include "tests/support/dialect_trace.h"

int main(int argc, char **argv)
{
    struct err e;
    if (argc != 2) {
        fprintf(stderr, "usage: make_dialect_trace FILE\n");
        return 2;
    }
    if (dialect_trace_make(argv[1], &e) == TA_OK)
        return 0;
    fprintf(stderr, "make_dialect_trace: %s\n", e.msg);
    return 4;
}
