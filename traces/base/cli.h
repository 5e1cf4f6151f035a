/* Option tables: one record an option feeds parsing and --help. */
#ifndef TRACES_BASE_CLI_H
#define TRACES_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "traces/base/err.h"

enum cli_kind {
    CLI_FLAG,     /* bool */
    CLI_COUNT,    /* int, each use adds one */
    CLI_STRING,   /* const char * */
    CLI_STRINGS,  /* struct cli_strings, repeatable */
    CLI_INT,      /* int64_t, not negative */
    CLI_DOUBLE,   /* double, finite: NaN may stand for "not given" */
    CLI_SIZE,     /* uint64_t bytes */
    CLI_DURATION, /* int64_t ns */
    CLI_CHOICE,   /* const char *, one of choices */
    CLI_HEADING   /* no option: its name stands above those that follow, in the help */
};

struct cli_strings {
    const char **v;
    size_t n;
};

struct cli_option {
    const char *name; /* long name without dashes */
    char letter;      /* or 0 */
    enum cli_kind kind;
    const char *arg;     /* name of the argument in the help, NULL for flags */
    size_t offset;       /* of the field in the configuration struct */
    const char *help;    /* one sentence; the default is named in it */
    const char *choices; /* CLI_CHOICE: "text|json" */
};

struct cli_command {
    const char *name;
    const char *summary; /* one line of `tokaudit help` */
    const char *usage;   /* "[options] FILE..." */
    const char
        *description; /* paragraphs of `tokaudit help NAME`; what it is for, what it can't do */
    const struct cli_option *options;  /* ends with name NULL */
    const char *examples;              /* whole lines */
    int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit status */
};

/* Parses argv[1..argc) into the struct at config; options may stand among operands, "--" ends them.
 * Returns the index of the first operand in argv (which is reordered: operands last), or a negative
 * TA_EUSAGE with the option, what was found and what was expected. --help and -h set *help and
 * return. What CLI_STRINGS collected is freed with cli_strings_free. */
int cli_parse(const struct cli_command *c, void *config, int argc, char **argv, bool *help,
              struct err *e);

void cli_strings_free(struct cli_strings *s);
void cli_print_help(const struct cli_command *c, FILE *to);

/* Text and a line end, broken between words at `width` columns; the first line begins where the
 * output stands, at column `indent`, and the others are indented so. */
void cli_print_wrapped(FILE *to, const char *text, int indent, int width);

/* The common start of every verb: parses; on --help prints help and returns -1 with *status 0; on
 * an error prints it, how to get help, and returns -1 with *status 2; else the index of the first
 * operand. */
int cli_begin(const struct cli_command *c, void *config, int argc, char **argv, int *status);

#endif
