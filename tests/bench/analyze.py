"""tokaudit analyze against its peers, in turns in one run: zcat to nothing, tshark's HTTP dissection, tcpflow -a.

    analyze.py TOKAUDIT MAKE_SSE_TRACE FOLDER [MEGABYTES...]     (default 200 2000)

Prints the tables of BENCHMARKS.md. Peers that are not installed are left out and named. tshark and tcpflow are run on
the smallest size alone.
"""
import os
import shutil
import statistics
import subprocess
import sys

ROUNDS = 5


def measure(command, shell=False):
    """Wall and CPU seconds and peak KiB of one run, by GNU time's rusage of the child."""
    started = os.times()
    process = subprocess.Popen(command, shell=shell, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return os.times().elapsed - started.elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def in_turns(commands, rounds):
    samples = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, shell) in commands.items():
            samples[name].append(measure(command, shell))
    return {name: [statistics.median(column) for column in zip(*runs)] for name, runs in samples.items()}


def show(megabytes, found, reference):
    print(f"\n{megabytes} MB of packets\n")
    print("| command | wall s | CPU s | peak MiB | wall, tokaudit = 1 |")
    print("|---|--:|--:|--:|--:|")
    for name, (wall, cpu, peak) in found.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak / 1024:.0f} | {wall / found[reference][0]:.2f} |")


def main():
    tokaudit, maker, folder = sys.argv[1:4]
    sizes = [int(s) for s in sys.argv[4:]] or [200, 2000]
    os.makedirs(folder, exist_ok=True)
    for size in sizes:
        trace = os.path.join(folder, f"sse-{size}.pcapng.gz")
        if not os.path.exists(trace):
            subprocess.run([maker, trace, str(size), "32"], check=True)
        commands = {"tokaudit analyze": ([tokaudit, "analyze", trace], False), "zcat > /dev/null": (["zcat", trace], False)}
        found = in_turns(commands, ROUNDS)
        if size == min(sizes):
            peers = {}
            if shutil.which("tshark"):
                peers["tshark -Y http"] = (["tshark", "-r", trace, "-d", "tcp.port==8000,http", "-Y", "http"], False)
            if shutil.which("tcpflow"):
                flows = os.path.join(folder, "flows")
                plain = trace.removesuffix(".gz") + ".pcap"
                if shutil.which("tshark") and not os.path.exists(plain):
                    subprocess.run(["tshark", "-r", trace, "-F", "pcap", "-w", plain, "-Y", "tcp"], check=True,
                                   stderr=subprocess.DEVNULL)
                peers["tcpflow -a (plain pcap)"] = (f"rm -rf {flows}; tcpflow -a -r {plain} -o {flows}", True)
            found.update(in_turns(peers, 1))
            missing = [p for p in ("tshark", "tcpflow") if not shutil.which(p)]
            if missing:
                print("not installed:", ", ".join(missing))
        show(size, found, "tokaudit analyze")


main()
