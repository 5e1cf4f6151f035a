"""HTTP/1.1 messages made up by chance, with what they mean: Exchange holds the bytes and the truth about them."""
import gzip
import hashlib
import json
import zlib


def hashed(data):
    return hashlib.sha256(data).hexdigest()


class Exchange:
    """request and response: pieces as their sender writes them. first: where the final response begins in the response."""

    def __init__(self):
        self.request, self.response = [], []
        self.first = self.status = self.interim = 0
        self.body = self.request_body = b""   # without chunks and codings
        self.wire_body = 0                    # response body bytes without chunks, coded
        self.stream, self.events = "none", []  # (kind, type, data)
        self.until_close = False
        self.counted = [(0, 0), (0, 0)]        # by side: where the body is, if its length is known
        self.traits = set()

    def events_hash(self):
        return hashed(b"".join(b"%s %s %d\n%s\n" % (kind, name, len(data), data) for kind, name, data in self.events))


def word(random, n):
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=n))


def document(random):
    """(Content-Type, bytes); none looks like an event stream."""
    kind = random.choice(("json", "text", "binary", "empty", "large"))
    if kind == "json":
        body = json.dumps({"id": word(random, 8), "choices": [{"text": word(random, random.randrange(300))}]}).encode()
        return "application/json", body
    if kind == "text":
        return "text/html; charset=utf-8", " ".join(word(random, 6) for _ in range(random.randrange(1, 200))).encode()
    if kind == "binary":
        return "application/octet-stream", random.randbytes(random.randrange(1, 2000))
    if kind == "large":
        return "application/octet-stream", random.randbytes(3000) * random.randrange(5, 30)
    return "application/json", b""


def event_stream(random):
    """Pieces of a text/event-stream and its events, with line ends of all three kinds."""
    eol = random.choice(("\n", "\n", "\r\n", "\r", "mixed"))
    pieces, events = [], []

    def line(text):
        # A CR that ends one line and an LF that ends the next, empty, one would be one line end.
        end = random.choice(("\n", "\r\n")) if eol == "mixed" else eol
        return text + end

    for i in range(random.randrange(1, 40)):
        text = ""
        if random.random() < 0.1:
            text += line(": ping %d" % i)
            events.append((b"comment", b"message", b"ping %d" % i))
        name = ""
        if random.random() < 0.2:
            name = random.choice(("delta", "content_block_delta", "error"))
            text += line("event: " + name)
        if random.random() < 0.1:
            text += line(random.choice(("id: %d" % i, "retry: 100", "unknown", "id")))
        lines = ["[DONE]"] if random.random() < 0.05 else \
            [json.dumps({"n": i, "delta": word(random, random.randrange(30)) + random.choice(("", "é", "漢字"))},
                        ensure_ascii=False) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        for data in lines:
            text += line("data:" + random.choice(("", " ")) + data)
        text += line("")
        events.append((b"data", (name or "message").encode(), "\n".join(lines).encode()))
        pieces.append(text.encode())
    if random.random() < 0.1:
        pieces[0] = b"\xef\xbb\xbf" + pieces[0]
    return pieces, events


def line_stream(random):
    pieces, events = [], []
    for i in range(random.randrange(1, 30)):
        data = json.dumps({"n": i, "response": word(random, random.randrange(40))}).encode()
        pieces.append(data + random.choice((b"\n", b"\n", b"\r\n", b" \n", b"\n\n")))
        events.append((b"data", b"message", data))
    if random.random() < 0.3:
        pieces[-1] = events[-1][2]
    return pieces, events


def coded(random, coding, pieces):
    """Each piece flushed, so that a receiver could decode it at once; or all in one."""
    together = random.random() < 0.3
    if together:
        pieces = [b"".join(pieces)]
    if coding == "gzip" and together:
        return [gzip.compress(pieces[0], mtime=0)]
    bits = {"gzip": 31, "x-gzip": 31, "deflate": 15, "raw": -15}[coding]
    z = zlib.compressobj(6, zlib.DEFLATED, bits)
    out = [z.compress(p) + z.flush(zlib.Z_SYNC_FLUSH) for p in pieces]
    return out[:-1] + [out[-1] + z.flush()]


def chunk(random, data):
    size = "%x" % len(data)
    if random.random() < 0.2:
        size = random.choice(("0", "000")) + size.upper()
    return (size + random.choice(("", "", "", ";a=b", ';q="x;y"', ";name")) + "\r\n").encode() + data + b"\r\n"


def chunked(random, pieces):
    """As one chunk a piece, or cut without regard to pieces, each chunk then a piece."""
    if random.random() < 0.4:
        whole, pieces = b"".join(pieces), []
        while whole:
            n = random.randrange(1, random.choice((4, 300, 5000)))
            pieces.append(whole[:n])
            whole = whole[n:]
        if len(pieces) > 600:
            pieces = [b"".join(pieces[:-600])] + pieces[-600:]
    out = [chunk(random, p) for p in pieces if p]
    end = random.choice(("0", "0", "000", "0;last")) + "\r\n"
    trailer = random.choice(("", "", "", "X-Checksum: %s\r\n" % word(random, 8)))
    return out + [(end + trailer + "\r\n").encode()]


def fields(random):
    return "".join("X-%s: %s\r\n" % (word(random, random.randrange(1, 12)), word(random, random.randrange(1, 50)))
                   for _ in range(random.randrange(6)))


def make_request(random, x):
    x.method = random.choice(("GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE"))
    x.target = random.choice(("/", "/v1/chat/completions", "/%s?q=%s&r=%%20" % (word(random, 8), word(random, 5)),
                              "/" + word(random, 1500)))
    head = "%s %s HTTP/1.1\r\nHost: h:8000\r\n%s" % (x.method, x.target, fields(random))
    body = []
    if x.method in ("POST", "PUT"):
        kind, x.request_body = document(random)
        head += "Content-Type: %s\r\n" % kind
        if random.random() < 0.3:
            head += "Transfer-Encoding: chunked\r\n"
            body = chunked(random, [x.request_body])
        else:
            head += "Content-Length: %d\r\n" % len(x.request_body)
            body = [x.request_body]
    x.request = [(head + "\r\n").encode()] + body


def response_body(random, x):
    """(field lines, pieces without chunks)"""
    kind = random.choice(("document", "document", "sse", "sse", "ndjson"))
    if kind == "sse":
        x.stream = "sse"
        pieces, x.events = event_stream(random)
        lines = "Content-Type: text/event-stream%s\r\n" % random.choice(("", "; charset=utf-8"))
    elif kind == "ndjson":
        x.stream = "ndjson"
        pieces, x.events = line_stream(random)
        lines = "Content-Type: application/x-ndjson\r\n"
    else:
        name, body = document(random)
        pieces, lines = [body], "Content-Type: %s\r\n" % name
    x.body = b"".join(pieces)
    if random.random() < 0.25:
        coding = random.choice(("gzip", "gzip", "x-gzip", "deflate", "raw"))
        x.traits.add(coding)
        pieces = coded(random, coding, pieces)
        lines += "Content-Encoding: %s\r\n" % ("deflate" if coding == "raw" else coding)
    return lines, pieces


def make_response(random, x, last):
    start = b""
    if random.random() < 0.15:
        for _ in range(random.randrange(1, 3)):
            start += random.choice((b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"))
            x.interim += 1
    x.first = len(start)
    x.status, reason = random.choice(((200, " OK"), (200, " OK"), (200, " OK"), (201, " Created"), (204, " No Content"),
                                      (304, " Not Modified"), (404, " Not Found"), (500, " Oh no"), (200, " ")))
    head = "HTTP/1.1 %d%s\r\n%s" % (x.status, reason, fields(random))
    body = []
    if x.status in (204, 304):
        pass
    elif x.method == "HEAD":
        head += random.choice(("", "Content-Length: 500\r\n"))
    else:
        lines, pieces = response_body(random, x)
        head += lines
        x.wire_body = sum(map(len, pieces))
        framing = random.choice(("length", "chunked", "chunked") + (("close",) if last else ()))
        if framing == "length":
            head += "Content-Length: %d\r\n" % x.wire_body
            body = pieces
        elif framing == "chunked":
            head += "Transfer-Encoding: chunked\r\n"
            body = chunked(random, pieces)
        else:
            x.until_close = True
            head += "Connection: close\r\n"
            body = pieces
        x.traits.add(framing)
    x.response = [start + (head + "\r\n").encode()] + body


def exchanges(random):
    out = []
    n = random.randrange(1, 6)
    for i in range(n):
        x = Exchange()
        make_request(random, x)
        make_response(random, x, i == n - 1)
        out.append(x)
    return out
