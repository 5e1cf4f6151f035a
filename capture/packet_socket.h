/* What the system's capture socket can do beyond libpcap. */
#ifndef CAPTURE_PACKET_SOCKET_H
#define CAPTURE_PACKET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* Do pcap_stats's numbers mean what a trace needs? */
struct packet_socket_facts {
    bool received_is_filtered; /* ps_recv counts what passed the filter, not all that was seen */
    bool has_if_dropped;       /* ps_ifdrop is filled in */
};
struct packet_socket_facts packet_socket_facts(void);

/* Leaves the outgoing copies of packets out of the ring: on loopback each comes twice, and libpcap
 * throws one away only after it took room. For loopback alone: on other interfaces they are one's
 * own side of the talk. False if the system can't. */
bool packet_socket_ignore_outgoing(int fd);

/* Bytes of ring that the kernel granted; 0 = can't be told. */
uint64_t packet_socket_ring_bytes(int fd);

#endif
