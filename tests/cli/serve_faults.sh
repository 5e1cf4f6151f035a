#!/bin/sh
# serve_faults.sh TOKAUDIT: clients that misbehave towards a simulated server and one that plays a trace: whatever they do, those
# who behave get their answers, memory stays bounded, and the server ends when it is told to.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }
# Freed memory that the sanitizer keeps back is none of the server's.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1
export ASAN_OPTIONS

# The trace to be played: an answer, a document, and 4 MB.
python3 "$support/faulty_server.py" "$tmp/ports" 2>"$tmp/server.err" &
pids=$!
until [ -s "$tmp/ports" ]; do
    kill -0 "$pids" 2>/dev/null || die "no faulty server: $(cat "$tmp/server.err")"
    sleep 0.05
done
port=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["http"])' "$tmp/ports")
cat >"$tmp/plan.py" <<'PY'
import json
for model, tokens in (("ok", 5), ("bulk", 200)):
    body = json.dumps({"model": model, "stream": True, "max_tokens": tokens, "messages": [{"role": "user", "content": "x"}]})
    print(json.dumps({"path": "/v1/chat/completions", "headers": [["Content-Type", "application/json"]], "body": body}))
print(json.dumps({"method": "GET", "path": "/v1/models"}))
PY
python3 "$tmp/plan.py" >"$tmp/plan"
status 0 "$tokaudit" replay "$tmp/plan" --target "http://127.0.0.1:$port" -o "$tmp/run.pcapng.gz"

cat >"$tmp/clients.py" <<'PY'
"""clients.py PORT PID: every misbehaviour, one after the other, and after each a request that must be answered."""
import json, os, re, socket, struct, sys, threading, time
port, pid = int(sys.argv[1]), int(sys.argv[2])
GROWTH_MIB = 60


def connect(receive_bytes=None):
    s = socket.socket()
    if receive_bytes:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    s.settimeout(30)
    s.connect(("127.0.0.1", port))
    return s


def chat(model="ok"):
    tokens = 200 if model == "bulk" else 5
    body = json.dumps({"model": model, "stream": True, "max_tokens": tokens,
                       "messages": [{"role": "user", "content": "x"}]}).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body), body)


MODELS = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"


def read_until(s, end):
    data = b""
    while end not in data:
        more = s.recv(65536)
        assert more, data[-300:]
        data += more
    return data


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def until_closed(s):
    data = b""
    try:
        while more := s.recv(1 << 20):
            data += more
    except ConnectionError:
        pass
    return data


def memory_mib():
    status = open(f"/proc/{pid}/status").read() if os.path.exists(f"/proc/{pid}/status") else "VmRSS: 0"
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024


def says_nothing():
    return [connect() for _ in range(50)]


def half_a_head():
    held = []
    for end in (b"", b"P", b"POST /v1/chat/completions HT", b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Le"):
        for then in (held.append, socket.socket.close, reset):
            s = connect()
            s.sendall(end)
            then(s)
    return held


def slow_body():
    s = connect()
    request = chat()
    s.sendall(request[:-60])
    for byte in request[-60:-1]:
        s.sendall(bytes([byte]))
        time.sleep(0.002)
    check() # meanwhile
    s.sendall(request[-1:])
    assert b"[DONE]" in read_until(s, b"0\r\n\r\n")


def a_body_that_never_ends():
    held = [connect()]
    held[0].sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000000000000\r\n\r\n{")
    s = connect()
    s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    try:
        for _ in range(70): # more than is kept of one
            s.sendall(piece)
        s.sendall(b"0\r\n\r\n")
        assert b" 413 " in read_until(s, b"\r\n\r\n")
    except ConnectionError:
        pass
    return held


def ten_thousand_pipelined():
    s = connect()
    n, data = 10000, [0]

    def read():
        tail = b""
        while data[0] < n:
            more = s.recv(1 << 20)
            assert more, data
            data[0] += (tail + more).count(b"HTTP/1.1 200 OK\r\n")
            tail = (tail + more)[-16:]
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    s.sendall(MODELS * n)
    reader.join(30)
    assert data[0] == n, data


def pipelined_and_never_read():
    s = connect(4096)
    s.settimeout(2)
    try:
        for _ in range(2000):
            s.sendall(MODELS * 1000)
    except OSError: # it takes no more, or has hung up
        pass
    return [s]


def goes_in_the_middle():
    for then in (socket.socket.close, reset, lambda s: (s.shutdown(socket.SHUT_WR), until_closed(s), s.close())):
        for model in ("ok", "bulk"):
            s = connect(4096)
            s.sendall(chat(model))
            read_until(s, b"data: ")
            then(s)
        s = connect() # before the first byte
        s.sendall(chat("bulk"))
        then(s)
        s = connect() # with others behind
        s.sendall(chat("bulk") * 20)
        read_until(s, b"data: ")
        then(s)


def never_reads():
    held = []
    for _ in range(5):
        s = connect(4096)
        s.sendall(chat("bulk"))
        held.append(s)
    time.sleep(0.3)
    return held


def no_http():
    for bad in (b"\0\xff" * 5000 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
                b"GET / HTTP/1.1\r\nX: " + b"y" * 300000 + b"\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000 + b"\r\n",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
                b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"):
        s = connect()
        try:
            s.sendall(bad)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        assert b" 200 " not in until_closed(s).split(b"\r\n")[0], bad[:40]


def floods():
    """Three that go on with what is no HTTP, whatever they are told."""
    over = time.monotonic() + 1.5

    def flood():
        while time.monotonic() < over:
            s = connect()
            try:
                while time.monotonic() < over:
                    s.sendall(b"no HTTP at all\r\n\r\n" * 10000)
            except OSError:
                pass
            s.close()
    threads = [threading.Thread(target=flood, daemon=True) for _ in range(3)]
    for t in threads:
        t.start()
    while time.monotonic() < over:
        check()
    for t in threads:
        t.join()


def more_than_there_are_descriptors():
    held = [connect() for _ in range(150)]
    time.sleep(0.2)
    for s in held:
        s.close()
    time.sleep(0.2)


def check():
    s = connect()
    s.sendall(chat() + MODELS)
    assert b"[DONE]" in read_until(s, b"0\r\n\r\n")
    s.sendall(MODELS)
    read_until(s, b"}")
    s.close()


check()
before = memory_mib()
held = []
for misbehave in (says_nothing, half_a_head, slow_body, a_body_that_never_ends, ten_thousand_pipelined, pipelined_and_never_read,
                  goes_in_the_middle, never_reads, no_http, floods):
    started = time.monotonic()
    held += misbehave() or []
    check()
    now = memory_mib()
    assert now < before + GROWTH_MIB, (misbehave.__name__, before, now)
    print("%-28s %5.1f s  %4.0f MiB" % (misbehave.__name__, time.monotonic() - started, now), flush=True)
for s in held:
    s.close()
more_than_there_are_descriptors()
check()
PY

# A hundred held connections fit, and not a hundred and fifty.
printf '#!/bin/sh\nulimit -n 128\nexec "%s" "$@"\n' "$tokaudit" >"$tmp/limited"
chmod +x "$tmp/limited"

misbehave() { # NAME ARGS...: towards that server
    kind=$1
    tokaudit=$tmp/limited
    serve "$@"
    tokaudit=$whole
    timeout 120 python3 "$tmp/clients.py" "$port" "$pid" >"$tmp/clients.out" 2>"$tmp/clients.err" ||
        fail "$kind: $(cat "$tmp/clients.err"; tail -n 5 "$tmp/$kind.err")"
    cat "$tmp/clients.out"
    kill -TERM "$pid" 2>/dev/null || fail "$kind: it is not there any more: $(cat "$tmp/$kind.err")"
    found=0
    wait "$pid" || found=$?
    [ $found -le 1 ] || fail "$kind: status $found: $(cat "$tmp/$kind.err")"
    ! grep -q -e Sanitizer -e 'runtime error' "$tmp/$kind.err" || fail "$kind: $(cat "$tmp/$kind.err")"
}
whole=$tokaudit
misbehave profile --profile ideal
misbehave trace "$tmp/run.pcapng.gz" --as-fast-as-possible
passed
