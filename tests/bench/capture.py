"""tokaudit capture against dumpcap, in turns in one run: a burst over loopback, as few large and as many small segments.

    capture.py TOKAUDIT BURST FOLDER [MEBIBYTES]     (default 64; needs the right to capture, and Linux's /proc)

Prints the tables of BENCHMARKS.md. What a recorder lost is told by its file alone: the bytes of the server's stream that
are not in it, by the sequence numbers of its packets. CPU is that of the recorder's processes from their start to
their end; "to the queue" is tokaudit's recording thread without the one that compresses.
"""
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import wire

ROUNDS = 5
READY_S, SETTLED_S = 0.4, 1.0  # a recorder's start; until what waits in the kernel and in queues is written


def stream_of(path, port):
    """Packets in the file, and bytes of what the server at port sent that are in it."""
    n, pieces, base = 0, [], None
    for p in wire.packets(path):
        n += 1
        if p is None or p.source != port or not p.wire_n:
            continue
        base = p.seq if base is None else base
        off = (p.seq - base + (1 << 31)) % (1 << 32) - (1 << 31)
        pieces.append((off, off + len(p.data)))
    seen, end = 0, -(1 << 40)
    for a, b in sorted(pieces):
        seen += max(0, b - max(a, end))
        end = max(end, b)
    return n, seen


def thread_cpu(pid):
    """Seconds of the process's first thread, which is the one that records."""
    with open(f"/proc/{pid}/task/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def cpu_of(process):
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def stated_drops(text):
    """Of what the recorder said at its end."""
    found = re.search(r"([\d,.]+k?) DROPPED|dropped[^:]*: \d+/(\d+)", text)
    return (found.group(1) or found.group(2)) if found else "0"


def record(name, command, path, burst, zipped=False):
    """One round: (packets, missing bytes, drops stated, CPU to the queue or None, CPU in all)."""
    said = open(path + ".said", "w+")
    if zipped:
        recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        gzip1 = subprocess.Popen(["gzip", "-1"], stdin=recorder.stdout, stdout=open(path, "wb"))
        recorder.stdout.close()
    else:
        recorder = subprocess.Popen(command, stderr=said)
    time.sleep(READY_S)
    if recorder.poll() is not None:
        sys.exit(f"{name} ended: {open(path + '.said').read()}")
    port, sent, seconds = subprocess.run(burst, check=True, capture_output=True, text=True).stdout.split()
    time.sleep(SETTLED_S)
    to_queue = thread_cpu(recorder.pid) if name.startswith("tokaudit") else None
    recorder.send_signal(signal.SIGINT)
    cpu = cpu_of(recorder) + (cpu_of(gzip1) if zipped else 0)
    said.seek(0)
    n, seen = stream_of(path, int(port))
    return n, int(sent) - seen, stated_drops(said.read()), to_queue, cpu, float(seconds), os.path.getsize(path)


def show(shape, mebibytes, found):
    print(f"\n{mebibytes} MiB, {shape}\n")
    print("| recorder | packets | lost of the stream | drops it stated | CPU s to the queue | CPU s in all | "
          "CPU ns a byte kept | burst took s | file MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, runs in found.items():
        def middle(i):
            return statistics.median(r[i] for r in runs)
        lost = [r[1] / (mebibytes << 20) * 100 for r in runs]
        loss = "none in any round" if not any(lost) else f"{statistics.median(lost):.1f} % (worst {max(lost):.1f} %)"
        queue = "" if runs[0][3] is None else f"{middle(3):.3f}"
        each = statistics.median(r[4] / ((mebibytes << 20) - r[1]) for r in runs) * 1e9
        print(f"| {name} | {middle(0):.0f} | {loss} | {runs[-1][2]} | {queue} | {middle(4):.3f} | {each:.1f} | "
              f"{middle(5):.2f} | {middle(6) / 1e6:.1f} |")


def main():
    tokaudit, burst, folder = sys.argv[1:4]
    mebibytes = int(sys.argv[4]) if len(sys.argv) > 4 else 64
    os.makedirs(folder, exist_ok=True)
    ours, theirs, piped = (os.path.join(folder, f) for f in ("capture.pcapng.gz", "dumpcap.pcapng", "dumpcap.pcapng.gz"))
    dumpcap = ["dumpcap", "-q", "-i", "lo", "-f", "tcp"]
    recorders = {
        "tokaudit capture": ([tokaudit, "capture", "-i", "lo", "-o", ours], ours, False),
        "tokaudit capture --redact none": ([tokaudit, "capture", "-i", "lo", "--redact", "none", "-o", ours], ours, False),
    }
    if shutil.which("dumpcap"):
        recorders |= {
            "dumpcap": (dumpcap + ["-w", theirs], theirs, False),
            "dumpcap -B 64": (dumpcap + ["-B", "64", "-w", theirs], theirs, False),
            "dumpcap -B 64, gzip -1": (dumpcap + ["-B", "64", "-w", "-"], piped, True),
        }
    else:
        print("not installed: dumpcap")
    for shape, said in ("bulk", "64 KiB a write"), ("events", "one event a segment"):
        found = {name: [] for name in recorders}
        for _ in range(ROUNDS):
            for name, (command, path, zipped) in recorders.items():
                found[name].append(record(name, command, path, [burst, shape, str(mebibytes)], zipped))
        show(said, mebibytes, found)
    for path in glob.glob(os.path.join(folder, "*cap*.pcapng*")):
        os.unlink(path)


main()
