/* Rights are held no longer than it takes to open the device: sudo(8), credentials(7). */
#include "capture/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "traces/base/mem.h"

static bool id_of(const char *text, unsigned long *id)
{
    char *end = NULL;
    errno = 0;
    *id = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *id < (unsigned)-1;
}

int privileges_caller(struct caller *out, struct err *e)
{
    *out = (struct caller){0};
    const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
    if (geteuid() != 0 || uid_text == NULL || gid_text == NULL)
        return TA_OK;
    unsigned long uid, gid;
    if (!id_of(uid_text, &uid) || !id_of(gid_text, &gid))
        return err_set(e, TA_ESYS,
                       "cannot tell who called through sudo: SUDO_UID is '%.20s', SUDO_GID '%.20s'",
                       uid_text, gid_text);
    if (uid == 0)
        return TA_OK;
    *out = (struct caller){.present = true, .uid = (uid_t)uid, .gid = (gid_t)gid};
    const struct passwd *entry = getpwuid(out->uid);
    if (entry != NULL) {
        out->name = mem_strdup(entry->pw_name);
        out->home = mem_strdup(entry->pw_dir);
    }
    return TA_OK;
}

void privileges_caller_done(struct caller *c)
{
    free(c->name);
    free(c->home);
    *c = (struct caller){0};
}

int privileges_give(const struct caller *c, const char *path, struct err *e)
{
    struct stat st;
    if (!c->present)
        return TA_OK;
    if (lstat(path, &st) != 0)
        return err_sys(e, TA_ESYS, "cannot look at %s", path);
    if (S_ISREG(st.st_mode) && lchown(path, c->uid, c->gid) != 0)
        return err_sys(e, TA_ESYS, "cannot give %s to user %ld", path, (long)c->uid);
    return TA_OK;
}

#ifdef __APPLE__
typedef int group_argument; /* of initgroups */
#else
typedef gid_t group_argument;
#endif

int privileges_drop(const struct caller *c, struct err *e)
{
    if (!c->present)
        return TA_OK;
    int r = c->name ? initgroups(c->name, (group_argument)c->gid) : setgroups(1, &c->gid);
    if (r != 0 || setgid(c->gid) != 0 || setuid(c->uid) != 0)
        return err_sys(e, TA_ESYS, "cannot become user %ld again", (long)c->uid);
    if (getuid() != c->uid || geteuid() != c->uid || getgid() != c->gid || getegid() != c->gid ||
        setuid(0) == 0 || seteuid(0) == 0)
        return err_set(e, TA_ESYS, "became user %ld, but could still become root: not going on",
                       (long)c->uid);
    return TA_OK;
}

#ifdef __APPLE__
#define WAY_FOR_GOOD                                                                               \
    "  sudo chmod o+r /dev/bpf*   (until the system starts again; '%s' stays as it is)\n"
#else
#define WAY_FOR_GOOD "  sudo setcap cap_net_raw+ep '%s'   (once, again after each build)\n"
#endif

void privileges_print_ways(FILE *to)
{
    char self[4096];
    size_t n = sizeof self;
    if (uv_exepath(self, &n) != 0)
        snprintf(self, sizeof self, "tokaudit");
    fputs("Ways out:\n", to);
    fprintf(to, WAY_FOR_GOOD, self);
    fprintf(to,
            "  sudo '%s' capture ...   (COMMAND and the trace stay yours)\n"
            "  tokaudit replay ... -o FILE   drives the load itself and records its own sockets:"
            " no rights needed\n",
            self);
}
