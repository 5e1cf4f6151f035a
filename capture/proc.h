/* Linux's /proc, read: proc(5). */
#ifndef CAPTURE_PROC_H
#define CAPTURE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "traces/base/vec.h"

struct proc_stat {
    char name[64]; /* as the kernel holds it: at most 15 bytes, of any kind */
    char state;
    pid_t ppid;
    uint64_t minflt, majflt;
    uint64_t ticks; /* user and system time, of sysconf(_SC_CLK_TCK) a second */
    uint64_t threads;
    uint64_t start; /* ticks since the system started; with the pid it names one process for good */
    uint64_t rss_pages;
};

/* The text of /proc/PID/stat; its name field may hold blanks and parentheses. */
bool proc_stat_parse(const char *text, size_t n, struct proc_stat *out);

/* Reads the file behind fd from its start; returns bytes, NUL-terminated in text, or -1. */
ssize_t proc_read(int fd, char *text, size_t room);

/* "Name:   12 kB" in a file of such lines: the number; false if there is no such line. */
bool proc_field(const char *text, const char *name, uint64_t *out);

struct inodes {
    VEC(uint64_t) v;
};
struct pids {
    VEC(pid_t) v;
};

bool pids_has(const struct pids *p, pid_t pid);

/* Appends the inodes of sockets that listen on one of the ports: text of /proc/net/tcp or tcp6, by
 * lines. */
void proc_listeners(const char *path, const uint16_t *ports, size_t n, struct inodes *out);

/* Appends the processes that hold one of those sockets. False if some process could not be looked
 * into. */
bool proc_owners(const struct inodes *sockets, struct pids *out);

/* Appends the children of those in p, theirs, and so on. */
void proc_add_descendants(struct pids *p);

#endif
