#!/bin/sh
# redact.sh TOKAUDIT: a shared trace holds no text and gives the same figures; secrets of a live run never reach the file.
set -eu
. tests/support/cli.sh

# --- texts --------------------------------------------------------------------------------------

example=traces/examples/llama.cpp-smollm2-135m.pcapng.gz
"$tokaudit" capture --read $example --redact bodies -o "$tmp/shared.pcapng.gz" 2>"$tmp/err" ||
    fail "--redact bodies: $(cat "$tmp/err")"
"$tokaudit" verify "$tmp/shared.pcapng.gz" >"$tmp/out" 2>&1 || fail "verify: $(cat "$tmp/out")"
gzip -dc $example >"$tmp/before"
gzip -dc "$tmp/shared.pcapng.gz" >"$tmp/after"
"$tokaudit" analyze --format json $example >"$tmp/before.json"
"$tokaudit" analyze --format json "$tmp/shared.pcapng.gz" >"$tmp/after.json"

# Every figure, time, count and name; only the bodies' hashes are others.
python3 - "$tmp/before.json" "$tmp/after.json" <<'END' || fail "the figures changed"
import json, sys

before, after = (json.load(open(p)) for p in sys.argv[1:])
assert after['traces'][0]['redacted'] == 'bodies', after['traces'][0]
assert len(before['requests']) == 26 and before['metrics']


def strip(v):
    if isinstance(v, dict):
        return {k: strip(x) for k, x in v.items() if k not in ('body_sha256', 'packet')}
    return [strip(x) for x in v] if isinstance(v, list) else v


for key in ('requests', 'metrics', 'runs', 'findings'):
    assert strip(before[key]) == strip(after[key]), key
END

# No word of what was asked or answered.
python3 - "$tmp/before" "$tmp/after" "$tmp/before.json" "$tmp/after.json" <<'END' || fail "texts are left"
import json, re, sys

before, after = (open(p, 'rb').read() for p in sys.argv[1:3])
contents = re.compile(rb'"content":"((?:[^"\\]|\\.)*)"')
texts = b' '.join(contents.findall(before))
frame = contents.sub(b'', before)
words = set(re.findall(rb'[A-Za-z]{4,}', texts)) | set(re.findall(rb'[A-Za-z]+ [A-Za-z]+', texts))
words = {w for w in words if w.lower() not in frame.lower()}
assert len(words) >= 200, len(words)
left = [w for w in words if w in after]
assert not left, left[:20]
assert len(before) > 400000 and b'"kind":"bodies","requests":[{"client":"127.0.0.1:' in after
# Equal bodies still have equal hashes, and others have others.
bodies, found = ([r['body_sha256'] for r in json.load(open(p))['requests'] if r['method'] == 'POST'] for p in sys.argv[3:])
hashes = re.findall(rb'"sha256":"([0-9a-f]{64})","bytes":\d+,"strings":\d+', after)
assert len(hashes) == len(bodies) and len(set(zip(bodies, hashes))) == len(set(bodies)) == len(set(hashes))
assert found == [h.decode() for h in hashes], 'analyze does not find the hashes'
END

# Once more changes nothing, and what was noted the first time stays.
"$tokaudit" capture --read "$tmp/shared.pcapng.gz" --redact bodies -o "$tmp/twice.pcapng.gz" 2>"$tmp/err" || fail "twice: $(cat "$tmp/err")"
"$tokaudit" analyze --format json "$tmp/twice.pcapng.gz" >"$tmp/twice.json"
python3 - "$tmp/after.json" "$tmp/twice.json" <<'END' || fail "a second redaction changed something"
import json, sys

once, twice = (json.load(open(p)) for p in sys.argv[1:])
assert [r['body_sha256'] for r in once['requests']] == [r['body_sha256'] for r in twice['requests']]
assert [r['t0_ns'] for r in once['requests']] == [r['t0_ns'] for r in twice['requests']]
END

if command -v tshark >/dev/null; then
    for file in "$example" "$tmp/shared.pcapng.gz"; do
        tshark -r "$file" -o tcp.check_checksum:TRUE -T fields -e tcp.checksum.status -e http.request.uri \
            -e http.response.code -e http.content_length -e tcp.len >"$tmp/$(basename "$file").txt" 2>"$tmp/err" ||
            fail "tshark does not read $file: $(cat "$tmp/err")"
    done
    # The same frames with the same HTTP in them; only custom blocks came and went.
    grep -v '^[[:space:]]*$' "$tmp/$(basename $example).txt" >"$tmp/a"
    grep -v '^[[:space:]]*$' "$tmp/shared.pcapng.gz.txt" >"$tmp/b"
    cmp "$tmp/a" "$tmp/b" || fail "tshark sees other segments, messages or checksums"
else
    skip "the check by tshark: it is not installed"
fi

# --- compressed replies, and packets in IP fragments --------------------------------------------

cat >"$tmp/make.py" <<'END'
import struct, sys, zlib

packets, seq = [], {True: 1000, False: 5000}


def checksum(tcp, a, b):
    data = a + b + struct.pack('>HH', 6, len(tcp)) + tcp + bytes(len(tcp) % 2)
    n = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff


def send(from_client, data, flags=0x18, pieces=1):
    a, b = ((b'\x0a\0\0\1', 40000), (b'\x0a\0\0\2', 8000))[:: 1 if from_client else -1]
    tcp = struct.pack('>HHIIBBHHH', a[1], b[1], seq[from_client], seq[not from_client], 0x50, flags, 65535, 0, 0) + data
    tcp = tcp[:16] + struct.pack('>H', checksum(tcp, a[0], b[0])) + tcp[18:]
    step = -(-len(tcp) // pieces // 8) * 8 or 8
    for at in reversed(range(0, len(tcp), step)): # the last piece first
        part = tcp[at:at + step]
        place = at // 8 | (0x2000 if at + step < len(tcp) else 0)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(part), len(packets) // 8, place, 64, 6, 0, a[0], b[0])
        packets.append(ip + part)
    packets.extend([None] * (-len(packets) % 8)) # the next has another id
    seq[from_client] += len(data) + (flags & 3 != 0)


pieces = int(sys.argv[2])
send(True, b'', 0x02); send(False, b'', 0x12); send(True, b'', 0x10)
for coding in ('', 'gzip', 'deflate', 'br') if pieces == 1 else ('', ''):
    send(True, b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hush-1f2e3d-hush-1f2e3d-hush\r\n'
         b'Content-Length: 34\r\n\r\n{"stream":true,"user":"hush-hush"}', pieces=pieces)
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: hush-1f2e3d-and-more-than-fits-into-a-piece\r\n'
    z = zlib.compressobj(wbits=31 if coding == 'gzip' else 15)
    if coding:
        head += b'Content-Encoding: %s\r\n' % coding.encode()
    send(False, head + b'Transfer-Encoding: chunked\r\n\r\n', pieces=pieces)
    for i in range(10):
        text = b'data: {"choices":[{"delta":{"content":"hush-1f2e3d %d"}}]}\n\n' % i
        text = z.compress(text) + z.flush(zlib.Z_SYNC_FLUSH) if coding else text
        send(False, b'%x\r\n' % len(text) + text + b'\r\n', pieces=pieces)
    text = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":10}}\n\n'
    text = z.compress(text) + z.flush() if coding else text
    send(False, b'%x\r\n' % len(text) + text + b'\r\n0\r\n\r\n', pieces=pieces)
with open(sys.argv[1], 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
    for i, p in enumerate(packets):
        if p:
            f.write(struct.pack('<IIII', 1796030400 + i // 1000, i % 1000 * 1000, len(p), len(p)) + p)
END
for pieces in 1 3; do
    python3 "$tmp/make.py" "$tmp/made.pcap" $pieces
    for how in none secrets bodies; do
        "$tokaudit" capture --read "$tmp/made.pcap" --redact $how -o "$tmp/made-$how.pcapng.gz" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
        if grep -q "could not be judged" "$tmp/err"; then fail "$pieces pieces, $how: $(cat "$tmp/err")"; fi
        gzip -dc "$tmp/made-$how.pcapng.gz" >"$tmp/plain"
        [ $how = none ] || ! grep -a -q 'Bearer hush\|Cookie: hush' "$tmp/plain" || fail "$pieces pieces, $how: a secret is left"
        [ $how != bodies ] || ! grep -a -q hush "$tmp/plain" || fail "$pieces pieces: text is left"
        "$tokaudit" analyze --format json "$tmp/made-$how.pcapng.gz" >"$tmp/made-$how.json"
    done
    python3 - "$tmp" $pieces <<'END' || fail "$pieces pieces: the figures changed, or what was overwritten counts as a fault"
import json, sys

none, secrets, bodies = (json.load(open('%s/made-%s.json' % (sys.argv[1], how)))['requests'] for how in ('none', 'secrets', 'bodies'))
assert none == secrets, (none, secrets)
coded = [False, True, True, True] if sys.argv[2] == '1' else [False, False]
assert len(bodies) == len(coded)
for was, now, c in zip(none, bodies, coded):
    if not c:
        assert was['metrics'] == now['metrics'] and now['outcome'] == 'success' and not now['anomalies'], now
    else:
        assert now['outcome'] == 'unreadable' and not now['anomalies'], now
        assert all(m['value'] is None or m['value'] == was['metrics'][k]['value'] for k, m in now['metrics'].items()), now
END
    if command -v tshark >/dev/null; then
        for how in none bodies; do
            tshark -r "$tmp/made-$how.pcapng.gz" -o tcp.check_checksum:TRUE -Y tcp -T fields -e tcp.checksum.status -e tcp.len \
                >"$tmp/made-$how.txt" 2>"$tmp/err" || fail "tshark: $(cat "$tmp/err")"
        done
        cmp "$tmp/made-none.txt" "$tmp/made-bodies.txt" || fail "$pieces pieces: tshark sees other segments or checksums"
        if grep -q '^0' "$tmp/made-bodies.txt"; then fail "$pieces pieces: a checksum is wrong"; fi
    fi
done

# --- secrets ------------------------------------------------------------------------------------

cat >"$tmp/load.py" <<'END'
import http.client, http.server, threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Set-Cookie', 'session=hush-1f2e3d')
        self.send_header('Content-Length', '7')
        self.end_headers()
        self.wfile.write(b'{"a":1}')

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection('127.0.0.1', server.server_port)
for i in range(3):
    client.putrequest('POST', '/v1/chat?api_key=hush-1f2e3d')
    for name in ('Authorization', 'x-api-key', 'Cookie'):
        client.putheader(name, ('Bearer ' if name == 'Authorization' else '') + 'hush-1f2e3d')
    client.putheader('Content-Length', '9')
    client.endheaders(b'{"b":"c"}')
    client.getresponse().read()
END
# recorded [OPTION...]: a live run of it, in $tmp/live.
recorded() {
    found=0
    "$tokaudit" capture --filter tcp -o "$tmp/live.pcapng.gz" "$@" -- python3 "$tmp/load.py" 2>"$tmp/err" || found=$?
    gzip -dc "$tmp/live.pcapng.gz" >"$tmp/live" 2>/dev/null || :
}
recorded --redact none
if [ $found = 125 ] && grep -q "no right to capture" "$tmp/err"; then
    skip "what is live: no rights here (run it as root)"
    passed
fi
[ $found = 0 ] || fail "capture ended with $found: $(cat "$tmp/err")"
grep -a -q hush-1f2e3d "$tmp/live" || fail "--redact none: the secrets are not there"
recorded
[ $found = 0 ] || fail "capture ended with $found: $(cat "$tmp/err")"
overwritten=$(sed -n 's/.* \([0-9]*\) secrets were overwritten.*/\1/p' "$tmp/err" | head -n 1)
[ "${overwritten:-0}" -ge 15 ] || # another test's traffic on lo may hold some more
    fail "what was overwritten is not said: $(cat "$tmp/err")"
! grep -a -q 'hush' "$tmp/live" || fail "a secret reached the file"
grep -a -q 'Authorization: Bearer \*\*\*\*\*\*\*\*\*\*\*' "$tmp/live" || fail "the scheme is gone"
grep -a -q '{"b":"c"}' "$tmp/live" || fail "a body changed, though only secrets were to"
grep -a -q '"redacted":"secrets"' "$tmp/live" || fail "the manifest does not say so"
recorded --redact bodies
! grep -a -q '{"b":"c"}' "$tmp/live" || fail "a text reached the file"
grep -a -q '{"b":"x"}' "$tmp/live" || fail "the body lost its form"

passed
