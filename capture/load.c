/* A child process over libuv. Exit statuses as env(1) and the shell have them. */
#include "capture/load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/mem.h"
#include "traces/base/vec.h"

extern char **environ;

enum { LEDGER_FD = 3, STDIO_FDS = 4 };

struct load {
    uv_process_t process;
    uv_pipe_t ledger;
    struct load_hooks hooks;
    bool running;
    char chunk[64 << 10];
};

struct environment {
    VEC(char *) v; /* "NAME=value", ends with NULL; owned */
};

static bool names_same(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n + 1) == 0;
}

static void environment_set(struct environment *env, char *setting)
{
    for (size_t i = 0; i < env->v.n; i++) {
        if (names_same(setting, env->v.v[i])) {
            free(env->v.v[i]);
            env->v.v[i] = setting;
            return;
        }
    }
    VEC_PUSH(&env->v, setting);
}

static void environment_free(struct environment *env)
{
    for (size_t i = 0; i < env->v.n; i++)
        free(env->v.v[i]);
    VEC_FREE(&env->v);
}

static void environment_fill(struct environment *env, const struct caller *as)
{
    for (char **v = environ; *v != NULL; v++)
        VEC_PUSH(&env->v, mem_strdup(*v));
    environment_set(env, mem_printf("TOKAUDIT_LEDGER_FD=%d", LEDGER_FD));
    if (as->home != NULL)
        environment_set(env, mem_printf("HOME=%s", as->home));
    if (as->name != NULL) {
        environment_set(env, mem_printf("USER=%s", as->name));
        environment_set(env, mem_printf("LOGNAME=%s", as->name));
    }
    VEC_PUSH(&env->v, NULL);
}

static void on_ended(uv_process_t *process, int64_t status, int signum)
{
    struct load *l = process->data;
    l->running = false;
    l->hooks.ended(l->hooks.ctx, signum != 0 ? 128 + signum : (int)status);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    (void)wanted;
    struct load *l = handle->data;
    *room = uv_buf_init(l->chunk, sizeof l->chunk);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct load *l = stream->data;
    if (n > 0)
        l->hooks.wrote(l->hooks.ctx, room->base, (size_t)n);
    else if (n < 0)
        uv_read_stop(stream);
}

static int status_of_failure(int r)
{
    switch (r) {
    case UV_ENOENT:
        return LOAD_NOT_FOUND;
    case UV_EAGAIN:
    case UV_ENOMEM:
    case UV_EMFILE:
    case UV_ENFILE:
        return LOAD_CAPTURE_FAILED; /* no process could be made: not COMMAND's fault */
    default:
        return LOAD_CANNOT_RUN;
    }
}

static int spawn(struct load *l, uv_loop_t *loop, char **argv, const struct caller *as,
                 int ledger_fd)
{
    struct environment env = {0};
    environment_fill(&env, as);
    uv_stdio_container_t stdio[STDIO_FDS];
    for (int fd = 0; fd < STDIO_FDS; fd++)
        stdio[fd] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fd};
    stdio[LEDGER_FD].data.fd = ledger_fd;
    uv_process_options_t options = {.file = argv[0],
                                    .args = argv,
                                    .env = env.v.v,
                                    .stdio = stdio,
                                    .stdio_count = STDIO_FDS,
                                    .exit_cb = on_ended};
    int r = uv_spawn(loop, &l->process, &options);
    environment_free(&env);
    return r;
}

int load_start(struct load **out, uv_loop_t *loop, char **argv, const struct caller *as,
               const struct load_hooks *hooks, int *status, struct err *e)
{
    uv_file fds[2];
    *status = LOAD_CAPTURE_FAILED;
    int r = uv_pipe(fds, UV_NONBLOCK_PIPE, 0);
    if (r != 0)
        return err_set(e, TA_ESYS, "cannot make a pipe for the ledger: %s", uv_strerror(r));
    struct load *l = mem_zalloc(sizeof *l);
    l->hooks = *hooks;
    l->process.data = l->ledger.data = l;
    uv_pipe_init(loop, &l->ledger, 0);
    r = spawn(l, loop, argv, as, fds[1]);
    close(fds[1]); /* ours; the pipe then ends with the last process that holds it */
    l->running = r == 0;
    uv_pipe_open(&l->ledger, fds[0]);
    *out = l; /* also after a failure: its handles are on the loop */
    if (r != 0) {
        *status = status_of_failure(r);
        return err_set(e, TA_ESYS, "cannot run '%.200s': %s", argv[0], uv_strerror(r));
    }
    uv_read_start((uv_stream_t *)&l->ledger, on_room, on_read);
    return TA_OK;
}

int load_pid(const struct load *l)
{
    return l->process.pid;
}

void load_signal(struct load *l, int signum)
{
    if (l != NULL && l->running)
        uv_process_kill(&l->process, signum);
}

void load_free(struct load *l)
{
    free(l);
}
