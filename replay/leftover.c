/* A process that outlives its parent. Source: Rapid-MLX #942, omlx #3431, vLLM #55510, where it
 * holds a model of tens of gigabytes. */
#include "replay/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "traces/base/clock.h"

enum { FILES_MOST = 4096, PAGE_LEAST = 4096 };

/* Whoever waits for the end of our output must not wait for the child's. */
static void close_files(int but)
{
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && nothing >= 0; fd++)
        dup2(nothing, fd);
    for (int fd = 3; fd < FILES_MOST; fd++) {
        if (fd != but)
            close(fd);
    }
}

static int fill(size_t n)
{
    int zero = open("/dev/zero", O_RDWR);
    unsigned char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    if (p == MAP_FAILED)
        return -1;
    for (size_t i = 0; i < n; i += PAGE_LEAST)
        p[i] = 1; /* no memory is held before it is written to */
    return 0;
}

static void live(int fd, size_t n, int64_t for_ns)
{
    char held = 1;
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    close_files(fd);
    if (fill(n) != 0 || write(fd, &held, 1) != 1)
        _exit(1);
    while (read(fd, &held, 1) < 0 && errno == EINTR) {
    }
    struct timespec left = {(time_t)(for_ns / NS_PER_S), (long)(for_ns % NS_PER_S)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    _exit(0);
}

/* The parent's end of the pair is open as long as the parent is, and closed however it ends. */
int leftover_start(int64_t mb, int64_t for_ns, pid_t *pid, struct err *e)
{
    int pair[2];
    char held;
    ssize_t n;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return err_sys(e, TA_ESYS, "starting the process that is left over");
    *pid = fork();
    if (*pid == 0) {
        close(pair[0]);
        live(pair[1], (size_t)mb << 20, for_ns);
    }
    int failed = errno;
    close(pair[1]);
    if (*pid < 0) {
        close(pair[0]);
        errno = failed;
        return err_sys(e, TA_ESYS, "starting the process that is left over");
    }
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    while ((n = read(pair[0], &held, 1)) < 0 && errno == EINTR) {
    }
    if (n == 1)
        return TA_OK;
    close(pair[0]);
    return err_set(e, TA_ESYS,
                   "the process that is left over could not hold %lld MiB: is there so much free?",
                   (long long)mb);
}
