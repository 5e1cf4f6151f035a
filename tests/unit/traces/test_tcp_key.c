/* The key of a connection: the same from both sides, and spread over a table however the ends
 * differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "traces/base/mem.h"
#include "traces/tcp_key.h"

enum { CONNECTIONS = 10000, BUCKETS = 4096 };

static void both_sides_have_one_key(void **state)
{
    (void)state;
    struct segment there = {.from = {4, {127, 0, 0, 1}, 40000}, .to = {4, {127, 0, 0, 1}, 80}};
    struct segment back = {.from = there.to, .to = there.from};
    struct tcp_key a, b;
    unsigned client = tcp_key_of(&there, &a), server = tcp_key_of(&back, &b);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_not_equal(client, server);
    assert_int_equal(tcp_key_hash(&a), tcp_key_hash(&b));
    back.to.port++;
    tcp_key_of(&back, &b);
    assert_memory_not_equal(&a, &b, sizeof a);
}

/* The connection of number i. */
typedef struct segment connection_fn(unsigned i);

static struct segment by_client_port(unsigned i)
{
    return (struct segment){.from = {4, {127, 0, 0, 1}, (uint16_t)(10000 + i)},
                            .to = {4, {127, 0, 0, 1}, 8000}};
}

static struct segment by_every_fourth_port(unsigned i)
{
    return (struct segment){.from = {4, {10, 0, 0, 1}, (uint16_t)(20000 + 4 * i)},
                            .to = {4, {10, 0, 0, 2}, 443}};
}

static struct segment by_client_address(unsigned i)
{
    return (struct segment){.from = {4, {10, 1, (uint8_t)(i >> 8), (uint8_t)i}, 50000},
                            .to = {4, {10, 0, 0, 2}, 443}};
}

static struct segment by_network6(unsigned i)
{
    struct segment s = {.from = {6, {0x20, 0x01, 0x0d, 0xb8}, 50000},
                        .to = {6, {0x20, 0x01, 0x0d, 0xb9}, 443}};
    s.from.addr[5] = (uint8_t)(i >> 8);
    s.from.addr[6] = (uint8_t)i;
    return s;
}

static struct segment by_server_port(unsigned i)
{
    return (struct segment){.from = {4, {127, 0, 0, 1}, 60000},
                            .to = {4, {127, 0, 0, 1}, (uint16_t)(1024 + i)}};
}

/* With that many at random in that many buckets, the longest of all chains is some 10 long; one
 * of 20 is met once in ten million tables. A hash whose low bits are the same has chains of
 * hundreds. */
static void chains_are_short(void **state)
{
    (void)state;
    static connection_fn *const shapes[] = {by_client_port, by_every_fourth_port, by_client_address,
                                            by_network6, by_server_port};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        unsigned *chains = mem_array(BUCKETS, sizeof *chains), longest = 0;
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            struct tcp_key key;
            struct segment s = shapes[k](i);
            tcp_key_of(&s, &key);
            unsigned n = ++chains[tcp_key_hash(&key) % BUCKETS];
            longest = n > longest ? n : longest;
        }
        free(chains);
        assert_in_range(longest, 1, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_have_one_key),
        cmocka_unit_test(chains_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
