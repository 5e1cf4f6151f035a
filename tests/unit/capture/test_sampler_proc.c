/* The sampler against real processes, whose memory, time and children are known because this file
 * makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "capture/sampler.h"
#include "traces/base/buf.h"

#ifdef __linux__

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/proc.h"

enum { WORK_MS = 150, MEBIBYTES = 48 };

struct server {
    pid_t pid;
    uint16_t port;
    pid_t child; /* of the server */
};

static void touch(size_t mebibytes)
{
    size_t n = mebibytes << 20;
    char *p = malloc(n);
    for (size_t i = 0; i < n; i += 4096)
        ((volatile char *)p)[i] = 1;
}

static int64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Listens, uses memory and time, has a child that does neither, tells, and sleeps until killed. Its
 * name is of the sort that breaks readers of /proc/PID/stat. */
static void serve(int tell, int family)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *any = family == AF_INET6 ? (struct sockaddr *)&any6 : (struct sockaddr *)&any4;
    socklen_t n = family == AF_INET6 ? sizeof any6 : sizeof any4;
    int s = socket(family, SOCK_STREAM, 0);
    if (bind(s, any, n) != 0 || listen(s, 1) != 0 || getsockname(s, any, &n) != 0)
        _exit(1);
    uint16_t port = ntohs(family == AF_INET6 ? any6.sin6_port : any4.sin_port);
    prctl(PR_SET_NAME, ") R 1 (\xFF");
    touch(MEBIBYTES);
    while (cpu_ms() < WORK_MS)
        ;
    pid_t child = fork();
    if (child == 0) {
        close(s);
        for (;;)
            pause();
    }
    struct server me = {getpid(), port, child};
    if (write(tell, &me, sizeof me) != sizeof me)
        _exit(1);
    for (;;)
        pause();
}

static bool start_server(struct server *out, int family)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve(fds[1], family);
    close(fds[1]);
    ssize_t n = read(fds[0], out, sizeof *out);
    close(fds[0]);
    if (n != sizeof *out)
        waitpid(pid, NULL, 0);
    return n == sizeof *out;
}

static void stop_server(const struct server *s)
{
    kill(s->child, SIGKILL);
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

/* One sample as a document: {"samples":[…]}. */
static struct json *take(struct sampler *s)
{
    struct buf text;
    struct jsonw w;
    struct err e;
    buf_init(&text, 1 << 20);
    jsonw_init(&w, &text, 0);
    jsonw_object(&w, NULL);
    jsonw_array(&w, "samples");
    sampler_take(s, 0, &w);
    jsonw_end(&w);
    jsonw_end(&w);
    struct json *root = json_parse((const char *)text.p, text.n, &e);
    assert_non_null(root);
    buf_done(&text);
    return root;
}

static const struct json *element(const struct json *root, const char *k, const char *ev,
                                  int64_t pid)
{
    for (const struct json *v = json_first(json_get(root, "samples")); v; v = json_next(v)) {
        int64_t found = -1;
        if (strcmp(json_string(v, "k"), k) != 0)
            continue;
        if (ev == NULL ||
            (strcmp(json_string(v, "ev"), ev) == 0 && json_int(v, "pid", &found) && found == pid))
            return v;
    }
    return NULL;
}

static const struct json *process(const struct json *root, int64_t pid)
{
    const struct json *p = json_get(element(root, "s", NULL, 0), "p");
    for (const struct json *v = json_first(p); v; v = json_next(v)) {
        int64_t found = -1;
        if (json_int(v, "pid", &found) && found == pid)
            return v;
    }
    return NULL;
}

static int64_t number(const struct json *v, const char *name)
{
    int64_t n = -1;
    assert_true(json_int(v, name, &n));
    return n;
}

static void check_server(int family)
{
    struct server server;
    if (!start_server(&server, family)) {
        print_message("no address of family %d here\n", family);
        return;
    }
    struct sampler *s = sampler_new(&server.port, 1);
    sampler_find(s);
    struct json *root = take(s);
    const struct json *came = element(root, "proc", "start", server.pid),
                      *p = process(root, server.pid);
    assert_non_null(came);
    assert_string_equal(json_string(came, "cmd"), ") R 1 (\xEF\xBF\xBD");
    assert_int_equal(number(came, "ppid"), getpid());
    assert_non_null(p);
    assert_true(number(p, "rss_b") >= (int64_t)MEBIBYTES << 20);
    assert_true(number(p, "cpu_ns") >= (int64_t)WORK_MS * 1000000);
    assert_true(number(p, "rss_anon_b") >= (int64_t)MEBIBYTES << 20);
    assert_non_null(process(root, server.child)); /* without a socket: by descent */
    assert_null(process(root, getpid()));
    json_free(root);

    kill(server.child, SIGKILL);
    stop_server(&server);
    root = take(s);
    assert_non_null(element(root, "proc", "exit", server.pid));
    assert_null(process(root, server.pid));
    json_free(root);
    sampler_free(s);
}

static void server_on_ipv4(void **state)
{
    (void)state;
    check_server(AF_INET);
}

static void server_on_ipv6(void **state)
{
    (void)state;
    check_server(AF_INET6);
}

/* CPU time as the kernel tells the process itself. */
static void own_time(void **state)
{
    (void)state;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, n), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &n), 0);
    uint16_t port = ntohs(any.sin_port);
    struct sampler *s = sampler_new(&port, 1);
    sampler_find(s);
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    struct json *root = take(s);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t cpu_ns = number(process(root, getpid()), "cpu_ns");
    assert_true(cpu_ns >= before.tv_sec * 1000000000LL + before.tv_nsec);
    assert_true(cpu_ns <= after.tv_sec * 1000000000LL + after.tv_nsec);
    json_free(root);
    sampler_free(s);
    close(fd);
}

/* Absent is not zero, and why is said. */
static void nobody_listens(void **state)
{
    (void)state;
    uint16_t port = 1;
    struct sampler *s = sampler_new(&port, 1);
    sampler_find(s);
    struct json *root = take(s);
    const struct json *sample = element(root, "s", NULL, 0);
    assert_int_equal(json_kind(json_get(sample, "p")), JSON_NULL);
    assert_string_equal(json_string(json_get(sample, "na"), "p"), "gone");
    json_free(root);
    sampler_free(s);
}

static void the_machine(void **state)
{
    (void)state;
    struct sampler *s = sampler_new(NULL, 0);
    sampler_find(s);
    struct json *root = take(s);
    const struct json *sample = element(root, "s", NULL, 0), *sys = json_get(sample, "sys");
    int64_t t_ns, mono_ns;
    assert_null(json_get(sample, "p"));
    assert_int_equal(number(sys, "total_b"), sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    assert_int_equal(number(element(root, "sysinfo", NULL, 0), "mem_total_b"),
                     number(sys, "total_b"));
    assert_int_equal(number(element(root, "sysinfo", NULL, 0), "page_b"), sysconf(_SC_PAGESIZE));
    assert_true(number(sys, "avail_b") > 0 && number(sys, "avail_b") <= number(sys, "total_b"));
    assert_true(number(sys, "pgfault") > 0); /* far down in vmstat: more than one read */
    assert_true(number(sys, "cpu_busy_ns") > 0);
    assert_true(number(sys, "cpu_busy_ns") <= number(sys, "cpu_total_ns"));
    assert_true(json_ns(sample, "t", &t_ns) && json_ns(sample, "mono", &mono_ns));
    assert_int_equal(json_kind(json_get(sample, "t")), JSON_STRING);
    json_free(root);
    root = take(s); /* what is read once, or once a second, is missing from the next */
    assert_null(element(root, "sysinfo", NULL, 0));
    assert_null(json_get(json_get(element(root, "s", NULL, 0), "sys"), "pgfault"));
    assert_non_null(json_get(json_get(element(root, "s", NULL, 0), "sys"), "avail_b"));
    json_free(root);
    sampler_free(s);
}

/* Another user's server is there, but can't be looked into: denied, not gone. */
static void denied(void **state)
{
    (void)state;
    struct server server;
    if (geteuid() != 0) {
        print_message("SKIP denied: only root can become another user\n");
        return;
    }
    assert_true(start_server(&server, AF_INET));
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        struct sampler *s = sampler_new(&server.port, 1);
        sampler_find(s);
        struct json *root = take(s);
        const char *why = json_string(json_get(element(root, "s", NULL, 0), "na"), "p");
        _exit(why != NULL && strcmp(why, "denied") == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    stop_server(&server);
    assert_int_equal(status, 0);
}

static void stat_lines(void **state)
{
    (void)state;
    static const char good[] =
        "7 (a) (b) S 1 7 7 0 -1 4194560 11 0 3 0 50 25 0 0 20 -5 9 0 12345 1 678 9\n";
    struct proc_stat st;
    assert_true(proc_stat_parse(good, sizeof good - 1, &st));
    assert_string_equal(st.name, "a) (b");
    assert_int_equal(st.state, 'S');
    assert_int_equal(st.ppid, 1);
    assert_int_equal(st.minflt, 11);
    assert_int_equal(st.majflt, 3);
    assert_int_equal(st.ticks, 75);
    assert_int_equal(st.threads, 9);
    assert_int_equal(st.start, 12345);
    assert_int_equal(st.rss_pages, 678);
    size_t needed = (size_t)(strstr(good, "678") - good) + 1; /* the last field's first digit */
    for (size_t n = 0; n < needed; n++) {
        char *cut = strndup(good, n); /* of its exact size, so that a read beyond is seen */
        assert_false(proc_stat_parse(cut, n, &st));
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_lines),     cmocka_unit_test(the_machine),
        cmocka_unit_test(nobody_listens), cmocka_unit_test(server_on_ipv4),
        cmocka_unit_test(own_time),       cmocka_unit_test(server_on_ipv6),
        cmocka_unit_test(denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void says_that_it_has_none(void **state)
{
    (void)state;
    assert_null(sampler_new(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_that_it_has_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
