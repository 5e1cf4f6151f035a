/* Samples from Linux's /proc: proc(5), clock_getcpuclockid(3). Files stay open from sample to
 * sample: that is cheaper, and a read from a process that is gone fails instead of finding another
 * of the same number. */
#ifdef __linux__ /* other systems have sampler_none.c */

#include "capture/sampler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/proc.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum { PROCESSES_MAX = 64, TEXT_BYTES = 16 << 10, SLOW_NS = NS_PER_S };
enum { COST_SHARE = 500 }; /* a look for servers may take 1/500 of one core */

enum system_file { MEMINFO, VMSTAT, PRESSURE, CPU, SYSTEM_FILES };

static const char *const system_paths[SYSTEM_FILES] = {
    [MEMINFO] = "/proc/meminfo",
    [VMSTAT] = "/proc/vmstat",
    [PRESSURE] = "/proc/pressure/memory",
    [CPU] = "/proc/stat",
};

struct tracked {
    pid_t pid;
    uint64_t start;
    int stat_fd, status_fd;
    clockid_t cpu_clock;
    bool has_cpu_clock;
    bool announced;
};

struct sampler {
    VEC(uint16_t) ports;
    VEC(struct tracked) tracked;
    struct inodes sockets; /* that listen, as of the last look */
    bool saw_all;          /* the last look at the processes met none that it may not look into */
    int64_t next_look_ns;  /* monotonic */
    int64_t last_slow_ns;  /* the last sample that had what is read once a second */
    int files[SYSTEM_FILES];
    uint64_t page_bytes;
    int64_t tick_ns;
    char text[TEXT_BYTES];
};

struct sampler *sampler_new(const uint16_t *ports, size_t n)
{
    struct sampler *s = mem_zalloc(sizeof *s);
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(&s->ports, ports[i]);
    for (size_t i = 0; i < SYSTEM_FILES; i++)
        s->files[i] = open(system_paths[i], O_RDONLY | O_CLOEXEC);
    s->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    s->tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK);
    s->saw_all = true;
    return s;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void untrack(struct sampler *s, size_t i)
{
    close_fd(s->tracked.v[i].stat_fd);
    close_fd(s->tracked.v[i].status_fd);
    memmove(&s->tracked.v[i], &s->tracked.v[i + 1], (s->tracked.n - i - 1) * sizeof *s->tracked.v);
    s->tracked.n--;
}

void sampler_free(struct sampler *s)
{
    if (s == NULL)
        return;
    while (s->tracked.n > 0)
        untrack(s, s->tracked.n - 1);
    for (size_t i = 0; i < SYSTEM_FILES; i++)
        close_fd(s->files[i]);
    VEC_FREE(&s->ports);
    VEC_FREE(&s->tracked);
    VEC_FREE(&s->sockets.v);
    free(s);
}

static int open_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_stat(struct sampler *s, const struct tracked *t, struct proc_stat *out)
{
    ssize_t n = proc_read(t->stat_fd, s->text, sizeof s->text);
    return n > 0 && proc_stat_parse(s->text, (size_t)n, out);
}

static void track(struct sampler *s, pid_t pid)
{
    struct tracked t = {.pid = pid, .stat_fd = -1, .status_fd = -1};
    struct proc_stat st;
    for (size_t i = 0; i < s->tracked.n; i++) {
        if (s->tracked.v[i].pid == pid) /* gone and come again: found out by the next sample */
            return;
    }
    t.stat_fd = open_of(pid, "stat");
    if (s->tracked.n == PROCESSES_MAX || t.stat_fd < 0 || !read_stat(s, &t, &st)) {
        close_fd(t.stat_fd);
        return;
    }
    t.status_fd = open_of(pid, "status");
    t.start = st.start;
    t.has_cpu_clock = clock_getcpuclockid(pid, &t.cpu_clock) == 0;
    VEC_PUSH(&s->tracked, t);
}

/* init holds the sockets of services that it starts on demand: it is the server only where nobody
 * else is. */
static void leave_out_init(struct pids *found)
{
    for (size_t i = 0; i < found->v.n && found->v.n > 1; i++) {
        if (found->v.v[i] == 1)
            found->v.v[i] = found->v.v[--found->v.n];
    }
}

static void look(struct sampler *s)
{
    struct pids found = {0};
    s->sockets.v.n = 0;
    proc_listeners("/proc/net/tcp", s->ports.v, s->ports.n, &s->sockets);
    proc_listeners("/proc/net/tcp6", s->ports.v, s->ports.n, &s->sockets);
    if (s->sockets.v.n > 0) {
        s->saw_all = proc_owners(&s->sockets, &found);
        leave_out_init(&found);
    }
    for (size_t i = 0; i < s->tracked.n;
         i++) { /* once a server, always one, even if it closed its port */
        if (!pids_has(&found, s->tracked.v[i].pid))
            VEC_PUSH(&found.v, s->tracked.v[i].pid);
    }
    if (found.v.n > 0)
        proc_add_descendants(&found);
    for (size_t i = 0; i < found.v.n; i++)
        track(s, found.v.v[i]);
    VEC_FREE(&found.v);
}

void sampler_find(struct sampler *s)
{
    int64_t start_ns = clock_mono_ns();
    if (s->ports.n == 0 || start_ns < s->next_look_ns)
        return;
    look(s);
    int64_t cost_ns = clock_mono_ns() - start_ns;
    s->next_look_ns = start_ns + cost_ns * COST_SHARE;
}

struct term {
    const char *line, *key;
    uint64_t scale;
};

static void put_terms(const char *text, const struct term *terms, size_t n, struct jsonw *w)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        if (proc_field(text, terms[i].line, &v))
            jsonw_u64(w, terms[i].key, v * terms[i].scale);
    }
}

static bool read_file(struct sampler *s, int fd)
{
    return fd >= 0 && proc_read(fd, s->text, sizeof s->text) > 0;
}

static void put_memory(struct sampler *s, struct jsonw *w)
{
    static const struct term terms[] = {
        {"MemTotal", "total_b", 1024},       {"MemFree", "free_b", 1024},
        {"MemAvailable", "avail_b", 1024},   {"Cached", "cached_b", 1024},
        {"SwapTotal", "swap_total_b", 1024},
    };
    uint64_t total, unused;
    if (!read_file(s, s->files[MEMINFO]))
        return;
    put_terms(s->text, terms, sizeof terms / sizeof *terms, w);
    if (proc_field(s->text, "SwapTotal", &total) && proc_field(s->text, "SwapFree", &unused))
        jsonw_u64(w, "swap_used_b", (total - unused) * 1024);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12": the totals, µs. */
static void put_pressure(struct sampler *s, struct jsonw *w)
{
    static const char *const lines[] = {"some", "full"};
    static const char *const keys[] = {"psi_mem_some_us", "psi_mem_full_us"};
    if (!read_file(s, s->files[PRESSURE]))
        return;
    for (size_t i = 0; i < 2; i++) {
        const char *line = strstr(s->text, lines[i]);
        const char *total = line ? strstr(line, "total=") : NULL;
        if (total != NULL)
            jsonw_u64(w, keys[i], strtoull(total + 6, NULL, 10));
    }
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice", in ticks over all cores;
 * guest time is in user time already. */
static void put_cpu(struct sampler *s, struct jsonw *w)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 };
    uint64_t total = 0, idle = 0;
    if (!read_file(s, s->files[CPU]) || strncmp(s->text, "cpu ", 4) != 0)
        return;
    char *at = s->text + 4;
    for (int i = 0; i < FIELDS; i++) {
        uint64_t ticks = strtoull(at, &at, 10);
        total += ticks;
        idle += i == IDLE || i == IOWAIT ? ticks : 0;
    }
    jsonw_u64(w, "cpu_busy_ns", (total - idle) * (uint64_t)s->tick_ns);
    jsonw_u64(w, "cpu_total_ns", total * (uint64_t)s->tick_ns);
}

static void put_system(struct sampler *s, bool slow, struct jsonw *w)
{
    const struct term paging[] = {{"pswpin", "swapin_b", s->page_bytes},
                                  {"pswpout", "swapout_b", s->page_bytes},
                                  {"pgfault", "pgfault", 1},
                                  {"pgmajfault", "pgmajfault", 1}};
    jsonw_object(w, "sys");
    put_memory(s, w);
    if (slow) {
        if (read_file(s, s->files[VMSTAT]))
            put_terms(s->text, paging, sizeof paging / sizeof *paging, w);
        put_pressure(s, w);
        put_cpu(s, w);
    }
    jsonw_end(w);
}

/* What does not change, once. */
static void put_machine(const struct sampler *s, struct jsonw *w)
{
    struct utsname system;
    jsonw_object(w, NULL);
    jsonw_text(w, "k", "sysinfo");
    if (uname(&system) == 0) {
        jsonw_text(w, "os", "linux");
        jsonw_text(w, "os_ver", system.release);
        jsonw_text(w, "arch", system.machine);
    }
    jsonw_int(w, "ncpu", sysconf(_SC_NPROCESSORS_ONLN));
    jsonw_u64(w, "mem_total_b", (uint64_t)sysconf(_SC_PHYS_PAGES) * s->page_bytes);
    jsonw_u64(w, "page_b", s->page_bytes);
    jsonw_end(w);
}

static void put_coming_or_going(const struct tracked *t, const char *what,
                                const struct proc_stat *st, struct jsonw *w)
{
    jsonw_object(w, NULL);
    jsonw_text(w, "k", "proc");
    jsonw_text(w, "ev", what);
    jsonw_ns(w, "t", clock_real_ns());
    jsonw_int(w, "pid", t->pid);
    jsonw_u64(w, "st", t->start);
    if (st != NULL) {
        jsonw_int(w, "ppid", st->ppid);
        jsonw_text(w, "cmd", st->name);
    }
    jsonw_end(w);
}

static void put_process(struct sampler *s, const struct tracked *t, const struct proc_stat *st,
                        bool slow, struct jsonw *w)
{
    static const struct term terms[] = {{"RssAnon", "rss_anon_b", 1024},
                                        {"RssFile", "rss_file_b", 1024},
                                        {"RssShmem", "rss_shmem_b", 1024},
                                        {"VmSwap", "swap_b", 1024}};
    struct timespec cpu;
    uint64_t cpu_ns = st->ticks * (uint64_t)s->tick_ns;
    /* All threads together and not rounded to ticks, as schedstat (one thread) and stat (10 ms)
     * are. */
    if (t->has_cpu_clock && clock_gettime(t->cpu_clock, &cpu) == 0)
        cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
    jsonw_object(w, NULL);
    jsonw_int(w, "pid", t->pid);
    jsonw_u64(w, "st", t->start);
    jsonw_slice(w, "state", (struct slice){&st->state, 1});
    jsonw_u64(w, "rss_b", st->rss_pages * s->page_bytes);
    jsonw_u64(w, "cpu_ns", cpu_ns);
    jsonw_u64(w, "minflt", st->minflt);
    jsonw_u64(w, "majflt", st->majflt);
    jsonw_u64(w, "threads", st->threads);
    if (slow && read_file(s, t->status_fd))
        put_terms(s->text, terms, sizeof terms / sizeof *terms, w);
    jsonw_end(w);
}

/* "p": the servers, or null and why. Missing where no port was named. */
static void put_processes(struct sampler *s, const struct proc_stat *stats, bool slow,
                          struct jsonw *w)
{
    if (s->ports.n == 0)
        return;
    if (s->tracked.n == 0) {
        jsonw_null(w, "p");
        jsonw_object(w, "na");
        jsonw_text(w, "p", s->sockets.v.n > 0 && !s->saw_all ? "denied" : "gone");
        jsonw_end(w);
        return;
    }
    jsonw_array(w, "p");
    for (size_t i = 0; i < s->tracked.n; i++)
        put_process(s, &s->tracked.v[i], &stats[i], slow, w);
    jsonw_end(w);
}

/* Reads each process's stat, and tells of those that came and went since the last sample. */
static void refresh(struct sampler *s, struct proc_stat *stats, struct jsonw *w)
{
    for (size_t i = 0; i < s->tracked.n;) {
        struct tracked *t = &s->tracked.v[i];
        if (!read_stat(s, t, &stats[i])) {
            put_coming_or_going(t, "exit", NULL, w);
            untrack(s, i);
            continue;
        }
        if (!t->announced)
            put_coming_or_going(t, "start", &stats[i], w);
        t->announced = true;
        i++;
    }
}

void sampler_repeat(struct sampler *s)
{
    s->last_slow_ns = 0;
    for (size_t i = 0; i < s->tracked.n; i++)
        s->tracked.v[i].announced = false;
}

void sampler_take(struct sampler *s, int64_t late_ns, struct jsonw *w)
{
    struct proc_stat stats[PROCESSES_MAX];
    int64_t real_ns = clock_real_ns(), mono_ns = clock_mono_ns();
    bool first = s->last_slow_ns == 0, slow = first || mono_ns - s->last_slow_ns >= SLOW_NS;
    if (first)
        put_machine(s, w);
    if (slow)
        s->last_slow_ns = mono_ns;
    refresh(s, stats, w);
    jsonw_object(w, NULL);
    jsonw_text(w, "k", "s");
    jsonw_ns(w, "t", real_ns);
    jsonw_ns(w, "mono", mono_ns);
    jsonw_int(w, "late_us", late_ns / NS_PER_US);
    put_system(s, slow, w);
    put_processes(s, stats, slow, w);
    jsonw_int(w, "dur_us", (clock_mono_ns() - mono_ns) / NS_PER_US);
    jsonw_end(w);
}

#else
extern int sampler_proc_is_elsewhere; /* ISO C wants a declaration in every file */
#endif
