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
#define LIMIT_WRITER_STORE_BYTES (32u << 20) /* waiting there: members are no longer compressed */

#define LIMIT_TCP_CONNECTIONS 65536u     /* open at once; the longest idle one is given up */
#define LIMIT_TCP_HELD_BYTES (16u << 20) /* out of order, per direction */
#define LIMIT_TCP_HELD_PIECES 4096u
#define LIMIT_TCP_HOLE_BYTES                                                                       \
    (1u << 20)                       /* held beyond an acknowledged hole: the hole is a loss (T6) */
#define LIMIT_TCP_HOLE_NS 2000000000 /* … or this long in capture time */
#define LIMIT_TCP_UNREAD_NS 50000000 /* what lies unread for less is nobody's slowness */
#define LIMIT_TCP_ACK_NS 500000000   /* until which it must be acknowledged (RFC 1122, 4.2.3.2) */

#define LIMIT_FRAGMENT_DATAGRAMS 1024u /* of which some fragments have come and some not */
#define LIMIT_FRAGMENT_HELD_BYTES (8u << 20)
#define LIMIT_FRAGMENT_NS 30000000000 /* in capture time; Linux waits as long */
#define LIMIT_TWIN_NS 1000000 /* one packet is at two interfaces of a machine within this time */

#define LIMIT_HTTP_LINE_BYTES (64u << 10)
#define LIMIT_HTTP_HEAD_BYTES (256u << 10)
#define LIMIT_HTTP_FIELDS 256u
#define LIMIT_HTTP_PENDING 1024u /* requests of a connection that wait for their response */
#define LIMIT_EARLY_BYTES                                                                          \
    (16u << 20) /* of a server, before the request is known that they answer … */
#define LIMIT_EARLY_ALL_BYTES (64u << 20) /* … of all connections … */
#define LIMIT_EARLY_NS 4000000000         /* … and so long, in capture time */
#define LIMIT_HTTP_CODINGS 4u             /* gzip of gzip of … */
#define LIMIT_REQUEST_BODIES_BYTES                                                                 \
    (256u << 20) /* of all requests of a trace at one time: beyond it they are only hashed */
#define LIMIT_REQUEST_BODY_BYTES (64u << 20) /* kept for reading; the hash goes over all of it */
#define LIMIT_DOCUMENT_BYTES (64u << 20)     /* a response body that is one JSON document */

#define LIMIT_SHAPE_BYTES                                                                          \
    (256u << 10) /* of a response, held until it shows what it is; then it is a document */

#define LIMIT_SSE_LINE_BYTES (64u << 20)
#define LIMIT_SSE_EVENT_BYTES (64u << 20)

#define LIMIT_REDACT_CONNECTIONS 32768u /* known at once; the longest idle one is forgotten */
#define LIMIT_REDACT_HOLD_NS 100000000 /* packets wait so long for one that came out of order … */
#define LIMIT_REDACT_HOLD_BYTES (4u << 20) /* … or until they are so many */
#define LIMIT_REDACT_RANGES 1024u /* overwritten, per direction, to do it again when sent again */

#define LIMIT_SPEC_BYTES (64u << 20)         /* workload spec, profile, own claims file */
#define LIMIT_WORKLOAD_ROW_BYTES (64u << 20) /* a line or array element of a workload file */
#define LIMIT_WORKLOAD_TEXT_BYTES                                                                  \
    (16ull << 30)            /* made or repeated for the requests of a plan; they go to a file */
#define LIMIT_CLAIMS 100000u /* of one analysis */
#define LIMIT_CLAIM_OBJECTS 10000u        /* result objects in files of claims */
#define LIMIT_CLAIM_FIGURES 4096u         /* of one of them */
#define LIMIT_CLAIM_ROWS 1000000u         /* per-request rows of all; more are counted only */
#define LIMIT_REQUESTS 10000000u          /* of one analysis, of one plan */
#define LIMIT_PACKETS UINT32_MAX          /* of one analyzed trace: its output events keep them */
#define LIMIT_PLAN_BODY_BYTES (64u << 20) /* bodies of a plan in memory; others go to a file */
#define LIMIT_PLAN_LINE_BYTES                                                                      \
    (400u << 20) /* a body of LIMIT_REQUEST_BODY_BYTES with its escapes                            \
                  */

#define LIMIT_VOCABULARY_BYTES (64u << 20) /* a vocabulary file */
#define LIMIT_VOCABULARY_PARTS 64u         /* steps before its model: each is a rule of its file */
#define LIMIT_PATTERN_BYTES (16u << 10)
#define LIMIT_PATTERN_WORDS_BYTES (256u << 20) /* the same, each class written out */
#define LIMIT_PATTERN_STEPS 50000000u          /* of one search for a pattern */
#define LIMIT_PATTERN_STACK_BYTES (16u << 20)
#define LIMIT_RECOUNT_BYTES (4u << 20)        /* of a text that is counted at one time … */
#define LIMIT_RECOUNT_WORK_BYTES (64u << 20)  /* … what becomes of it on the way … */
#define LIMIT_RECOUNT_HELD_BYTES (256u << 20) /* … of all replies under way */
#define LIMIT_SO_FAR_BYTES (16u << 20)          /* of a reply whose events repeat its text */

#endif
