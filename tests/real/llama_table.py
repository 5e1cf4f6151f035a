"""Holds two analyses of one run (libpcap, socket) against each other and against what the server said.

    llama_table.py LIBPCAP.json SOCKET.json

Prints a table and exits 1 if a row does not hold. Bounds are of agreement between two records of one event, not of
speed: both vantages run on the client's machine, so their difference is the client's own delay.
"""
import json
import statistics
import sys

TIME_BOUND_S = 0.005  # p99 between the kernel's stamp and the stamp after read(), two busy cores
RATE_BOUND = 0.03


def requests_of(path):
    with open(path, encoding="utf-8") as f:
        analysis = json.load(f)
    runs = {run["id"]: run for run in analysis["runs"]}
    found = {}
    order = {}
    for r in analysis["requests"]:
        if r["run"] is None:
            continue
        run = runs[r["run"]]
        key = (run["workload"], run["repeat"], r["name"])
        order[key] = order.get(key, 0) + 1
        found[key + (order[key],)] = r
    return found


def value(request, metric):
    return request["metrics"].get(metric, {}).get("value")


def p99(values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def pairs(a, b, metric):
    """Members of a pair are told apart by their connection, which both vantages number in order of their first packet;
    where that differs the nearer of the two is taken by the sorted values."""
    return [(value(a[k], metric), value(b[k], metric)) for k in a]


def main():
    wire, client = (requests_of(p) for p in sys.argv[1:3])
    rows = []

    def row(what, found, holds, note=""):
        rows.append((what, found, "holds" if holds else "FAILS", note))

    row("requests in both vantages", f"{len(wire)} and {len(client)}",
        len(wire) == len(client) == 120 and wire.keys() == client.keys())
    good = [r for r in wire.values() if r["outcome"] == "success"]
    row("successes", f"{len(good)} of {len(wire)}", len(good) == len(wire))

    stated = [(r["tokens"]["stated"], r["tokens"]["events"]) for r in good]
    row("tokens: usage = 48 asked", f"{sum(s == 48 for s, _ in stated)} of {len(stated)}",
        all(s == 48 for s, _ in stated))
    off = [s - e for s, e in stated]
    row("tokens: usage - output events", f"0 to {max(off)}", min(off) >= 0 and max(off) <= 48,
        "a character of several tokens leaves as one event" if max(off) else "")
    row("usage in both vantages", "equal", all(wire[k]["tokens"] == client[k]["tokens"] for k in wire))

    for metric in ("ttft", "e2el", "decode_window"):
        apart = [abs(x - y) for x, y in pairs(wire, client, metric)]
        row(f"{metric}: libpcap against socket, p99", f"{p99(apart) * 1e3:.3f} ms", p99(apart) < TIME_BOUND_S,
            f"median {statistics.median(apart) * 1e6:.0f} us")

    for workload in ("run_single", "run_double"):
        ratios = []
        for key, r in wire.items():
            own, server = value(r, "output_tps_user"), value(r, "stated_tps")
            if key[0] == workload and own is not None and server is not None:
                ratios.append(own / server - 1)
        inside = sum(abs(x) <= RATE_BOUND for x in ratios)
        middle = statistics.median(ratios) if ratios else float("nan")
        row(f"{workload}: decode rate against the server's timings", f"median {middle * 100:+.2f} %",
            abs(middle) <= RATE_BOUND, f"{inside} of {len(ratios)} requests within 3 %")

    widths = [max(len(r[i]) for r in rows) for i in range(3)]
    for r in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(r[:3], widths)), r[3])
    return 0 if all(r[2] == "holds" for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
