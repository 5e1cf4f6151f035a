/* What a connection shows of its client, shared out to the requests that it carries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/reads.h"

static void waits_go_to_their_request(void **state)
{
    (void)state;
    struct tcp_conn c = {.retransmissions = 3, .zero_windows = {2, 9}};
    struct reads reads = {0};
    struct request first = {.t0 = 1000}, second = {.t0 = 5000};
    reads_begin(&reads, &c);
    reads_wait(&reads, &first, &c);
    assert_int_equal(first.unread.n, 0);
    c.unread = (struct tcp_wait){1, 1500, 700, 8000, 41};
    reads_wait(&reads, &first, &c);
    c.unread = (struct tcp_wait){2, 2600, 100, 9000, 42}; /* shorter */
    c.late_ack = (struct tcp_wait){1, 2700, 600, 0, 43};
    c.retransmissions = 4;
    c.zero_windows[0] = 7;
    c.zero_windows[1] = 90; /* the server's */
    reads_end(&reads, &first, &c);
    assert_int_equal(first.unread.pkt, 41);
    assert_int_equal(first.unread.ns, 700);
    assert_int_equal(first.late_ack.pkt, 43);
    assert_int_equal(first.retransmissions, 1);
    assert_int_equal(first.zero_windows, 5);

    reads = (struct reads){0};
    reads_begin(&reads, &c);
    reads_wait(&reads, &second, &c); /* what was before it is not its */
    assert_int_equal(second.unread.n + second.late_ack.n, 0);
    c.unread = (struct tcp_wait){3, 4900, 900, 9000, 51}; /* nor what had begun before */
    c.late_ack = (struct tcp_wait){2, 5100, 500, 0, 52};
    reads_end(&reads, &second, &c);
    assert_int_equal(second.unread.n, 0);
    assert_int_equal(second.late_ack.pkt, 52);
    assert_int_equal(second.retransmissions + second.zero_windows, 0);
}

#define MS (INT64_C(1000000))

/* Sent from 1000 to 1001 ms, ended at 3000 ms. */
static bool left(int64_t at_ms, enum end_kind end, bool whole_request)
{
    struct tcp_conn c = {.t_left = at_ms < 0 ? -1 : at_ms * MS};
    struct exchange x = {
        .conn = &c, .request_complete = whole_request, .end = end, .t_end = 3000 * MS};
    x.request_first.t_ready = 1000 * MS;
    x.request_last.t_ready = 1001 * MS;
    return reads_client_left(&x);
}

static void who_ended_it(void **state)
{
    (void)state;
    assert_true(left(3000, END_RST, true));
    assert_true(left(2000, END_FIN, true)); /* it closed, and the server after it */
    assert_true(left(2000, END_RST, true));
    assert_true(left(1000, END_FIN, false)); /* in the middle of the request */
    assert_false(left(-1, END_RST, true));   /* the server's reset */
    assert_false(left(-1, END_FIN, true));
    assert_false(left(1001, END_RST, true)); /* it had nothing more to ask */
    assert_false(left(1005, END_FIN, true));
    assert_true(left(2000, END_TRACE, true)); /* and the server had not taken note */
    assert_false(left(1000, END_TRACE, false));
    assert_false(left(900, END_RST, true));  /* before this request */
    assert_false(left(3500, END_FIN, true)); /* after its end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_go_to_their_request),
        cmocka_unit_test(who_ended_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
