/* Files that are to outlive a power cut. */
#ifndef TRACES_SYNC_H
#define TRACES_SYNC_H

/* 0, also for what cannot be synced (a pipe), or -1 and errno. */
int sync_file(int fd);

/* The file's name is in its folder, which is synced by itself. */
int sync_folder_of(const char *path);

#endif
