"""What other tools would have printed for a trace, worked out again from its packets with tshark and Python, and held
against `tokaudit analyze --as all`.

    peers.py TOKAUDIT TRACE

The definitions are those of the tools themselves (their formulas are written here a second time, from their documents and
not from the C tables); times come from recompute.py's reading of tshark's payloads. Percentiles are numpy's
where there is numpy, and Python's otherwise.
"""
import json
import math
import os
import subprocess
import sys

arguments = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recompute  # noqa: E402


def mean(v):
    return sum(v) / len(v)


def std(v, less=0):
    m = mean(v)
    return math.sqrt(sum((x - m) ** 2 for x in v) / (len(v) - less)) if len(v) > less else None


def linear(v, p):
    v = sorted(v)
    h = (len(v) - 1) * p / 100
    lo = int(h)
    return v[lo] + (h - lo) * (v[min(lo + 1, len(v) - 1)] - v[lo])


def step(pairs, p):
    pairs = sorted(pairs)
    total, seen = sum(w for _, w in pairs), 0
    for v, w in pairs:
        seen += w
        if seen >= p / 100 * total * (1 - 1e-12):
            return v
    return pairs[-1][0]


def stats(v, less=0):
    found = {"mean": mean(v), "median": linear(v, 50), "std": std(v, less), "min": min(v), "max": max(v)}
    found.update({"p%d" % p: linear(v, p) for p in (90, 95, 99)})
    return found


def steps(v, weights=None):
    weights = weights or [1] * len(v)
    m = sum(x * w for x, w in zip(v, weights)) / sum(weights)
    pairs = list(zip(v, weights))
    found = {"mean": m, "std": math.sqrt(sum(w * (x - m) ** 2 for x, w in pairs) / sum(weights)),
             "min": min(v), "max": max(v), "median": step(pairs, 50)}
    found.update({"p%d" % p: step(pairs, p) for p in (90, 95, 99)})
    return found


class Request:
    """Times in s: t0, events with text, the end; tokens as stated."""

    def __init__(self, ways, ask, answer):
        request, response = ways[False], ways[True]
        self.t0 = request.ready[ask[0]][0]
        self.z = response.ready[answer[5] - 1][0]
        self.text, self.lines, self.n, self.p = [], 0, None, None
        self.first = None
        for data, at in recompute.events(response, answer[4]):
            t = response.ready[at][0]
            self.first = t if self.first is None else self.first
            if data == "[DONE]":
                continue
            self.lines += 1
            chunk = json.loads(data)
            if chunk.get("choices"):
                if any(c.get("delta", {}).get("content") for c in chunk["choices"]):
                    self.text.append(t)
            if chunk.get("usage"):
                self.n, self.p = chunk["usage"]["completion_tokens"], chunk["usage"]["prompt_tokens"]


def seconds(ns):
    return ns / 1e9


def gaps(times):
    return [seconds(b - a) for a, b in zip(times, times[1:])]


def fullest(times, first):
    counts = {}
    for t in times:
        k = (t - first) // 10**9
        counts[k] = counts.get(k, 0) + 1
    return max(counts.values())


def in_seconds(v, first):
    """Most requests that any whole second from the first saw something of."""
    touched = [k for r in v for k in range((r.t0 - first) // 10**9, (r.z - first) // 10**9 + 1)]
    return max(touched.count(k) for k in set(touched))


def vllm(v):
    t = seconds(max(r.z for r in v) - min(r.t0 for r in v))
    first = min(r.t0 for r in v)
    e2e = [seconds(r.text[-1] - r.t0) for r in v]
    ttft = [seconds(r.text[0] - r.t0) for r in v]
    n, p = sum(r.n for r in v), sum(r.p for r in v)
    rows = {"ttft": ttft, "e2el": e2e, "itl": [g for r in v for g in gaps(r.text)],
            "tpot": [(e - f) / (r.n - 1) for e, f, r in zip(e2e, ttft, v) if r.n > 1]}
    found = {"duration": t, "completed": len(v), "failed": 0, "total_input_tokens": p, "total_output_tokens": n,
             "request_throughput": len(v) / t, "output_throughput": n / t, "total_token_throughput": (p + n) / t,
             "max_output_tokens_per_s": fullest([c for r in v for c in r.text], first),
             "max_concurrent_requests": in_seconds(v, first)}
    for name, values in rows.items():
        found.update({"%s_%s_ms" % (s, name): 1e3 * x for s, x in stats(values).items() if s in
                      ("mean", "median", "std", "p99")})
    return found


def sglang(v):
    t = seconds(max(r.z for r in v) - min(r.t0 for r in v))
    first = min(r.t0 for r in v)
    e2e, n, p = [seconds(r.z - r.t0) for r in v], sum(r.n for r in v), sum(r.p for r in v)
    rows = {"ttft": [seconds(r.text[0] - r.t0) for r in v], "e2e_latency": e2e,
            "itl": [g for r in v for g in gaps(r.text)],
            "tpot": [seconds(r.z - r.text[0]) / (r.n - 1) for r in v if r.n > 1]}
    found = {"duration": t, "completed": len(v), "total_input_tokens": p, "total_output_tokens": n,
             "request_throughput": len(v) / t, "input_throughput": p / t, "output_throughput": n / t,
             "total_throughput": (p + n) / t, "concurrency": sum(e2e) / t,
             "max_output_tokens_per_s": fullest([c for r in v for c in r.text], first),
             "max_concurrent_requests": in_seconds(v, first)}
    for name, values in rows.items():
        found.update({"%s_%s_ms" % (s, name): 1e3 * x for s, x in stats(values).items() if s not in ("min", "max")})
    return found


def aiperf(v):
    t = seconds(max(r.text[-1] for r in v) - min(r.t0 for r in v))
    n, p = sum(r.n for r in v), sum(r.p for r in v)
    itl = [seconds(r.text[-1] - r.text[0]) / (r.n - 1) for r in v if r.n > 1]
    found = {"benchmark_duration": t, "request_count": len(v), "error_request_count": 0, "request_throughput": len(v) / t,
             "output_token_throughput": n / t, "total_token_throughput": (n + p) / t}
    rows = {"time_to_first_token": (1e3, [seconds(r.text[0] - r.t0) for r in v]),
            "time_to_second_token": (1e3, [seconds(r.text[1] - r.text[0]) for r in v if len(r.text) > 1]),
            "time_to_first_output_token": (1e3, [seconds(r.text[0] - r.t0) for r in v]),
            "request_latency": (1e3, [seconds(r.text[-1] - r.t0) for r in v]), "inter_token_latency": (1e3, itl),
            "inter_chunk_latency": (1e3, [g for r in v for g in gaps(r.text)]),
            "output_token_throughput_per_user": (1, [1 / x for x in itl if x > 0]),
            "e2e_output_token_throughput": (1, [r.n / seconds(r.text[-1] - r.t0) for r in v]),
            "prefill_throughput_per_user": (1, [r.p / seconds(r.text[0] - r.t0) for r in v]),
            "output_sequence_length": (1, [r.n for r in v]), "input_sequence_length": (1, [r.p for r in v])}
    for name, (scale, values) in rows.items():
        for s, x in stats(values).items():
            found["%s.%s" % (name, {"mean": "avg", "median": "p50"}.get(s, s))] = scale * x
    return found


def genai_perf(v):
    t = seconds(max(r.text[-1] for r in v) - min(r.t0 for r in v))
    found = {"request_count": len(v), "request_throughput.avg": len(v) / t}
    both = ("time_to_first_token", "time_to_second_token", "request_latency", "input_sequence_length")
    found.update({k: x for k, x in aiperf(v).items() if k.split(".")[0] in both})
    found.update({k: None for k in ("output_token_throughput.avg", "inter_token_latency.avg", "output_sequence_length.std",
                                    "output_token_throughput_per_user.p50")})
    return found


def guidellm(v):
    t = seconds(max(r.z for r in v) - min(r.t0 for r in v))
    e2e = [seconds(r.z - r.t0) for r in v]
    itl = [seconds(r.text[-1] - r.text[0]) / (r.n - 1) for r in v]
    rows = {"request_latency": (1, e2e, None), "time_to_first_token_ms": (1e3, [seconds(r.text[0] - r.t0) for r in v], None),
            "time_to_first_output_token_ms": (1e3, [seconds(r.text[0] - r.t0) for r in v], None),
            "time_per_output_token_ms": (1e3, [seconds(r.text[-1] - r.t0) / r.n for r in v], [r.n for r in v]),
            "inter_token_latency_ms": (1e3, itl, [r.n - 1 for r in v]),
            "prompt_token_count": (1, [r.p for r in v], None), "output_token_count": (1, [r.n for r in v], None)}
    found = {"duration": t, "requests_per_second.mean": len(v) / t, "request_concurrency.mean": sum(e2e) / t,
             "output_tokens_per_second.mean": sum(r.n for r in v) / t}
    names = {"std": "std_dev", "p90": "percentiles.p90", "p95": "percentiles.p95", "p99": "percentiles.p99"}
    for name, (scale, values, weights) in rows.items():
        found.update({"%s.%s" % (name, names.get(s, s)): scale * x for s, x in steps(values, weights).items()})
    return found


def llama_benchy(v):
    batches = {}
    for r in v:
        batches.setdefault(r.group if r.group is not None else "alone %d" % r.t0, []).append(r)
    tg, pp, peaks = [], [], []
    for b in batches.values():
        first, last = min(r.text[0] for r in b), max(r.text[-1] for r in b)
        tg.append((sum(r.n for r in b) - len(b)) / seconds(last - first))
        pp.append(sum(r.p for r in b) / seconds(max(r.text[0] for r in b) - min(r.t0 for r in b)))
        events = sorted((t, r.n / len(r.text)) for r in b for t in r.text)
        if last - first < 10**9:
            peaks.append(sum(n for _, n in events) / seconds(last - first))
        else:
            peaks.append(max(sum(n for t, n in events if end - 10**9 <= t <= end) for end, _ in events))
    ttfr = [seconds(r.first - r.t0) for r in v]
    rows = {"pp_throughput": (1, pp), "pp_req_throughput": (1, [r.p / x for r, x in zip(v, ttfr)]), "tg_throughput": (1, tg),
            "tg_req_throughput": (1, [(r.n - 1) / seconds(r.text[-1] - r.text[0]) for r in v if r.text[-1] > r.text[0]]),
            "peak_throughput": (1, peaks), "ttfr": (1e3, ttfr), "est_ppt": (1e3, ttfr),
            "e2e_ttft": (1e3, [seconds(r.text[0] - r.t0) for r in v])}
    return {"%s.%s" % (name, s): scale * x for name, (scale, values) in rows.items()
            for s, x in stats(values).items() if s in ("mean", "std")}


def inference_perf(v):
    t = seconds(max(r.z for r in v) - min(r.t0 for r in v))
    n, p = sum(r.n for r in v), sum(r.p for r in v)
    found = {"benchmark_time_seconds": t, "successes.count": len(v), "failures.count": 0,
             "throughput.requests_per_sec": len(v) / t, "throughput.input_tokens_per_sec": p / t,
             "throughput.output_tokens_per_sec": n / t, "throughput.total_tokens_per_sec": (p + n) / t}
    rows = {"request_latency": [seconds(r.z - r.t0) for r in v],
            "normalized_time_per_output_token": [seconds(r.z - r.t0) / r.n for r in v],
            "time_per_output_token": [seconds(r.text[-1] - r.text[0]) / (r.n - 1) for r in v if r.n > 1],
            "time_to_first_token": [seconds(r.text[0] - r.t0) for r in v]}
    for name, values in rows.items():
        found.update({"latency.%s.%s" % (name, s): x for s, x in stats(values).items() if s != "std"})
    found["latency.inter_token_latency.mean"] = None
    return found


def llmperf(v):
    t = seconds(max(r.z for r in v) - min(r.t0 for r in v))
    found = {"results_num_requests_started": len(v), "results_num_completed_requests": len(v), "results_number_errors": 0,
             "results_error_rate": 0, "results_num_completed_requests_per_min": 60 * len(v) / t,
             "results_mean_output_throughput_token_per_s": None, "results_number_output_tokens_mean": None}
    rows = {"ttft_s": [seconds(r.text[0] - r.t0) for r in v], "end_to_end_latency_s": [seconds(r.z - r.t0) for r in v],
            "inter_token_latency_s": [seconds(r.text[-1] - r.t0) / r.lines for r in v]}
    names = {"std": "stddev", "median": "quantiles_p50", "p90": "quantiles_p90", "p95": "quantiles_p95",
             "p99": "quantiles_p99"}
    for name, values in rows.items():
        found.update({"results_%s_%s" % (name, names.get(s, s)): x for s, x in stats(values, 1).items()})
    return found


TOOLS = {"vllm": vllm, "sglang": sglang, "aiperf": aiperf, "guidellm": guidellm, "llama-benchy": llama_benchy,
         "inference-perf": inference_perf, "llmperf": llmperf, "genai-perf": genai_perf}


def requests(trace):
    streams = {}
    for number, t_ns, stream, source, to, seq, data in recompute.segments(trace):
        pair = streams.setdefault(stream, {})
        pair.setdefault((source, to), recompute.Stream()).add(seq, data, t_ns, number)
    for pair in streams.values():
        for s in pair.values():
            s.close()
        ways = {s.data[:5] == b"HTTP/": s for s in pair.values()}
        if len(ways) == 2:
            for ask, answer in zip(recompute.messages(ways[False]), recompute.messages(ways[True])):
                if ask[2].startswith("POST "):
                    yield Request(ways, ask, answer)


def main():
    tokaudit, trace = arguments
    run = subprocess.run([tokaudit, "analyze", trace, "--as", "all", "--format", "json"], capture_output=True, text=True,
                         check=True)
    analysis = json.loads(run.stdout)
    epoch = int(analysis["traces"][0]["epoch_ns"])
    by_t0 = {r.t0 - epoch: r for r in requests(trace)}
    of_run = {}
    for r in analysis["requests"]:
        if r["dialect"] and not r["warmup"]:
            by_t0[r["t0_ns"]].group = r["group"]
            of_run.setdefault(r["run"], []).append(by_t0[r["t0_ns"]])
    held = nulls = 0
    assert len(analysis["as"]) == len(TOOLS) * len(of_run), len(analysis["as"])
    for report in analysis["as"]:
        expected = TOOLS[report["tool"]](of_run[report["scope"]["run"]])
        got = {f["name"]: f["value"] for f in report["figures"]}
        for name, want in expected.items():
            have = got[name]
            same = have is want if want is None or have is None else abs(have - want) <= 1e-6 * max(abs(want), 1e-6)
            assert same, (report["tool"], report["scope"], name, have, want)
            held += 1
            nulls += want is None
        unexpected = {n for n, v in got.items() if v is not None} - set(expected)
        assert not unexpected, (report["tool"], unexpected)
        assert all(f["note"] for f in report["figures"] if f["value"] is None), report["tool"]
    print(f"{trace}: {len(of_run)} runs, {held} figures of {len(TOOLS)} tools agree, {nulls} of them not measurable")


if __name__ == "__main__":
    main()
