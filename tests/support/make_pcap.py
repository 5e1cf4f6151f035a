#!/usr/bin/env python3
"""Captures with the packets of a trace, as other tools would have written them.

make_pcap.py TRACE OUT            classic pcap, nanoseconds
make_pcap.py TRACE OUT PARTS      the same in OUT.1, OUT.2, ...
make_pcap.py --links N TRACE OUT  pcapng; every other packet on a second interface of link type N
make_pcap.py --twice TRACE OUT    pcapng; every packet at two interfaces, 10 us apart
make_pcap.py --port TRACE         prints the port that most packets have
"""
import collections
import gzip
import struct
import sys

PACKET, ETHERNET, COOKED = 6, 1, 113


def packets(path):
    data, at = gzip.open(path).read(), 0
    while at < len(data):
        kind, n = struct.unpack_from('<II', data, at)
        if kind == PACKET:
            _, high, low, captured, wire = struct.unpack_from('<IIIII', data, at + 8)
            yield high << 32 | low, data[at + 28:at + 28 + captured], wire
        at += n


def write_pcap(path, some):
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHIIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, ETHERNET))
        for t, p, wire in some:
            f.write(struct.pack('<IIII', t // 10 ** 9, t % 10 ** 9, len(p), wire) + p)


def block(kind, body):
    body += b'\0' * (-len(body) % 4)
    return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)


def interface(link):
    return block(1, struct.pack('<HHI', link, 0, 0) + struct.pack('<HHB3x', 9, 1, 9) + struct.pack('<HH', 0, 0))


def write_mixed(path, link, some):
    with open(path, 'wb') as f:
        f.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)) + interface(ETHERNET) + interface(link))
        for i, (t, p, wire) in enumerate(some):
            if i % 2 == 1 and link == COOKED:
                p, wire = b'\0\0\3\4\0\6' + bytes(8) + p[12:], wire + 2
            f.write(block(PACKET, struct.pack('<IIIII', i % 2, t >> 32, t & 0xFFFFFFFF, len(p), wire) + p))


def write_twice(path, some):
    with open(path, 'wb') as f:
        f.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)) + 2 * interface(ETHERNET))
        for t, p, wire in some:
            for k in range(2):
                at = t + 10000 * k
                f.write(block(PACKET, struct.pack('<IIIII', k, at >> 32, at & 0xFFFFFFFF, len(p), wire) + p))


arguments = sys.argv[1:]
if arguments[0] == '--port':
    ports = collections.Counter(port for _, p, _ in packets(arguments[1]) for port in struct.unpack_from('>HH', p, 34))
    print(ports.most_common(1)[0][0])
elif arguments[0] == '--links':
    write_mixed(arguments[3], int(arguments[1]), packets(arguments[2]))
elif arguments[0] == '--twice':
    write_twice(arguments[2], packets(arguments[1]))
elif len(arguments) == 3:
    every, parts = list(packets(arguments[0])), int(arguments[2])
    for k in range(parts):
        write_pcap(f'{arguments[1]}.{k + 1}', every[len(every) * k // parts:len(every) * (k + 1) // parts])
else:
    write_pcap(arguments[1], packets(arguments[0]))
