/* Capture devices other than Linux's packet sockets: BPF, bpf(4). */
#ifndef __linux__ /* Linux has packet_socket_linux.c */

#include "capture/packet_socket.h"

struct packet_socket_facts packet_socket_facts(void)
{
    return (struct packet_socket_facts){.received_is_filtered = false, .has_if_dropped = false};
}

bool packet_socket_ignore_outgoing(int fd)
{
    (void)fd;
    return false;
}

uint64_t packet_socket_ring_bytes(int fd)
{
    (void)fd;
    return 0;
}

#else
extern int packet_socket_none_is_elsewhere; /* ISO C wants a declaration in every file */
#endif
