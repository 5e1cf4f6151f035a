/* Command-line parsing and help from option tables, over getopt_long. */
#include "traces/base/cli.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/base/units.h"

enum { FIRST_LONG = 256, HELP = 255 };

static bool in_choices(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = choices; p != NULL; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        if (strncmp(p, text, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static bool parse_int(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < 0)
        return false;
    *out = v;
    return true;
}

static bool parse_double(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    double v = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static void add_string(struct cli_strings *s, const char *text)
{
    s->v = mem_resize(s->v, (s->n + 1) * sizeof *s->v);
    s->v[s->n++] = text;
}

void cli_strings_free(struct cli_strings *s)
{
    free(s->v);
    *s = (struct cli_strings){0};
}

static int store(const struct cli_option *o, void *config, const char *text, struct err *e)
{
    void *field = (char *)config + o->offset;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return TA_OK;
    case CLI_COUNT:
        ++*(int *)field;
        return TA_OK;
    case CLI_STRING:
        *(const char **)field = text;
        return TA_OK;
    case CLI_STRINGS:
        add_string(field, text);
        return TA_OK;
    case CLI_INT:
        if (parse_int(text, field))
            return TA_OK;
        return err_set(e, TA_EUSAGE, "--%s: expected a whole number, found '%s'", o->name, text);
    case CLI_DOUBLE:
        if (parse_double(text, field))
            return TA_OK;
        return err_set(e, TA_EUSAGE, "--%s: expected a number, found '%s'", o->name, text);
    case CLI_SIZE:
        if (units_parse_size(text, field))
            return TA_OK;
        return err_set(e, TA_EUSAGE, "--%s: expected a size such as 64MiB, found '%s'", o->name,
                       text);
    case CLI_DURATION:
        if (units_parse_duration(text, field))
            return TA_OK;
        return err_set(e, TA_EUSAGE, "--%s: expected a duration such as 500ms or 10s, found '%s'",
                       o->name, text);
    case CLI_HEADING:
        return TA_OK;
    case CLI_CHOICE:
        if (!in_choices(o->choices, text))
            return err_set(e, TA_EUSAGE, "--%s: expected one of %s, found '%s'", o->name,
                           o->choices, text);
        *(const char **)field = text;
        return TA_OK;
    }
    return TA_OK;
}

struct getopt_tables {
    struct option *longs;
    char *letters;
};

static void fill_tables(const struct cli_command *c, struct getopt_tables *t)
{
    size_t options = 0, n = 0, at = 0;
    while (c->options[options].name != NULL)
        options++;
    t->longs = mem_array(options + 2, sizeof *t->longs); /* and help, and the end */
    t->letters = mem_array(2 * options + 3, 1);
    t->letters[at++] = ':';
    for (const struct cli_option *o = c->options; o->name != NULL; o++) {
        int with_arg = o->arg != NULL ? required_argument : no_argument;
        if (o->kind == CLI_HEADING)
            continue;
        t->longs[n++] =
            (struct option){o->name, with_arg, NULL, FIRST_LONG + (int)(o - c->options)};
        if (o->letter != 0) {
            t->letters[at++] = o->letter;
            if (with_arg == required_argument)
                t->letters[at++] = ':';
        }
    }
    t->longs[n] = (struct option){"help", no_argument, NULL, HELP};
    t->letters[at++] = 'h';
    t->letters[at] = '\0';
}

static const struct cli_option *option_of(const struct cli_command *c, int code)
{
    if (code >= FIRST_LONG)
        return &c->options[code - FIRST_LONG];
    for (const struct cli_option *o = c->options; o->name != NULL; o++) {
        if (o->kind != CLI_HEADING && o->letter == code)
            return o;
    }
    return NULL;
}

static int parse_all(const struct cli_command *c, const struct getopt_tables *t, void *config,
                     int argc, char **argv, bool *help, struct err *e)
{
    *help = false;
    opterr = 0;
    optind = 1;
    for (;;) {
        int code = getopt_long(argc, argv, t->letters, t->longs, NULL);
        if (code == -1)
            return optind;
        if (code == 'h' || code == HELP) {
            *help = true;
            return optind;
        }
        if (code == '?' && optopt > 0 && optopt < HELP)
            return err_set(e, TA_EUSAGE, "no option -%c", optopt);
        if (code == '?')
            return err_set(e, TA_EUSAGE, "no option %s", argv[optind - 1]);
        const struct cli_option *o = option_of(c, code == ':' ? optopt : code);
        if (code == ':')
            return err_set(e, TA_EUSAGE, "%s needs %s after it", argv[optind - 1],
                           o ? o->arg : "an argument");
        int r = store(o, config, optarg, e);
        if (r != TA_OK)
            return r;
    }
}

int cli_parse(const struct cli_command *c, void *config, int argc, char **argv, bool *help,
              struct err *e)
{
    struct getopt_tables t;
    fill_tables(c, &t);
    int rc = parse_all(c, &t, config, argc, argv, help, e);
    free(t.longs);
    free(t.letters);
    return rc;
}

void cli_print_wrapped(FILE *to, const char *text, int indent, int width)
{
    int column = indent;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (column > indent && column + 1 + (int)n > width) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", (int)n, text);
        column += (int)n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

enum { HELP_COLUMN = 28, WIDTH = 96 };

/* Behind the options of the command that stand under no heading. */
static void print_help_option(FILE *to, bool *done)
{
    if (!*done)
        fprintf(to, "  -h, --help%*sthis text\n", HELP_COLUMN - 12, "");
    *done = true;
}

void cli_print_help(const struct cli_command *c, FILE *to)
{
    fprintf(to, "usage: tokaudit %s %s\n\n%s\n", c->name, c->usage, c->description);
    bool helped = false;
    fprintf(to, "\noptions:\n");
    for (const struct cli_option *o = c->options; o->name != NULL; o++) {
        char left[64];
        if (o->kind == CLI_HEADING) {
            print_help_option(to, &helped);
            fprintf(to, "\n%s:\n", o->name);
            continue;
        }
        int n = snprintf(left, sizeof left, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
                         o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
                         o->arg ? " " : "", o->arg ? o->arg : "");
        fprintf(to, "%s", left);
        if (n >= HELP_COLUMN)
            fprintf(to, "\n%*s", HELP_COLUMN, "");
        else
            fprintf(to, "%*s", HELP_COLUMN - n, "");
        cli_print_wrapped(to, o->help, HELP_COLUMN, WIDTH);
    }
    print_help_option(to, &helped);
    if (c->examples != NULL)
        fprintf(to, "\nexamples:\n%s", c->examples);
}

int cli_begin(const struct cli_command *c, void *config, int argc, char **argv, int *status)
{
    struct err e;
    bool help;
    int first = cli_parse(c, config, argc, argv, &help, &e);
    if (first < 0) {
        fprintf(stderr, "tokaudit %s: %s\nSee: tokaudit help %s\n", c->name, e.msg, c->name);
        *status = 2;
        return -1;
    }
    if (help) {
        cli_print_help(c, stdout);
        *status = 0;
        return -1;
    }
    return first;
}
