/* What packets show of a client that does not read, or whose machine does not acknowledge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "traces/limits.h"
#include "traces/tcp.h"

#define MS INT64_C(1000000)

enum { SCALE = 7, STEP = 1 << SCALE, OPEN = 512 * STEP }; /* a window of 64 KiB */
enum who { C, S };

/* A connection, and what is known of it at last. */
struct talk {
    struct tcp *tcp;
    struct tcp_conn seen;
    uint64_t pkt;
    uint32_t sent; /* by the server */
};

static int open_talk(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                     struct byte_sink *server)
{
    static const struct byte_sink nowhere = {0};
    (void)c;
    *user = ctx;
    *client = *server = nowhere;
    return TA_OK;
}

static void close_talk(void *ctx, const struct tcp_conn *c, void *user)
{
    (void)user;
    ((struct talk *)ctx)->seen = *c;
}

static void put(struct talk *k, double t_ms, enum who who, uint8_t flags, uint32_t seq,
                uint32_t ack, size_t n, uint32_t window)
{
    static const uint8_t bytes[16384];
    struct endpoint client = {4, {10, 0, 0, 1}, 40000}, server = {4, {10, 0, 0, 2}, 8000};
    bool syn = flags & TCP_SYN;
    struct segment s = {.from = who == C ? client : server,
                        .to = who == C ? server : client,
                        .seq = seq,
                        .ack = ack,
                        .flags = flags,
                        .window = (uint16_t)(syn ? UINT16_MAX : window >> SCALE),
                        .window_scale = syn ? SCALE : -1,
                        .data = bytes,
                        .n = n,
                        .wire_n = n};
    assert_int_equal(tcp_segment(k->tcp, &s, (int64_t)(t_ms * MS), ++k->pkt), TA_OK);
}

static void server_says(struct talk *k, double t_ms, uint32_t n)
{
    put(k, t_ms, S, TCP_ACK, 5000 + k->sent, 1000, n, OPEN);
    k->sent += n;
}

/* The client's acknowledgement of all but the last `less` bytes, without data. */
static void client_acks(struct talk *k, double t_ms, uint32_t less, uint32_t window)
{
    put(k, t_ms, C, TCP_ACK, 1000, 5000 + k->sent - less, 0, window);
}

static struct talk begin(void)
{
    return (struct talk){0};
}

static void shake(struct talk *k, double round_trip_ms)
{
    k->tcp = tcp_new((struct tcp_sink){k, open_talk, close_talk}, (struct anomaly_sink){0});
    put(k, 1, C, TCP_SYN, 999, 0, 0, 0);
    put(k, 2, S, TCP_SYN | TCP_ACK, 4999, 1000, 0, 0);
    put(k, 2 + round_trip_ms, C, TCP_ACK, 1000, 5000, 0, OPEN);
}

static void finish(struct talk *k)
{
    assert_int_equal(tcp_finish(k->tcp), TA_OK);
    tcp_free(k->tcp);
}

/* --- unread bytes ----------------------------------------------------------------------------- */

/* Fifty packets of 512 bytes, 20 ms apart; of each a part is read at once. Then all. */
static void stream(struct talk *k, uint32_t at_once, double *t_ms)
{
    uint32_t unread = 0;
    for (int i = 0; i < 50; i++, *t_ms += 20) {
        server_says(k, *t_ms, 512);
        unread += 512 - at_once;
        client_acks(k, *t_ms + 0.05, 0, OPEN - unread);
    }
}

static void nothing_is_read(void **state)
{
    struct talk k = begin();
    double t_ms = 100;
    (void)state;
    shake(&k, 0.1);
    stream(&k, 0, &t_ms);
    server_says(&k, t_ms, 512);
    client_acks(&k, t_ms + 0.05, 0, OPEN); /* it woke between */
    finish(&k);
    assert_int_equal(k.seen.unread.n, 1);
    assert_int_equal(k.seen.unread.pkt, k.pkt);
    /* The first of them for 980 ms; by samples that were thinned out, a step is taken off. */
    assert_in_range(k.seen.unread.ns, 800 * MS, 980 * MS);
    assert_in_range(k.seen.unread.from_ns, 100 * MS, 280 * MS);
    assert_in_range(k.seen.unread.bytes, 20000, 50 * 512);
    assert_int_equal(k.seen.late_ack.n, 0);
}

static void it_reads_some(void **state)
{
    struct talk k = begin();
    double t_ms = 100;
    (void)state;
    shake(&k, 0.1);
    stream(&k, 256, &t_ms); /* half: what is oldest came half of the time ago */
    server_says(&k, t_ms, 512);
    client_acks(&k, t_ms + 0.05, 0, OPEN);
    finish(&k);
    assert_int_equal(k.seen.unread.n, 1);
    assert_in_range(k.seen.unread.ns, 350 * MS, 500 * MS);
}

static void it_keeps_up(void **state)
{
    struct talk k = begin();
    double t_ms = 100;
    (void)state;
    shake(&k, 0.1);
    for (int i = 0; i < 100; i++, t_ms += 20) { /* what has just come is not read yet */
        server_says(&k, t_ms, 512);
        client_acks(&k, t_ms + 0.05, 0, OPEN - 512);
    }
    finish(&k);
    assert_int_equal(k.seen.unread.n, 0);
}

/* Much came at once, and is read before more comes, however long that takes. */
static void a_burst_is_read(void **state)
{
    struct talk k = begin();
    (void)state;
    shake(&k, 0.1);
    server_says(&k, 100, 512);
    client_acks(&k, 100.1, 0, OPEN - 512);
    for (int i = 0; i < 20; i++) {
        server_says(&k, 5000 + 0.1 * i, 1024);
        client_acks(&k, 5000.05 + 0.1 * i, 0, OPEN - 1024 * (uint32_t)(i + 1));
    }
    server_says(&k, 9000, 512);
    client_acks(&k, 9000.1, 0, OPEN - 512);
    finish(&k);
    assert_int_equal(k.seen.unread.n, 0);
}

/* The machine offers less and less, as its memory is wanted elsewhere; nothing shows a reader. */
static void a_window_that_only_shrinks(void **state)
{
    struct talk k = begin();
    double t_ms = 100;
    (void)state;
    shake(&k, 0.1);
    stream(&k, 0, &t_ms);
    for (int i = 0; i < 100; i++, t_ms += 20) {
        server_says(&k, t_ms, 512);
        client_acks(&k, t_ms + 0.05, 0, OPEN - 50 * 512 - (i % 2 ? 512 : 0));
    }
    finish(&k);
    assert_int_equal(k.seen.unread.n, 0);
}

static void updates(double asked_ms, bool counts)
{
    struct talk k = begin();
    shake(&k, 0.1);
    server_says(&k, 100, 16384);
    client_acks(&k, 100.1, 0, OPEN - 16384);
    server_says(&k, 100.2, 16384);
    client_acks(&k, 100.3, 0, OPEN - 2 * 16384);
    if (asked_ms > 0) /* a sign of life is asked for: the answer comes at once */
        put(&k, asked_ms, S, TCP_ACK, 5000 + k.sent - 1, 1000, 0, OPEN);
    client_acks(&k, 3100, 0, OPEN); /* by itself: it has just read */
    finish(&k);
    assert_int_equal(k.seen.unread.n, counts);
    if (counts)
        assert_in_range(k.seen.unread.ns, 2999 * MS, 3000 * MS);
}

static void a_window_that_opens_by_itself(void **state)
{
    (void)state;
    updates(0, true);
    updates(3099.9, false);
}

static void no_handshake_no_scale(void **state)
{
    struct talk k = begin();
    double t_ms = 100;
    (void)state;
    k.tcp = tcp_new((struct tcp_sink){&k, open_talk, close_talk}, (struct anomaly_sink){0});
    stream(&k, 0, &t_ms);
    server_says(&k, t_ms, 512);
    client_acks(&k, t_ms + 0.05, 0, OPEN);
    finish(&k);
    assert_true(k.seen.midstream);
    assert_int_equal(k.seen.unread.n, 0);
}

/* --- late acknowledgements -------------------------------------------------------------------- */

/* Ten in time, of the round trip and the delay that is allowed, and one after late_ms. */
static struct tcp_wait acknowledge(double round_trip_ms, double late_ms, bool bare, bool again)
{
    struct talk k = begin();
    shake(&k, round_trip_ms);
    for (int i = 0; i < 10; i++) {
        server_says(&k, 1000 * (i + 1), 300);
        client_acks(&k, 1000 * (i + 1) + round_trip_ms + 40, 0, OPEN);
    }
    server_says(&k, 20000, 300);
    if (again)
        put(&k, 20200, S, TCP_ACK, 5000 + k.sent - 300, 1000, 300, OPEN);
    put(&k, 20000 + late_ms, C, TCP_ACK, 1000, 5000 + k.sent, bare ? 0 : 100, OPEN);
    finish(&k);
    if (k.seen.late_ack.n > 0)
        assert_int_equal(k.seen.late_ack.pkt, k.pkt);
    return k.seen.late_ack;
}

static void late_acknowledgements(void **state)
{
    (void)state;
    struct tcp_wait w = acknowledge(1, 900, true, false);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.from_ns, INT64_C(20000) * MS);
    assert_in_range(w.ns, 898 * MS, 900 * MS);
    assert_int_equal(acknowledge(1, 400, true, false).n, 0);   /* delayed, as it may be */
    assert_int_equal(acknowledge(600, 900, true, false).n, 0); /* a long way */
    assert_int_equal(acknowledge(1, 900, true, true).n, 0);    /* the first copy was lost */
    assert_int_equal(acknowledge(1, 900, false, false).n, 0);  /* with what was asked next */
}

/* A trace without bare acknowledgements, but for that of a sign of life. */
static void acknowledgements_are_not_there(void **state)
{
    struct talk k = begin();
    (void)state;
    shake(&k, 1);
    for (int i = 0; i < 10; i++)
        server_says(&k, 1000 * (i + 1), 300);
    client_acks(&k, 75000, 0, OPEN);
    finish(&k);
    assert_int_equal(k.seen.late_ack.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_read),
        cmocka_unit_test(it_reads_some),
        cmocka_unit_test(it_keeps_up),
        cmocka_unit_test(a_burst_is_read),
        cmocka_unit_test(a_window_that_only_shrinks),
        cmocka_unit_test(a_window_that_opens_by_itself),
        cmocka_unit_test(no_handshake_no_scale),
        cmocka_unit_test(late_acknowledgements),
        cmocka_unit_test(acknowledgements_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
