/* fsync and what it is called elsewhere. */
#include "traces/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/mem.h"

/* A pipe has nothing to be synced, nor has a file system without a disk. */
static int unless_unable(int rc)
{
    return rc != 0 && (errno == EINVAL || errno == EROFS || errno == ENOTSUP) ? 0 : rc;
}

int sync_file(int fd)
{
#if defined(__APPLE__)
    return unless_unable(fsync(fd));
#else
    return unless_unable(fdatasync(fd));
#endif
}

int sync_folder_of(const char *path)
{
    char *folder = mem_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    int fd = open(slash == NULL ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return errno == EACCES ? 0 : -1; /* one may write there and not look */
    int rc = unless_unable(fsync(fd));
    int why = errno;
    close(fd);
    errno = why;
    return rc;
}
