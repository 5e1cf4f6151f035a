"""Does a packet cost more when more connections are open? The same number of packets over 100, 1,000 and 10,000
connections, all open at once and taking turns packet by packet.

    connections.py TOKAUDIT MAKE_SSE_TRACE FOLDER [MEGABYTES]     (default 200)

Prints the table of BENCHMARKS.md: `analyze`, and `capture --read`, which does the bookkeeping of a live capture
(following each connection to redact secrets, and writing).
"""
import os
import re
import statistics
import subprocess
import sys

ROUNDS = 3
CONNECTIONS = (100, 1000, 10000, 60000)
EVENTS = 50  # a reply: so each of 10,000 connections sees a whole exchange


def measure(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status != 0:
        sys.exit(f"{command}: status {status}: {said}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, said


def packets_of(tokaudit, trace):
    said = subprocess.run([tokaudit, "verify", trace], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"([\d,]+) packets", said).group(1).replace(",", ""))


def main():
    tokaudit, maker, folder = sys.argv[1:4]
    megabytes = sys.argv[4] if len(sys.argv) > 4 else "200"
    os.makedirs(folder, exist_ok=True)
    verbs = {
        "analyze": lambda trace: [tokaudit, "analyze", trace],
        "capture --read": lambda trace: [tokaudit, "capture", "--read", trace, "-o", trace + ".copy"],
    }
    traces, samples = {}, {}
    for n in CONNECTIONS:
        traces[n] = os.path.join(folder, f"connections-{n}-{megabytes}.pcapng.gz")
        if not os.path.exists(traces[n]):
            subprocess.run([maker, traces[n], megabytes, str(n), str(EVENTS)], check=True)
    for _ in range(ROUNDS):
        for verb, command in verbs.items():
            for n in CONNECTIONS:
                samples.setdefault((verb, n), []).append(measure(command(traces[n])))
    print(f"\n{megabytes} MB of packets, {EVENTS} events a reply\n")
    print("| command | connections open | packets | CPU s | CPU ns a packet | against 100 | peak MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for verb in verbs:
        first = None
        for n in CONNECTIONS:
            cpu = statistics.median(s[0] for s in samples[verb, n])
            packets = packets_of(tokaudit, traces[n])
            each = cpu / packets * 1e9
            first = first or each
            peak = statistics.median(s[1] for s in samples[verb, n]) / 1024
            print(f"| {verb} | {n} | {packets} | {cpu:.2f} | {each:.0f} | {each / first:.2f} | {peak:.0f} |")
    for n in CONNECTIONS:
        os.unlink(traces[n] + ".copy")


main()
