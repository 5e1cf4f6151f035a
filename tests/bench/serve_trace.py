"""How exactly `tokaudit serve TRACE` gives back a recording's times, judged by libpcap on both sides.

    serve_trace.py TOKAUDIT FOLDER [CLIENTS [TOKENS]]     (default 16 clients, 128 tokens each; needs the right to capture)

A simulated server (`serve --profile ideal`, 60 tokens/s a stream) is recorded under load; that trace is served, and the same
load recorded again. The error of an event is how much later (or earlier) after its request it left than in the recording.
Prints the table of BENCHMARKS.md. Every response must be the recorded one, byte for byte.
"""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from trace_streams import exchanges, time_errors  # noqa: E402


def serve(tokaudit, folder, *options):
    ready = os.path.join(folder, "port")
    if os.path.exists(ready):
        os.unlink(ready)
    with open(os.path.join(folder, "serve.out"), "w") as out:
        server = subprocess.Popen([tokaudit, "serve", "-v", *options, "-l", "127.0.0.1:0", "--ready-file", ready],
                                  stdout=out, stderr=out)
    while not os.path.exists(ready):
        assert server.poll() is None, "serve ended: " + open(os.path.join(folder, "serve.out")).read()
        time.sleep(0.05)
    return server, open(ready).read().strip()


def record(tokaudit, folder, name, spec, *serving):
    """The load on a server, recorded on the wire."""
    server, port = serve(tokaudit, folder, *serving)
    trace = os.path.join(folder, name + ".pcapng.gz")
    load = [tokaudit, "replay", spec, "--target", "http://127.0.0.1:" + port, "-o", os.path.join(folder, "client.pcapng.gz")]
    subprocess.run([tokaudit, "capture", "-p", port, "-o", trace, "--", *load], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    server.send_signal(signal.SIGINT)
    assert server.wait() == 0, open(os.path.join(folder, "serve.out")).read()
    return trace


def quantile(values, q):
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def main():
    tokaudit, folder = sys.argv[1:3]
    clients, tokens = ([int(v) for v in sys.argv[3:5]] + [16, 128][len(sys.argv) - 3:])[:2]
    spec = os.path.join(folder, "spec.json")
    with open(spec, "w") as f:
        json.dump({"workload": "bench", "concurrency": clients, "repeats": 2,
                   "prompts": [{"name": "p", "prompt_tokens": 50, "max_tokens": tokens}]}, f)
    first = record(tokaudit, folder, "recorded", spec, "--profile", "ideal")
    second = record(tokaudit, folder, "served", spec, first)
    old = [x for x in exchanges(first) if x.start.startswith("POST")]
    new = {x.body: x for x in exchanges(second)}
    errors = []
    for x in old:
        assert x.answer == new[x.body].answer, "not the recorded bytes: %s" % x.start
        errors += time_errors(x, new[x.body])
    late = sorted(e / 1e6 for e in errors)
    size = sorted(abs(e) for e in late)
    print("| clients | events | equal bytes | error p50 | abs p50 | abs p99 | earliest | latest |")
    print("|---|---|---|---|---|---|---|---|")
    print("| %d | %d | %d of %d | %.3f ms | %.3f ms | %.3f ms | %.3f ms | %.3f ms |"
          % (clients, len(late), len(old), len(old), quantile(late, 0.5), quantile(size, 0.5), quantile(size, 0.99),
             late[0], late[-1]))
    print("\nserve itself: " + [line for line in open(os.path.join(folder, "serve.out")) if "segments" in line][0].strip())


main()
