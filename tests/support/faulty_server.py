"""A server that misbehaves as it is asked to.

    faulty_server.py READY [UPSTREAM_A UPSTREAM_B]

Writes a JSON object of its ports on 127.0.0.1 to READY when it listens, and runs until it is killed. A fault that can wait
until the request is read is chosen by the request's "model" (FAULTS below), whatever its path; the others have ports of
their own:

    http        by model
    deaf        takes connections, never reads
    hangs-up    closes each connection at once, but for the first, which is there to see whether the server is
    resets      … with a reset
    full        takes one connection; one or two more wait in vain, and others get no answer at all
    floods      takes one connection; then heads without end for all
    leaves      answers, by model; after "leave" it listens no more
    tls         passes bytes on: the first two connections to UPSTREAM_A, then one to UPSTREAM_B, then FAULTS_OF_TLS in their
                order, then A again
"""
import fcntl
import json
import os
import re
import socket
import struct
import sys
import termios
import threading
import time

LISTENERS, CHUNK_S = {}, 0.002


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text, **more):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": more.pop("finish", None)}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
EVENTS = [event(t) for t in ("a", " b", " c", " d")] + [event("", finish="stop"), event("", usage=USAGE), b"data: [DONE]\n\n"]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DOCUMENT = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "a b c d"}, "finish_reason": "stop"}],
                       "usage": USAGE}).encode()


def reset(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


def rest_unread(c):
    """The next request is there, and stays where it is."""
    c.recv(1, socket.MSG_PEEK)


def status(line, body=b"", fields=b""):
    return b"HTTP/1.1 %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (line, fields, len(body), body)


ERROR = b'{"error":{"message":"no","type":"server_error"}}'


def hold(c):
    time.sleep(3600)


def answer(c):
    """The right answer, as a stream."""
    c.sendall(HEAD)
    for e in EVENTS:
        time.sleep(CHUNK_S)
        c.sendall(chunk(e))
    c.sendall(b"0\r\n\r\n")


def half(c):
    c.sendall(HEAD)
    for e in EVENTS[:3]:
        time.sleep(CHUNK_S)
        c.sendall(chunk(e))


def sends(*pieces, then=socket.socket.close):
    """Those bytes, and then; None: the connection goes on."""
    def fault(c):
        for p in pieces:
            c.sendall(p)
            time.sleep(CHUNK_S)
        return then(c) if then else None
    return fault


def half_then(then):
    def fault(c):
        half(c)
        return then(c)
    return fault


def gives_up_idle(c):
    """An answer, and, on a connection where nothing more comes, what some servers say before they close it."""
    answer(c)
    time.sleep(0.05)
    c.sendall(status(b"408 Request Timeout", ERROR, b"Connection: close\r\n"))
    c.close()


def next_then(then):
    """A whole answer, and a connection that is kept, until the next request goes out on it."""
    def fault(c):
        answer(c)
        rest_unread(c)
        return then(c)
    return fault


def read_then_close(c):
    c.settimeout(0.05)
    try:
        while c.recv(65536):
            pass
    except TimeoutError:
        pass
    c.close()


def lose_much(c):
    """More than a reader takes at once, all of which has come over when the reset does."""
    c.sendall(HEAD)
    for _ in range(40):
        c.sendall(chunk(event("x" * 65000)))
    while struct.unpack("i", fcntl.ioctl(c, termios.TIOCOUTQ, b"1234"))[0] > 0:
        time.sleep(CHUNK_S)
    reset(c)


def bulk(c):
    """4 MB that do not compress."""
    c.sendall(HEAD)
    for _ in range(64):
        c.sendall(chunk(event(os.urandom(32768).hex())))
        time.sleep(0.01)
    c.sendall(b"0\r\n\r\n")


def slow_write(c):
    for byte in HEAD + b"".join(map(chunk, EVENTS)) + b"0\r\n\r\n":
        c.sendall(bytes([byte]))
        time.sleep(0.0002)


def flood(c):
    """A head without an end."""
    c.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        c.sendall(b"X-More: and more\r\n" * 1000)


def flood_at_once(c):
    try:
        flood(c)
    except OSError:
        pass


def interim_flood(c):
    while True:
        c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        time.sleep(0.01)


def leave(c):
    listener = LISTENERS["leaves"]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    answer(c)


REDIRECT = status(b"307 Temporary Redirect", b"", b"Location: /v1/elsewhere\r\n")
BIG = b"HTTP/1.1 200 OK\r\nX-Big: " + b"b" * 60000 + b"\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"b" * 60000) for i in range(4))
GARBAGE = bytes((i * 197 + (i >> 8) * 31 + 128) & 0xFF for i in range(4096))

FAULTS = {
    "ok": answer,
    "document": sends(status(b"200 OK", DOCUMENT), then=None),
    "interim": sends(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", then=answer),
    "slow": slow_write,
    "bulk": bulk,
    "reset-before": sends(then=reset),
    "reset-mid": half_then(reset),
    "reset-after-much": lose_much,
    "silent": hold,
    "half": half_then(hold),
    "garbage": sends(GARBAGE),
    "garbage-held": sends(b"\0\x80 no HTTP, and no line end", then=hold),
    "garbage-in-chunks": sends(HEAD, chunk(EVENTS[0]), b"zz\r\n\xff\xfe\r\n", then=hold),
    "bad-length": sends(b"HTTP/1.1 200 OK\r\nContent-Length: 12x\r\n\r\n" + DOCUMENT),
    "close-before": sends(),
    "close-in-head": sends(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "close-in-body": sends(status(b"200 OK", DOCUMENT)[:-20]),
    "close-in-chunk": sends(HEAD, chunk(EVENTS[0]), chunk(EVENTS[1])[:-9]),
    "close-between": half_then(socket.socket.close),
    "400": sends(status(b"400 Bad Request", ERROR), then=None),
    "401-bare": sends(status(b"401 Unauthorized"), then=None),
    "429": sends(status(b"429 Too Many Requests", ERROR, b"Retry-After: 7\r\n"), then=None),
    "500-bare": sends(status(b"500 Internal Server Error"), then=None),
    "503": sends(status(b"503 Service Unavailable", ERROR, b"Retry-After: 1\r\nConnection: close\r\n")),
    "503-cut": sends(status(b"503 Service Unavailable", ERROR)[:-9]),
    "204": sends(b"HTTP/1.1 204 No Content\r\n\r\n", then=None),
    "redirect": sends(REDIRECT, then=None),
    "redirect-away": sends(REDIRECT.replace(b"/v1/elsewhere", b"http://192.0.2.1/")),
    "big-head": sends(BIG + b"Content-Length: 2\r\n\r\n{}"),
    "flood": flood,
    "interim-flood": interim_flood,
    "keeps-then-closes": next_then(read_then_close),
    "keeps-then-resets": next_then(reset),
    "keeps-then-drops": next_then(socket.socket.close),  # with unread bytes: the kernel makes it a reset
    "idle-408": gives_up_idle,
    "twice": sends(status(b"200 OK", DOCUMENT) * 2, then=None),
    "leave": leave,
    # Of these the body is not read first.
    "early-413": sends(status(b"413 Content Too Large", ERROR, b"Connection: close\r\n"), then=read_then_close),
    "early-413-drop": sends(status(b"413 Content Too Large", ERROR, b"Connection: close\r\n")),
    "early-reset": sends(then=reset),
    "slow-read": answer,
}
EARLY = {"early-413", "early-413-drop", "early-reset"}


def read_head(c, data):
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more:
            return None
        data += more
    return data


def model_in(data):
    found = re.search(rb'"model": ?"([^"]*)"', data)
    return found and found[1].decode()


def read_request(c, data):
    """(model, bytes behind the request); the model comes first in the body, and tells whether the rest of it is read."""
    data = read_head(c, data)
    if data is None:
        return None, b""
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    n = int(length[1]) if length else 0
    while len(body) < n:
        model = model_in(body)
        if model in EARLY:
            return model, b""
        if model == "slow-read":
            time.sleep(0.001)
        more = c.recv(4096 if model == "slow-read" else 1 << 20)
        if not more:
            return None, b""
        body += more
    return model_in(body[:n]) or "document", body[n:]


def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    try:
        while c.fileno() >= 0:
            model, data = read_request(c, data)
            if model is None:
                break
            FAULTS[model](c)
    except OSError:
        pass # the client went
    c.close()


def relay(a, b):
    def pump(x, y):
        try:
            while data := x.recv(65536):
                y.sendall(data)
            y.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    threading.Thread(target=pump, args=(b, a), daemon=True).start()
    pump(a, b)


def hello_then(then):
    def fault(c):
        c.recv(65536)
        then(c)
    return fault


FAULTS_OF_TLS = [hello_then(socket.socket.close), hello_then(reset), hello_then(sends(GARBAGE)), hold]


def tls(upstreams):
    count = [0]

    def serve_tls(c):
        n = count[0]
        count[0] += 1
        if 3 <= n < 3 + len(FAULTS_OF_TLS):
            try:
                FAULTS_OF_TLS[n - 3](c)
            except OSError:
                pass
        else:
            relay(c, socket.create_connection(("127.0.0.1", upstreams[1 if n == 2 else 0])))
    return serve_tls


def but_for_the_first(fault):
    connections = []

    def serve_one(c):
        connections.append(c)
        (hold if len(connections) == 1 else fault)(c)
    return serve_one


def listen(name, serve_one):
    listener = socket.create_server(("127.0.0.1", 0), backlog=1 if name == "full" else 512)
    if name == "deaf":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def run():
        for _ in range(1 if name == "full" else sys.maxsize):
            try:
                c, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve_one, args=(c,), daemon=True).start()
    LISTENERS[name] = listener
    threading.Thread(target=run, daemon=True).start()


def main():
    threading.stack_size(256 << 10)
    for name, serve_one in (("http", serve), ("deaf", hold), ("leaves", serve), ("full", hold),
                            ("hangs-up", but_for_the_first(socket.socket.close)), ("resets", but_for_the_first(reset)),
                            ("floods", but_for_the_first(flood_at_once)), ("tls", tls([int(p) for p in sys.argv[2:4]]))):
        listen(name, serve_one)
    with open(sys.argv[1] + ".new", "w") as f:
        json.dump({name: l.getsockname()[1] for name, l in LISTENERS.items()}, f)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
