/* Tables and variables to files, and gnuplot as a child: an argument vector, no shell, no user
 * start-up file, a time limit, and every line on its stderr a failure (its exit status is 0 even
 * when a data file is missing). */
#include "plots/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plots/svg_ship.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"

enum {
    TABLE_BYTES = 64 << 20,
    SCRIPT_BYTES = 1 << 20,
    SVG_BYTES = 32 << 20,
    SAID_BYTES = 4096,
    LIMIT_S = 60
};

void plot_init(struct plot *p, const char *name, const char *template, const char *alt)
{
    *p = (struct plot){.name = name, .template = template, .alt = alt};
}

void plot_number(struct plot *p, const char *variable, double value)
{
    VEC_PUSH(&p->variables, (struct plot_variable){variable, NULL, value});
}

void plot_text(struct plot *p, const char *variable, const char *value)
{
    VEC_PUSH(&p->variables, (struct plot_variable){variable, value, 0});
}

struct plot_table *plot_table(struct plot *p, const char *variable, const char *kind,
                              const char *columns)
{
    VEC_PUSH(&p->tables, (struct plot_table){.variable = variable, .kind = kind});
    struct plot_table *t = &p->tables.v[p->tables.n - 1];
    buf_init(&t->rows, TABLE_BYTES);
    buf_printf(&t->rows, "# tokaudit plot-data v1  kind=%s\n# %s\n", kind, columns);
    return t;
}

static void separate(struct plot_table *t)
{
    if (t->rows.n > 0 && t->rows.p[t->rows.n - 1] != '\n')
        buf_puts(&t->rows, "\t");
}

void plot_cell_number(struct plot_table *t, double value)
{
    separate(t);
    if (isfinite(value))
        buf_printf(&t->rows, "%.9g", value);
    else
        buf_puts(&t->rows, "nan");
}

/* Control characters, and the two code points that XML does not have, become U+FFFD. */
static void put_safe(struct buf *out, struct slice text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    struct buf safe;
    buf_init(&safe, 4 * text.n + 16);
    text_terminal(&safe, text);
    for (size_t at = 0, n; at < safe.n; at += n) {
        uint32_t cp;
        n = utf8_next(safe.p + at, safe.n - at, &cp);
        if (cp == 0xFFFE || cp == 0xFFFF)
            buf_puts(out, replacement);
        else
            buf_printf(out, "%.*s", (int)n, (const char *)safe.p + at);
    }
    buf_done(&safe);
}

/* No tab, newline, quote or backslash may stand in a cell: gnuplot would split it or break its line
 * there. */
void plot_cell_text(struct plot_table *t, struct slice text)
{
    separate(t);
    size_t from = t->rows.n;
    put_safe(&t->rows, text);
    if (t->rows.n == from)
        buf_puts(&t->rows, " ");
    for (size_t i = from; i < t->rows.n; i++) {
        uint8_t c = t->rows.p[i];
        t->rows.p[i] = c == '"' ? '\'' : c == '\\' ? '/' : c;
    }
}

void plot_row_end(struct plot_table *t)
{
    buf_puts(&t->rows, "\n");
}

void plot_block_end(struct plot_table *t)
{
    buf_puts(&t->rows, "\n\n");
}

void plot_done(struct plot *p)
{
    for (size_t i = 0; i < p->tables.n; i++)
        buf_done(&p->tables.v[i].rows);
    VEC_FREE(&p->tables);
    VEC_FREE(&p->variables);
}

static int make_dir(const char *path, struct err *e)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TA_OK;
    return err_sys(e, TA_ESYS, "cannot make the folder %s", path);
}

static int write_file(const char *path, const void *p, size_t n, struct err *e)
{
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(p, 1, n, f) == n;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    return ok ? TA_OK : err_sys(e, TA_ESYS, "cannot write %s", path);
}

/* The file at path, or false. */
static bool read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    char piece[65536];
    bool ok = true;
    for (size_t n; ok && (n = fread(piece, 1, sizeof piece, f)) > 0;)
        ok = buf_add(out, piece, n) == TA_OK;
    ok = ok && !ferror(f);
    fclose(f);
    return ok;
}

/* A template: installed, else beside the sources. */
static int add_template(struct buf *script, const char *name, struct err *e)
{
    static const char *const folders[] = {TOKAUDIT_DATADIR "/plots", TOKAUDIT_SOURCEDIR "/plots"};
    for (size_t i = 0; i < 2; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%.900s/%.100s.gp", folders[i], name);
        if (read_file(path, script))
            return TA_OK;
    }
    return err_set(e, TA_ESYS,
                   "the plot template %s.gp is neither in %s nor in %s: install tokaudit again",
                   name, folders[0], folders[1]);
}

/* 'text' with ' doubled: single-quoted strings are the only ones in which gnuplot runs no
 * `command`. */
static void put_quoted(struct buf *script, const char *text)
{
    struct buf safe;
    buf_init(&safe, 4 * strlen(text) + 16);
    put_safe(&safe, slice_of(text));
    buf_puts(script, "'");
    for (const char *p = buf_text(&safe); *p != '\0'; p++)
        buf_printf(script, "%s%c", *p == '\'' ? "'" : "", *p);
    buf_puts(script, "'");
    buf_done(&safe);
}

static int compose(struct plot *p, struct buf *script, struct err *e)
{
    buf_printf(script,
               "# %s: written by tokaudit. Draw again: gnuplot %s.gp; as PNG: gnuplot -e "
               "\"FMT='png'\" %s.gp\n",
               p->name, p->name, p->name);
    buf_printf(script,
               "if (!exists(\"FMT\")) FMT = \"svg\"\nif (!exists(\"OUT\")) OUT = "
               "\"%s.\".FMT\nPLOTID = 'plot %s v1'\n",
               p->name, p->template);
    for (size_t i = 0; i < p->tables.n; i++)
        buf_printf(script, "%s = '../data/%s-%s.tsv'\n", p->tables.v[i].variable, p->name,
                   p->tables.v[i].kind);
    for (size_t i = 0; i < p->variables.n; i++) {
        const struct plot_variable *v = &p->variables.v[i];
        buf_printf(script, "%s = ", v->name);
        if (v->text != NULL)
            put_quoted(script, v->text);
        else
            buf_printf(script, isfinite(v->number) ? "%.9g" : "NaN", v->number);
        buf_puts(script, "\n");
    }
    buf_puts(script, "\n");
    int r = add_template(script, "style", e);
    return r == TA_OK ? add_template(script, p->template, e) : r;
}

/* Reads what the child says on stderr until it ends or its time is up. */
static void listen_to(int fd, struct buf *said, bool *late)
{
    int64_t until = clock_mono_ns() + (int64_t)LIMIT_S * NS_PER_S;
    for (;;) {
        int64_t left_ms = (until - clock_mono_ns()) / NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
        if (ready == 0) {
            *late = true;
            return;
        }
        char piece[512];
        ssize_t n = ready < 0 ? -1 : read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        /* Enough is enough, but the pipe must stay open. */
        if (said->n + (size_t)n < said->max && buf_add(said, piece, (size_t)n) != TA_OK)
            return;
    }
}

/* In the child. heard: the end of the pipe that hears its stderr, and its stdout too if hear_out.
 */
static void exec_gnuplot(const char *dir, char *const argv[], bool hear_out, int heard)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || chdir(dir) != 0)
        _exit(126);
    dup2(null, 0);
    dup2(hear_out ? heard : null, 1);
    dup2(heard, 2);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("GNUTERM");
    execvp("gnuplot", argv);
    _exit(127);
}

/* Runs gnuplot in dir. What it said (on stdout too, if hear_out) is in said; returns its exit
 * status, 127 if there is none, -1 if it was ended for its slowness. */
static int run_gnuplot(const char *dir, char *const argv[], bool hear_out, struct buf *said)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 127;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        exec_gnuplot(dir, argv, hear_out, ends[1]);
    }
    close(ends[1]);
    bool late = false;
    int status = 0;
    if (pid > 0) {
        listen_to(ends[0], said, &late);
        if (late)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (pid < 0)
        return 127;
    return late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What gnuplot said, in one line. Where there is no UTF-8 locale (macOS before 14) it says so, and
 * draws the same picture: that line is dropped. */
static void tidy(struct buf *said)
{
    static const char harmless[] = "iconv failed to convert degree sign\n";
    const char *p = strstr(buf_text(said), harmless);
    if (p != NULL) {
        size_t at = (size_t)(p - (const char *)said->p), n = sizeof harmless - 1;
        memmove(said->p + at, p + n, said->n - at - n);
        said->n -= n;
    }
    for (size_t i = 0; i < said->n; i++) {
        if (said->p[i] < ' ')
            said->p[i] = ' ';
    }
    while (said->n > 0 && said->p[said->n - 1] == ' ')
        said->n--;
    size_t blanks = 0;
    while (blanks < said->n && said->p[blanks] == ' ')
        blanks++;
    buf_drop(said, blanks);
}

/* NULL: drawn. Else why not. */
static char *draw_form(const char *dir, const char *name, const char *form)
{
    char script[256], variables[64];
    snprintf(script, sizeof script, "%.200s.gp", name);
    snprintf(variables, sizeof variables, "FMT='%s'", form);
    char program[] = "gnuplot", no_startup[] = "-d", execute[] = "-e";
    char *argv[] = {program, no_startup, execute, variables, script, NULL};
    struct buf said;
    buf_init(&said, SAID_BYTES);
    int status = run_gnuplot(dir, argv, false, &said);
    tidy(&said);
    char *why = NULL;
    if (status == 127)
        why = mem_strdup("there is no gnuplot on this machine; install it and run the script");
    else if (status == -1)
        why = mem_printf("gnuplot took longer than %d s", (int)LIMIT_S);
    else if (status != 0 || said.n > 0)
        why = mem_printf("gnuplot failed (status %d): %.*s", status,
                         (int)(said.n < 300 ? said.n : 300), (char *)said.p);
    buf_done(&said);
    return why;
}

/* Ships the raw SVG at path in place, and keeps its inline form. */
static int ship(const struct plot *p, const char *path, char **inline_svg, struct err *e)
{
    struct buf raw, shipped;
    buf_init(&raw, SVG_BYTES);
    buf_init(&shipped, 2 * SVG_BYTES);
    int r = TA_OK;
    if (!read_file(path, &raw)) {
        r = err_sys(e, TA_ESYS, "cannot read the picture gnuplot wrote, %s", path);
        goto out;
    }
    struct slice text = {(const char *)raw.p, raw.n};
    svg_ship(&shipped, text, p->name, p->alt, true);
    *inline_svg = mem_strndup((const char *)shipped.p, shipped.n);
    buf_clear(&shipped);
    svg_ship(&shipped, text, p->name, p->alt, false);
    r = write_file(path, shipped.p, shipped.n, e);
out:
    buf_done(&raw);
    buf_done(&shipped);
    return r;
}

static int write_inputs(struct plot *p, const char *dir, const char *plots, struct err *e)
{
    struct buf script;
    buf_init(&script, SCRIPT_BYTES);
    int r = compose(p, &script, e);
    char *path = mem_printf("%s/%s.gp", plots, p->name);
    if (r == TA_OK)
        r = write_file(path, script.p, script.n, e);
    free(path);
    buf_done(&script);
    for (size_t i = 0; r == TA_OK && i < p->tables.n; i++) {
        struct plot_table *t = &p->tables.v[i];
        path = mem_printf("%s/data/%s-%s.tsv", dir, p->name, t->kind);
        r = write_file(path, t->rows.p, t->rows.n, e);
        free(path);
    }
    return r;
}

int plot_draw(struct plot *p, const char *dir, struct plot_result *out, struct err *e)
{
    *out = (struct plot_result){0};
    char *plots = mem_printf("%s/plots", dir), *data = mem_printf("%s/data", dir);
    char *svg = mem_printf("%s/%s.svg", plots, p->name);
    char *png = mem_printf("%s/%s.png", plots, p->name);
    int r = make_dir(dir, e);
    if (r == TA_OK)
        r = make_dir(plots, e);
    if (r == TA_OK)
        r = make_dir(data, e);
    if (r == TA_OK)
        r = write_inputs(p, dir, plots, e);
    if (r != TA_OK)
        goto out;
    unlink(svg); /* a picture of an earlier run would be no picture of this one */
    unlink(png);
    out->why_not = draw_form(plots, p->name, "svg");
    if (out->why_not != NULL)
        goto out;
    r = ship(p, svg, &out->svg, e);
    out->drawn = r == TA_OK;
    /* Small gnuplots have no cairo: the SVG is the picture then. */
    free(draw_form(plots, p->name, "png"));
out:
    free(png);
    free(svg);
    free(data);
    free(plots);
    return r;
}

char *plot_gnuplot_version(void)
{
    char program[] = "gnuplot", version[] = "--version";
    char *argv[] = {program, version, NULL};
    struct buf said;
    buf_init(&said, SAID_BYTES);
    char *text = NULL;
    if (run_gnuplot(".", argv, true, &said) == 0)
        text = mem_strndup((const char *)said.p, strcspn(buf_text(&said), "\n"));
    buf_done(&said);
    return text;
}
