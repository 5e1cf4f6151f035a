/* Linux's packet sockets: packet(7), proc(5) for the maps. */
#ifdef __linux__ /* the folder's files are all compiled everywhere; each system's part is a file   \
                  */

#include "capture/packet_socket.h"

#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "traces/base/mem.h"

#ifndef PACKET_IGNORE_OUTGOING /* headers before Linux 4.20 */
#define PACKET_IGNORE_OUTGOING 23
#endif

struct packet_socket_facts packet_socket_facts(void)
{
    return (struct packet_socket_facts){.received_is_filtered = true, .has_if_dropped = true};
}

bool packet_socket_ignore_outgoing(int fd)
{
    int on = 1;
    return setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) == 0;
}

/* The ring is the only mapping of that socket; there is no getsockopt for its size. */
uint64_t packet_socket_ring_bytes(int fd)
{
    struct stat st;
    FILE *maps = fstat(fd, &st) == 0 ? fopen("/proc/self/maps", "re") : NULL;
    if (maps == NULL)
        return 0;
    char *wanted = mem_printf("socket:[%llu]", (unsigned long long)st.st_ino);
    char line[512];
    uint64_t bytes = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        char *dash = NULL;
        if (strstr(line, wanted) == NULL)
            continue;
        unsigned long long from = strtoull(line, &dash, 16);
        if (*dash == '-')
            bytes += strtoull(dash + 1, NULL, 16) - from;
    }
    free(wanted);
    fclose(maps);
    return bytes;
}

#else
extern int packet_socket_linux_is_elsewhere; /* ISO C wants a declaration in every file */
#endif
