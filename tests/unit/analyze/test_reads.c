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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_go_to_their_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
