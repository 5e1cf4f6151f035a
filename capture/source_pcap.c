/* Live packets by libpcap: pcap(3PCAP). What it does not tell of itself was measured; each such
 * branch says so. */
#include "capture/source_pcap.h"

#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "capture/packet_socket.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/link.h"

enum { BATCH_PACKETS = 4096, DRAIN_BATCHES = 16 };

struct source {
    pcap_t *pcap;
    char *interface;
    int fd;
    uint16_t link;
    bool nano;
    source_packet_fn *fn;
    void *ctx;
    int refused;           /* what fn returned, once negative */
    struct pcap_stat last; /* libpcap's 32-bit counts, and our totals of their differences */
    struct writer_counts total;
};

/* The interface that the system itself calls loopback: lo, lo0. */
static char *loopback_name(const pcap_if_t *all)
{
    for (const pcap_if_t *i = all; i != NULL; i = i->next) {
        if (i->flags & PCAP_IF_LOOPBACK)
            return mem_strdup(i->name);
    }
    return mem_strdup("lo");
}

static bool is_loopback(const pcap_if_t *all, const char *name)
{
    for (const pcap_if_t *i = all; i != NULL; i = i->next) {
        if (strcmp(i->name, name) == 0)
            return (i->flags & PCAP_IF_LOOPBACK) != 0;
    }
    return false;
}

static int no_such_interface(const pcap_if_t *all, const char *name, struct err *e)
{
    char names[256] = "";
    size_t at = 0;
    for (const pcap_if_t *i = all; i != NULL; i = i->next) {
        size_t n = strlen(i->name);
        if (at + n + 3 > sizeof names)
            break;
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", i->name);
    }
    return err_set(e, TA_ESYS, "no interface '%.64s' to capture on; there are: %s", name, names);
}

static int activate_failed(struct source *s, int r, const pcap_if_t *all, bool *denied,
                           struct err *e)
{
    const char *why = pcap_geterr(s->pcap);
    if (why == NULL || *why == '\0')
        why = pcap_statustostr(r);
    if (r == PCAP_ERROR_NO_SUCH_DEVICE)
        return no_such_interface(all, s->interface, e);
    *denied = r == PCAP_ERROR_PERM_DENIED || r == PCAP_ERROR_PROMISC_PERM_DENIED;
    if (*denied)
        return err_set(e, TA_ESYS, "no right to capture on %s", s->interface);
    return err_set(e, TA_ESYS, "cannot capture on %s: %s", s->interface, why);
}

/* DLT_ values are LINKTYPE_ values but for a few that the BSDs numbered apart
 * (tcpdump.org/linktypes.html). */
static uint16_t linktype_of(int dlt)
{
    if (dlt == DLT_RAW)
        return LINK_RAW;
#ifdef DLT_LOOP
    if (dlt == DLT_LOOP)
        return LINK_LOOP;
#endif
    return (uint16_t)dlt;
}

static int set_filter(struct source *s, const char *filter, struct err *e)
{
    struct bpf_program program;
    if (pcap_compile(s->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return err_set(e, TA_EUSAGE, "filter '%.200s': %s", filter, pcap_geterr(s->pcap));
    int r = pcap_setfilter(s->pcap, &program);
    pcap_freecode(&program);
    if (r != 0)
        return err_set(e, TA_ESYS, "cannot set the filter '%.200s' on %s: %s", filter, s->interface,
                       pcap_geterr(s->pcap));
    return TA_OK;
}

static void configure(pcap_t *pcap, const struct source_want *want)
{
    /* These fail only on a handle that is active already. Not immediate mode: that makes libpcap
     * choose TPACKET_V2, whose slots have one size, and a ring full of them holds little. Not
     * promiscuous: what is not for this machine is no business of ours, and it would take
     * CAP_NET_ADMIN. */
    pcap_set_snaplen(pcap, (int)want->snaplen);
    pcap_set_buffer_size(pcap, (int)want->buffer_bytes);
    pcap_set_timeout(pcap, SOURCE_BLOCK_MS);
    pcap_set_tstamp_precision(pcap,
                              PCAP_TSTAMP_PRECISION_NANO); /* refused by BPF; checked when active */
}

static int start(struct source *s, const struct source_want *want, const pcap_if_t *all,
                 bool *denied, struct err *e)
{
    char text[PCAP_ERRBUF_SIZE] = "";
    s->pcap = pcap_create(s->interface, text);
    if (s->pcap == NULL)
        return err_set(e, TA_ESYS, "cannot capture on %s: %s", s->interface, text);
    configure(s->pcap, want);
    int r = pcap_activate(s->pcap);
    if (r < 0)
        return activate_failed(s, r, all, denied, e);
    if (is_loopback(all, s->interface))
        packet_socket_ignore_outgoing(pcap_fileno(s->pcap));
    r = set_filter(s, want->filter, e);
    if (r != TA_OK)
        return r;
    s->fd = pcap_get_selectable_fd(s->pcap);
    if (s->fd < 0 || pcap_setnonblock(s->pcap, 1, text) != 0)
        return err_set(e, TA_ESYS, "cannot wait for packets of %s: %s", s->interface,
                       text[0] ? text : "the device has no descriptor to poll");
    fcntl(pcap_fileno(s->pcap), F_SETFD,
          FD_CLOEXEC); /* the load must not inherit a capture socket */
    s->nano = pcap_get_tstamp_precision(s->pcap) == PCAP_TSTAMP_PRECISION_NANO;
    s->link = linktype_of(pcap_datalink(s->pcap));
    pcap_stats(s->pcap, &s->last); /* what came between activation and filter was never ours */
    return TA_OK;
}

int source_open(struct source **out, const struct source_want *want, bool *denied, struct err *e)
{
    char text[PCAP_ERRBUF_SIZE] = "";
    pcap_if_t *all = NULL;
    if (pcap_findalldevs(&all, text) != 0)
        return err_set(e, TA_ESYS, "cannot list the interfaces: %s", text);
    struct source *s = mem_zalloc(sizeof *s);
    s->interface = want->interface ? mem_strdup(want->interface) : loopback_name(all);
    *denied = false;
    int r = start(s, want, all, denied, e);
    if (all != NULL)
        pcap_freealldevs(all);
    if (r != TA_OK) {
        source_close(s);
        return r;
    }
    *out = s;
    return TA_OK;
}

void source_close(struct source *s)
{
    if (s == NULL)
        return;
    if (s->pcap != NULL)
        pcap_close(s->pcap);
    free(s->interface);
    free(s);
}

const char *source_interface(const struct source *s)
{
    return s->interface;
}

uint16_t source_link(const struct source *s)
{
    return s->link;
}

uint32_t source_snaplen(const struct source *s)
{
    return (uint32_t)pcap_snapshot(s->pcap);
}

uint64_t source_ring_bytes(const struct source *s)
{
    return packet_socket_ring_bytes(pcap_fileno(s->pcap));
}

int source_fd(const struct source *s)
{
    return s->fd;
}

static void on_packet(u_char *ctx, const struct pcap_pkthdr *h, const u_char *p)
{
    struct source *s = (struct source *)(void *)ctx;
    if (s->refused != 0)
        return;
    int64_t t_ns =
        (int64_t)h->ts.tv_sec * NS_PER_S + (int64_t)h->ts.tv_usec * (s->nano ? 1 : NS_PER_US);
    int r = s->fn(s->ctx, t_ns, p, h->caplen, h->len);
    if (r < 0) {
        s->refused = r;
        pcap_breakloop(s->pcap);
    }
}

int source_drain(struct source *s, source_packet_fn *fn, void *ctx, struct err *e)
{
    s->fn = fn;
    s->ctx = ctx;
    for (int i = 0; i < DRAIN_BATCHES && s->refused == 0; i++) {
        int n = pcap_dispatch(s->pcap, BATCH_PACKETS, on_packet, (u_char *)s);
        if (n == 0)
            break;
        if (n < 0 && n != PCAP_ERROR_BREAK)
            return err_set(e, TA_ESYS, "capture on %s ended: %s", s->interface,
                           pcap_geterr(s->pcap));
    }
    return s->refused;
}

/* The counts are 32 bits wide and wrap; a step back has been seen as 4294965006 drops by the
 * interface. */
static uint64_t stepped(uint64_t total, unsigned now, unsigned before)
{
    uint32_t step = (uint32_t)now - (uint32_t)before;
    return step > INT32_MAX ? total : total + step;
}

struct writer_counts source_counts(struct source *s)
{
    const struct writer_counts unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct packet_socket_facts facts = packet_socket_facts();
    struct pcap_stat now = {0};
    if (pcap_stats(s->pcap, &now) != 0)
        return unknown;
    s->total.received = stepped(s->total.received, now.ps_recv, s->last.ps_recv);
    s->total.dropped = stepped(s->total.dropped, now.ps_drop, s->last.ps_drop);
    s->total.if_dropped = stepped(s->total.if_dropped, now.ps_ifdrop, s->last.ps_ifdrop);
    s->last = now;
    struct writer_counts c = s->total;
    if (!facts.received_is_filtered)
        c.received = UINT64_MAX;
    if (!facts.has_if_dropped)
        c.if_dropped = UINT64_MAX;
    return c;
}

const char *source_version(void)
{
    return pcap_lib_version();
}
