/* Reading /proc: proc(5). Its texts come from the kernel, names in them from anybody. */
#ifdef __linux__ /* no other system has these files */

#include "capture/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTEN = 0x0A };

static bool number(const char **at, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(*at, &end, 10);
    if (errno != 0 || end == *at)
        return false;
    *at = end;
    *out = v;
    return true;
}

/* Fields 4 to 24; -1 in tpgid and priority reads as a huge number, and is not used. */
bool proc_stat_parse(const char *text, size_t n, struct proc_stat *out)
{
    enum {
        PPID = 4,
        MINFLT = 10,
        MAJFLT = 12,
        UTIME = 14,
        STIME,
        THREADS = 20,
        START = 22,
        RSS = 24
    };
    const char *open = memchr(text, '(', n), *close = NULL;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ')')
            close = text + i;
    }
    if (open == NULL || close == NULL || close < open || text + n - close < 4)
        return false;
    size_t name = (size_t)(close - open) - 1;
    *out = (struct proc_stat){.state = close[2]};
    memcpy(out->name, open + 1, name < sizeof out->name ? name : sizeof out->name - 1);
    uint64_t field[RSS + 1];
    const char *at = close + 3;
    for (int i = PPID; i <= RSS; i++) {
        if (!number(&at, &field[i]))
            return false;
    }
    out->ppid = (pid_t)field[PPID];
    out->minflt = field[MINFLT];
    out->majflt = field[MAJFLT];
    out->ticks = field[UTIME] + field[STIME];
    out->threads = field[THREADS];
    out->start = field[START];
    out->rss_pages = field[RSS];
    return true;
}

ssize_t proc_read(int fd, char *text, size_t room)
{
    size_t n = 0;
    ssize_t piece;
    /* One read gives no more than a page of the longer files, vmstat for one. */
    while ((piece = pread(fd, text + n, room - 1 - n, (off_t)n)) > 0)
        n += (size_t)piece;
    text[n] = '\0';
    return n == 0 && piece < 0 ? -1 : (ssize_t)n;
}

bool proc_field(const char *text, const char *name, uint64_t *out)
{
    size_t n = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) != 0 || (line[n] != ':' && line[n] != ' '))
            continue;
        const char *at = line + n + 1;
        return number(&at, out);
    }
    return false;
}

bool pids_has(const struct pids *p, pid_t pid)
{
    for (size_t i = 0; i < p->v.n; i++) {
        if (p->v.v[i] == pid)
            return true;
    }
    return false;
}

static bool has_port(const uint16_t *ports, size_t n, unsigned long port)
{
    for (size_t i = 0; i < n; i++) {
        if (ports[i] == port)
            return true;
    }
    return false;
}

struct socket_line {
    unsigned long port, state;
    uint64_t inode;
};

/* "  0: 0100007F:1F90 00000000:0000 0A …": local address, remote, state, five more, inode. */
static bool parse_socket(const char *line, struct socket_line *out)
{
    enum { LOCAL = 1, STATE = 3, INODE = 9 };
    *out = (struct socket_line){0};
    for (int field = 0;; field++) {
        line += strspn(line, " ");
        size_t n = strcspn(line, " \n");
        if (n == 0)
            return false;
        if (field == LOCAL) {
            const char *colon = memchr(line, ':', n);
            if (colon == NULL)
                return false;
            out->port = strtoul(colon + 1, NULL, 16);
        } else if (field == STATE) {
            out->state = strtoul(line, NULL, 16);
        } else if (field == INODE) {
            return number(&line, &out->inode);
        }
        line += n;
    }
}

void proc_listeners(const char *path, const uint16_t *ports, size_t n, struct inodes *out)
{
    char line[512];
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return;
    if (fgets(line, sizeof line, in) == NULL) /* the heading */
        line[0] = '\0';
    /* The kernel lists all that listen before all that are connected, of which there may be
     * thousands. */
    struct socket_line s;
    while (fgets(line, sizeof line, in) != NULL && parse_socket(line, &s) && s.state == LISTEN) {
        if (has_port(ports, n, s.port))
            VEC_PUSH(&out->v, s.inode);
    }
    fclose(in);
}

/* A directory entry that is a process; else 0. */
static pid_t pid_of(const char *name)
{
    uint64_t v;
    const char *at = name;
    return name[0] >= '1' && name[0] <= '9' && number(&at, &v) && *at == '\0' && v <= INT32_MAX
               ? (pid_t)v
               : 0;
}

static bool is_wanted(const struct inodes *sockets, const char *link)
{
    uint64_t inode;
    const char *at = link + 8;
    if (strncmp(link, "socket:[", 8) != 0 || !number(&at, &inode))
        return false;
    for (size_t i = 0; i < sockets->v.n; i++) {
        if (sockets->v.v[i] == inode)
            return true;
    }
    return false;
}

/* 1: it holds one of the sockets; 0: none; -1: not ours to look at. */
static int holds_socket(const char *pid, const struct inodes *sockets)
{
    char path[64], link[64];
    snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    DIR *fds = opendir(path);
    if (fds == NULL)
        return errno == EACCES || errno == EPERM ? -1 : 0;
    int held = 0;
    for (struct dirent *d; held == 0 && (d = readdir(fds)) != NULL;) {
        ssize_t n = readlinkat(dirfd(fds), d->d_name, link, sizeof link - 1);
        if (n < 0)
            continue;
        link[n] = '\0';
        held = is_wanted(sockets, link);
    }
    closedir(fds);
    return held;
}

bool proc_owners(const struct inodes *sockets, struct pids *out)
{
    DIR *all = opendir("/proc");
    if (all == NULL)
        return false;
    bool saw_all = true;
    for (struct dirent *d; (d = readdir(all)) != NULL;) {
        pid_t pid = pid_of(d->d_name);
        int held = pid > 0 ? holds_socket(d->d_name, sockets) : 0;
        if (held < 0)
            saw_all = false;
        if (held > 0 && !pids_has(out, pid))
            VEC_PUSH(&out->v, pid);
    }
    closedir(all);
    return saw_all;
}

struct kin {
    pid_t pid, ppid;
};
struct kins {
    VEC(struct kin) v;
};

static void read_kin(struct kins *out)
{
    DIR *all = opendir("/proc");
    for (struct dirent *d; all != NULL && (d = readdir(all)) != NULL;) {
        char path[64], text[1024];
        struct proc_stat st;
        pid_t pid = pid_of(d->d_name);
        if (pid == 0)
            continue;
        snprintf(path, sizeof path, "%.16s/stat", d->d_name);
        int fd = openat(dirfd(all), path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? proc_read(fd, text, sizeof text) : -1;
        if (n > 0 && proc_stat_parse(text, (size_t)n, &st))
            VEC_PUSH(&out->v, ((struct kin){pid, st.ppid}));
        if (fd >= 0)
            close(fd);
    }
    if (all != NULL)
        closedir(all);
}

void proc_add_descendants(struct pids *p)
{
    struct kins kins = {0};
    read_kin(&kins);
    for (size_t before = p->v.n + 1;
         before != p->v.n;) { /* pids wrap: a child may come before its parent */
        before = p->v.n;
        for (size_t i = 0; i < kins.v.n; i++) {
            if (pids_has(p, kins.v.v[i].ppid) && !pids_has(p, kins.v.v[i].pid))
                VEC_PUSH(&p->v, kins.v.v[i].pid);
        }
    }
    VEC_FREE(&kins.v);
}

#else
extern int proc_is_elsewhere; /* ISO C wants a declaration in every file */
#endif
