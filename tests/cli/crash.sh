#!/bin/sh
# crash.sh TOKAUDIT: kill -9 of running captures at random moments. What each wrote opens, verifies as unclosed, and holds
# every packet but those of the last half second before the kill, by our reader, by Wireshark's, and by one made here.
# TOKAUDIT_CRASH_ROUNDS=50 kills that many; by default 8.
set -u
. tests/support/cli.sh

if ! command -v python3 >/dev/null; then
    skip "everything: no python3, which sends the packets"
    exit 0
fi
if ! "$tokaudit" capture -p 1 --duration 1ms -o "$tmp/probe" 2>"$tmp/err"; then
    grep -q "no right to capture" "$tmp/err" || die "$(cat "$tmp/err")"
    skip "everything: no rights to capture here (run it as root)"
    exit 0
fi
command -v tshark >/dev/null || skip "the check by tshark: it is not installed"

cat >"$tmp/crash.py" <<'PY'
import json, os, random, shutil, signal, socket, struct, subprocess, sys, threading, time, zlib

tokaudit, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
AT_ONCE = 8
HALF_SECOND = 500_000_000
RECORD = 100
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
TSHARK = shutil.which("tshark")


class Generator(threading.Thread):
    """A reply without an end: a segment about each millisecond that holds its number and time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.sent = []
        self.running = True

    def run(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        out = self.server.accept()[0]
        out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        out.recv(RECORD)
        out.send(HEAD)
        client.recv(len(HEAD))
        while self.running:
            now = time.time_ns()
            out.send(struct.pack(">QQ", len(self.sent), now) + bytes(RECORD - 16))
            self.sent.append(now)
            client.recv(RECORD)
            time.sleep(0.001)

    def stall_ns(self, begin, end):
        """How long the machine kept this process, at the worst, from doing what it does each millisecond."""
        times = [t for t in list(self.sent) if begin <= t <= end]
        return max([b - a for a, b in zip(times, times[1:])] or [0])


def inflate(data):
    """All whole and cut members."""
    out = b""
    while data:
        d = zlib.decompressobj(31)
        out += d.decompress(data)
        data = d.unused_data if d.eof else b""
    return out


def numbers_in(payload):
    if payload.startswith(HEAD):
        payload = payload[len(HEAD):]
    assert len(payload) % RECORD == 0, len(payload)
    return [struct.unpack_from(">Q", payload, i)[0] for i in range(0, len(payload), RECORD)]


def packets_of(plain, port):
    """How many there are, and the numbers in those that the port sent."""
    count, numbers = 0, []
    while len(plain) >= 12:
        kind, n = struct.unpack_from("<II", plain)
        if len(plain) < n:
            break
        if kind == 6:
            caplen, = struct.unpack_from("<I", plain, 20)
            packet = plain[28:28 + caplen]
            assert packet[14:15] == b"\x45" and packet[23] == 6, packet
            count += 1
            if struct.unpack_from(">H", packet, 34)[0] == port:
                numbers += numbers_in(packet[34 + (packet[46] >> 4) * 4:])
        plain = plain[n:]
    return count, numbers


def tshark_numbers(path, port):
    r = subprocess.run([TSHARK, "-r", path, "-Y", "tcp.srcport == %d && tcp.len > 0" % port, "-T", "fields", "-e",
                        "tcp.payload"], capture_output=True, text=True)
    return [n for line in r.stdout.split() for n in numbers_in(bytes.fromhex(line.replace(":", "")))]


def check(path, generator, began, killed):
    allowed = HALF_SECOND + generator.stall_ns(began, killed)
    packets, numbers = packets_of(inflate(open(path, "rb").read()), generator.port)
    must = [i for i, t in enumerate(generator.sent) if began < t < killed - allowed]
    assert not must or numbers, "nothing was kept"
    if numbers:
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "packets are missing in between: %s" % [
            (a, b) for a, b in zip(numbers, numbers[1:]) if b != a + 1][:9]
        assert not must or numbers[0] <= must[0], "the first packets are missing"
    after = next((t for t in generator.sent[numbers[-1] + 1:] if t < killed), killed) if numbers else began
    lost_ms = (killed - after) / 1e6
    assert not must or numbers[-1] >= must[-1], "the last %.0f ms before the kill are missing; %.0f are allowed" % (
        lost_ms, allowed / 1e6)
    r = subprocess.run([tokaudit, "verify", path], capture_output=True, text=True)
    assert r.returncode == 1 and ": UNCLOSED: " in r.stdout, r
    r = subprocess.run([tokaudit, "analyze", "--format", "json", path], capture_output=True, text=True)
    assert r.returncode == 0, r
    trace = json.loads(r.stdout)["traces"][0]
    assert trace["packets"] == packets, (trace, packets)
    if TSHARK:
        assert tshark_numbers(path, generator.port) == numbers, "tshark reads other packets"
    return lost_ms, len(numbers)


def batch(n, seed):
    generator = Generator()
    captures = []
    for i in range(n):
        path = os.path.join(folder, "killed-%d" % i)
        p = subprocess.Popen([tokaudit, "capture", "-p", str(generator.port), "--buffer", "8MiB",
                              "-o", path], stderr=subprocess.PIPE, text=True)
        captures.append([path, p, 0])
    for c in captures:
        line = c[1].stderr.readline()
        assert "capturing" in line, line
    began = time.time_ns()
    generator.start()
    start = time.monotonic()
    for c, wait in zip(captures, sorted(seed.uniform(0, 2.0) for _ in captures)):
        time.sleep(max(0, start + wait - time.monotonic()))
        c[2] = time.time_ns()
        c[1].send_signal(signal.SIGKILL)
        assert c[1].wait() == -signal.SIGKILL
        c[1].stderr.close()
    generator.running = False
    generator.join()
    return [check(path, generator, began, killed) for path, p, killed in captures]


number = random.SystemRandom().randrange(1 << 32)
print("crash.sh: seed %d" % number)
seed, results = random.Random(number), []
while len(results) < rounds:
    results += batch(min(AT_ONCE, rounds - len(results)), seed)
lost = sorted(ms for ms, n in results)
print("crash.sh: %d captures killed; lost before the kill: median %.0f ms, at most %.0f ms; %d packets kept" %
      (len(results), lost[len(lost) // 2], lost[-1], sum(n for ms, n in results)))
PY
python3 "$tmp/crash.py" "$tokaudit" "$tmp" "${TOKAUDIT_CRASH_ROUNDS:-8}" || die "see above"
passed
