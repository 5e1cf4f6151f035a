/* Every cap in one table. Input beyond a cap is an anomaly or a named error, never growth or a
 * crash. These numbers win over those of any document. */
#ifndef TRACES_LIMITS_H
#define TRACES_LIMITS_H

#define LIMIT_BLOCK_BYTES (16u << 20)      /* one pcapng block */
#define LIMIT_PACKET_BYTES 262144u         /* snaplen: libpcap's maximum */
#define LIMIT_CUSTOM_JSON_BYTES (1u << 20) /* JSON of one custom block */
#define LIMIT_INTERFACES 1024u             /* interfaces of one section */
#define LIMIT_MEMBER_BYTES (1u << 20)      /* a gzip member is closed at this size … */
#define LIMIT_MEMBER_NS 500000000          /* … or this long after its first packet */
#define LIMIT_WRITER_QUEUE_BYTES                                                                   \
    (64u << 20) /* between the recording thread and the compressing one */

#define LIMIT_TCP_CONNECTIONS 65536u     /* open at once; the longest idle one is given up */
#define LIMIT_TCP_HELD_BYTES (16u << 20) /* out of order, per direction */
#define LIMIT_TCP_HELD_PIECES 4096u
#define LIMIT_TCP_HOLE_BYTES                                                                       \
    (1u << 20)                       /* held beyond an acknowledged hole: the hole is a loss (T6) */
#define LIMIT_TCP_HOLE_NS 2000000000 /* … or this long in capture time */

#define LIMIT_HTTP_LINE_BYTES (64u << 10)
#define LIMIT_HTTP_HEAD_BYTES (256u << 10)
#define LIMIT_HTTP_FIELDS 256u
#define LIMIT_HTTP_PENDING 1024u /* requests of a connection that wait for their response */
#define LIMIT_REQUEST_BODY_BYTES (64u << 20) /* kept for reading; the hash goes over all of it */
#define LIMIT_DOCUMENT_BYTES (64u << 20)     /* a response body that is one JSON document */

#define LIMIT_SSE_LINE_BYTES (64u << 20)
#define LIMIT_SSE_EVENT_BYTES (64u << 20)

#define LIMIT_SPEC_BYTES (64u << 20) /* workload spec, profile, own claims file */
#define LIMIT_REQUESTS 10000000u     /* of one analysis */

#endif
