#!/usr/bin/env python3
"""make_captures.py DIR: small files for tests of analyze, good ones and all kinds of bad ones.

good.pcapng is a capture by nobody in particular: one chat completion with 20 tokens in 20 events, 20 ms apart,
the first 99 ms after the request.
"""
import gzip
import json
import struct
import sys


def block(kind, body):
    body += b'\0' * (-len(body) % 4)
    n = len(body) + 12
    return struct.pack('<II', kind, n) + body + struct.pack('<I', n)


def start():
    section = block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack('<HHB3x', 9, 1, 9) + struct.pack('<HH', 0, 0)
    return section + block(1, struct.pack('<HHI', 101, 0, 262144) + resolution)


def packet(t_ns, data):
    return block(6, struct.pack('<IIIII', 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(data), len(data)) + data)


def ip(protocol, payload, back):
    a, b = b'\x7f\0\0\1', b'\x7f\0\0\2'
    source, target = (b, a) if back else (a, b)
    return struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0) + source + target + payload


seq = [1000, 5000]


def tcp(back, flags, data=b''):
    ports = (8000, 40000) if back else (40000, 8000)
    segment = struct.pack('>HHIIBBHHH', *ports, seq[back], seq[not back], 0x50, flags, 65535, 0, 0) + data
    seq[back] += len(data) + (flags & 3 != 0)
    return ip(6, segment, back)


def chunk(event):
    data = b'data: ' + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b'\n\n'
    return b'%x\r\n%s\r\n' % (len(data), data)


T, MS = 1796030400123456789, 10 ** 6


def chat():
    body = json.dumps({'model': 'm', 'stream': True, 'messages': [{'role': 'user', 'content': 'hi'}]}).encode()
    yield T, tcp(0, 2)
    yield T + 1000, tcp(1, 0x12)
    yield T + 2000, tcp(0, 0x10)
    yield T + MS, tcp(0, 0x18, b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s'
                      % (len(body), body))
    yield T + 50 * MS, tcp(1, 0x18, b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
                           b'Transfer-Encoding: chunked\r\n\r\n')
    for i in range(20):
        yield T + (100 + 20 * i) * MS, tcp(1, 0x18, chunk({'choices': [{'index': 0, 'delta': {'content': 'word '}}]}))
    yield T + 500 * MS, tcp(1, 0x18, chunk({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]})
                            + chunk({'choices': [], 'usage': {'prompt_tokens': 3, 'completion_tokens': 20}})
                            + chunk(b'[DONE]') + b'0\r\n\r\n')


good = start() + b''.join(packet(t, p) for t, p in chat())
udp = start() + packet(T, ip(17, struct.pack('>HHHH', 1, 2, 12, 0) + b'ping', 0))
files = {
    'good.pcapng': good,
    'good.pcapng.gz': gzip.compress(good),
    'truncated.pcapng': good[:-700],
    'truncated.pcapng.gz': gzip.compress(good)[:-40],
    'udp.pcapng': udp,
    'no-packets.pcapng': start(),
    'empty': b'',
    'photo.jpg': b'\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0' + bytes(range(256)) * 8,
    'random.gz': gzip.compress(bytes((i * 7919 + i // 251 * 31) % 256 for i in range(100000))),
    'text.txt': b'{"not": "a trace"}\n' * 100,
    'head-only.pcapng': good[:20],
}
for name, data in files.items():
    with open(sys.argv[1] + '/' + name, 'wb') as f:
        f.write(data)
