#!/usr/bin/env python3
"""What tests/cli/profiles.sh asks of the simulated servers, and holds against their truth; without our code.

plan TOKENS DIALECT...        a plan that asks each dialect for a reply, streamed and not, one after the other
truth TRACE TRUTH ANALYSIS    each token left when the truth says: as many in the trace, none before, soon after; and
                              analyze's times are those
replies ANALYSIS TRACE PROFILE TOKENS
                              analyze reads every reply as what it is
speedup TRUTH ANALYSIS EXPECTED
                              what two released together get, by the truth and by analyze
pairs TRACE | one-write TRACE | stalls TRACE
                              the manner in which events leave, by their packets
"""
import collections
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trace_streams import exchanges  # noqa: E402

MS = 1_000_000
PROMPT = "count these six words for me"
WORDS = len(PROMPT.split())
ANY = object()
VLLM_MLX = ("collect-then-replay", "one-write")
PATHS = {"openai-chat": "/v1/chat/completions", "openai-completions": "/v1/completions",
         "openai-responses": "/v1/responses", "anthropic-messages": "/v1/messages", "ollama-chat": "/api/chat",
         "ollama-generate": "/api/generate", "llama-completion": "/completion"}


def body(dialect, stream, tokens):
    b = {"model": "m", "stream": stream}
    if dialect in ("openai-chat", "openai-completions") and stream:
        b["stream_options"] = {"include_usage": True}
    if dialect in ("openai-chat", "anthropic-messages", "ollama-chat"):
        b["messages"] = [{"role": "user", "content": PROMPT}]
    else:
        b["input" if dialect == "openai-responses" else "prompt"] = PROMPT
    if dialect.startswith("ollama"):
        b["options"] = {"num_predict": tokens}
    else:
        b[{"openai-responses": "max_output_tokens", "llama-completion": "n_predict"}.get(dialect, "max_tokens")] = tokens
    return json.dumps(b)


def plan(tokens, *dialects):
    n = 0
    for dialect in dialects:
        for stream in (True, False):
            line = {"id": n, "path": PATHS[dialect], "name": "%s-%s" % (dialect, "stream" if stream else "whole"),
                    "headers": [["Content-Type", "application/json"]], "body": body(dialect, stream, int(tokens))}
            if n > 0:
                line["after"] = n - 1
            print(json.dumps(line))
            n += 1


def decoded(answer):
    """(head, [(body byte, its place in the answer)]) with the chunks undone."""
    at = answer.index(b"\r\n\r\n") + 4
    head = answer[:at].decode("latin-1")
    if "transfer-encoding: chunked" not in head.lower():
        return head, answer[at:], lambda i: at + i
    out, places = bytearray(), []
    while True:
        eol = answer.index(b"\r\n", at)
        size = int(answer[at:eol], 16)
        if size == 0:
            break
        places.append((len(out), eol + 2))
        out += answer[eol + 2:eol + 2 + size]
        at = eol + 2 + size + 2

    def place(i):
        start, raw = [p for p in places if p[0] <= i][-1]
        return raw + i - start
    return head, bytes(out), place


def text_of(event):
    """Generated text in one event of any dialect."""
    if not isinstance(event, dict):
        return ""
    if event.get("type") in ("response.output_text.delta", "response.reasoning_text.delta"):
        return event["delta"]
    if event.get("type") == "content_block_delta":
        return event["delta"].get("text") or event["delta"].get("thinking") or ""
    if "type" in event:
        return ""
    text = ""
    for choice in event.get("choices", []):
        delta = choice.get("delta", choice)
        text += "".join(delta.get(k) or "" for k in ("content", "reasoning", "reasoning_content", "text"))
    message = event.get("message", {})
    for where, keys in ((message, ("content", "thinking")), (event, ("response", "thinking"))):
        text += "".join(where.get(k) or "" for k in keys)
    if "stop" in event:
        text += event["content"]
    return text


def texts(answer):
    """[(words, place of the event's last byte)] of a stream; of a document, all of them with its last byte."""
    head, data, place = decoded(answer)
    kind = head.lower().split("content-type: ")[1].split("\r\n")[0]
    if kind.startswith("application/json"):
        return None
    out, at = [], 0
    mark = b"\n" if "ndjson" in kind else b"\n\n"
    while at < len(data):
        end = data.index(mark, at) + len(mark)
        for line in data[at:end].decode().split("\n"):
            line = line[5:].strip() if line.startswith("data:") else line if mark == b"\n" else ""
            if line.startswith("{"):
                words = len(text_of(json.loads(line)).split())
                if words:
                    out.append((words, place(end - 1)))
        at = end
    return out


def when(x, place):
    return next(t for stop, t in x.ready if stop > place)


def read_truth(path):
    requests, tokens = [], collections.defaultdict(list)
    for line in open(path):
        t = json.loads(line)
        if "id" in t:
            requests.append(t)
        else:
            assert t["index"] == len(tokens[t["request"]]), t
            tokens[t["request"]].append((int(t["made_ns"]), int(t["t_ns"])))
    return requests, tokens


def truth(trace, path, analysis):
    requests, tokens = read_truth(path)
    figures = sorted(json.load(open(analysis))["requests"], key=lambda r: r["t0_ns"])
    asked = collections.defaultdict(list)
    for r in requests:
        asked[r["port"]].append(r)
    late, off, n = [], [], 0
    for r_found, x in zip(figures, exchanges(trace), strict=True):
        if not x.start.startswith("POST") or not x.answer.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
            continue
        r = asked[x.port].pop(0)
        left = tokens[r["request"]]
        assert len(left) == r["output_tokens"], (r, len(left))
        events = texts(x.answer)
        if events is None:
            late.append(x.ready[-1][1] - left[-1][1])
        else:
            assert sum(words for words, _ in events) == len(left), (x.start, events)
            window = r_found["metrics"]["decode_window"]["value"]
            if window is not None:
                off.append(abs(window * 1e9 - (left[-1][1] - left[0][1])))
            for words, place in events:
                t = when(x, place)
                late += [t - t_left for _, t_left in left[:words]]
                assert all(t_left >= made - MS / 2 for made, t_left in left[:words]), "left before it was made"
                left = left[words:]
        n += 1
    assert n > 0 and not any(asked.values()), "requests of the truth that the trace does not have"
    # Two clocks: the server's and the recording's agree to well below this.
    assert min(late) > -0.3 * MS, "read %.3f ms before it left" % (-min(late) / MS)
    assert statistics.median(late) < 20 * MS, statistics.median(late)
    # Some profiles have two streams: the busy machine may have met one.
    assert not off or statistics.median_low(off) < 20 * MS, off
    print("%d replies, %d tokens: read %.3f ms after they left (median), never before" %
          (n, len(late), statistics.median(late) / MS))


def json_events(data):
    """The objects of a stream, in SSE or in lines."""
    lines = [line[6:] if line.startswith("data: ") else line for line in data.decode().split("\n")]
    return [json.loads(line) for line in lines if line.startswith("{")]


def has(o, **members):
    return all(k in o and (v is ANY or o[k] == v) for k, v in members.items())


def wire(profile, name, data):
    """What else is each server's own on the wire."""
    stream = name.endswith("-stream")
    events = json_events(data) if stream and profile != "not-streamed" else [json.loads(data)]
    last = [e for e in events if e.get("usage")][-1:]
    usage = last[0]["usage"] if last else {}
    chat, completions = name.startswith("openai-chat"), name.startswith("openai-completions")
    if stream and chat and profile in VLLM_MLX:
        assert all("usage" in e for e in events) and [bool(e["usage"]) for e in events[-2:]] == [True, True], events
        assert events[0]["choices"][0]["delta"] == {"role": "assistant"}, events[0]
    if stream and completions and profile in VLLM_MLX + ("context-32768",):
        assert len({e["id"] for e in events}) == len(events), events
    if stream and completions and profile in VLLM_MLX:
        assert events[-1]["choices"] and sum("usage" in e for e in events) == 1, events[-1]
    if stream and name.startswith("anthropic") and profile in VLLM_MLX:
        assert events[0]["message"]["usage"]["input_tokens"] == 0 and events[-2]["delta"]["stop_reason"] == "end_turn" \
            and list(events[-2]["usage"]) == ["output_tokens"], events
    if stream and chat and profile in ("context-32768", "leftover", "one-piece"):
        spoken = [e for e in events if e["choices"] and e["model"] != "keepalive"]
        assert ["finish_reason" in e["choices"][0] for e in spoken] == [False] * (len(spoken) - 1) + [True], events
    if profile == "context-32768" and (chat or completions):
        assert has(usage, time_to_first_token=ANY, total_time=ANY, generation_duration=ANY, prompt_eval_duration=ANY,
                   generation_tokens_per_second=ANY, prompt_tokens_per_second=ANY, model_load_duration=0), usage
        assert ("cached_tokens" in usage) == stream, usage
    if profile == "quadratic-prefill" and (chat or completions):
        timings = (last or events)[0]["timings"]
        assert set(timings) == {"prompt_n", "cached_n", "prompt_ms", "prompt_per_second", "predicted_n", "predicted_ms",
                                "predicted_per_second", "tokenize_ms"}, timings
        assert has(usage, prompt_tokens_details={"cached_tokens": 0},
                   completion_tokens_details={"reasoning_tokens": 0}), usage
    if stream and profile == "quadratic-prefill":
        assert not completions or all(e["object"] == "text_completion.chunk" for e in events), events
        assert not name.startswith("openai-responses") or data.endswith(b"data: [DONE]\n\n"), data[-100:]
    if stream and chat and profile == "superlinear-batching":
        assert [e["object"] for e in events if not e["choices"]] == ["chat.completion"], events[-1]
    if stream and chat and profile == "cyclic-stalls":
        keys = {"role", "content", "reasoning", "tool_calls"}
        assert all(set(e["choices"][0]["delta"]) == keys for e in events if e["choices"]), events[-2]
        assert all("timings" in e for e in events if e["choices"] and not e["choices"][0]["finish_reason"]), events
    if stream and name.startswith("ollama"):
        times = [e["created_at"] for e in events]
        assert len(set(times)) == len(times) and times == sorted(times), times


def replies(analysis, trace, profile, tokens):
    tokens = int(tokens)
    found = json.load(open(analysis))["requests"]
    answers = exchanges(trace)
    assert len(found) == len(answers) > 0
    for r, x in zip(sorted(found, key=lambda r: r["t0_ns"]), answers):
        dialect, _, manner = r["name"].rpartition("-")
        head, data, _ = decoded(x.answer)
        assert "(simulated; profile=%s)" % profile in head, head
        assert r["dialect"] == dialect and r["outcome"] == "success" and r["status"] == 200, r
        # The streams of these count no prompt in Anthropic's API, and no cache says otherwise.
        prompt = None if profile in VLLM_MLX and r["name"] == "anthropic-messages-stream" else WORDS
        assert r["tokens"]["stated"] == tokens and r["tokens"]["prompt"] == prompt, (r["name"], r["tokens"])
        assert r["finish"], r
        streamed = manner == "stream" and profile != "not-streamed"
        assert r["stream"] is streamed, r
        events = 1 if not streamed else {"one-piece": 1}.get(profile, tokens)
        assert r["tokens"]["events"] == events, (r["name"], r["tokens"], events)
        assert head.startswith("HTTP/1.0 " if profile == "superlinear-batching" else "HTTP/1.1 "), head
        if streamed:
            chunked = profile not in ("superlinear-batching", "quadratic-prefill")
            assert ("transfer-encoding: chunked" in head.lower()) == chunked, head
            assert ("connection: close" in head.lower()) != chunked, head
        if profile == "context-32768" and dialect == "openai-chat":
            assert data.startswith(b'data: {"id":"chatcmpl-keepalive"' if streamed else b" {"), data[:80]
        if profile == "leftover" and streamed and dialect == "openai-chat":
            assert data.split(b"\n\n")[1] == b": keepalive", data[:400]
        if profile in ("superlinear-batching", "cyclic-stalls") and dialect == "openai-chat":
            assert data.count(b'"reasoning":"') == (4 if streamed else 1) and b"reasoning_content" not in data, data
        if profile in ("degrading-batching", "pairs", "cyclic-stalls", "superlinear-batching") and streamed and \
                dialect == "openai-chat":
            # … in the finish too, and where that is repeated beside the usage.
            assert data.count(b'"role":"assistant"') == tokens + 1 + (profile in ("degrading-batching", "pairs")), data
        wire(profile, r["name"], data)
        if profile == "cyclic-stalls":
            assert (b'"timings":{' in data) == dialect.startswith(("openai-chat", "openai-completions")), data
    print("%s: %d replies read as what they are" % (profile, len(found)))


def speedup(path, analysis, expected):
    expected = float(expected)
    requests, tokens = read_truth(path)
    rates = {1: [], 2: []}
    singles = len(requests) // 3  # the first third alone, the others two at once
    groups = [requests[i:i + 1] for i in range(singles)] + \
             [requests[i:i + 2] for i in range(singles, len(requests), 2)]
    for g in groups:
        n = sum(r["output_tokens"] for r in g)
        last = max(tokens[r["request"]][-1][0] for r in g)
        rates[len(g)].append(n / (last - min(int(r["t_ns"]) for r in g)))
    true = statistics.median(rates[2]) / statistics.median(rates[1])
    rows = [m for m in json.load(open(analysis))["metrics"] if m["name"] == "speedup" and m["scope"].keys() == {"trace"}]
    assert len(rows) == 1, rows
    print("speedup %.3f by the truth, %.3f by analyze, %.2f expected" % (true, rows[0]["value"], expected))
    # Both requests of a pair are released at one instant; a busy machine may bring one of them later.
    assert abs(true / expected - 1) < 0.05, true
    assert abs(rows[0]["value"] / expected - 1) < 0.12, rows[0]


def gaps(trace):
    (x,) = [x for x in exchanges(trace) if b"text/event-stream" in x.answer]
    return [when(x, place) for _, place in texts(x.answer)], x


def pairs(trace):
    times, _ = gaps(trace)
    steps = [b - a for a, b in zip(times, times[1:])]
    # A pair may be one read; what is between pairs is two steps of 1/60 s.
    assert statistics.median(steps[1::2]) < 5 * MS, steps
    assert 25 * MS < statistics.median(steps[2::2]) < 45 * MS, steps


def one_write(trace):
    times, x = gaps(trace)
    assert x.ready[0][1] == times[-1] == x.ready[-1][1], "more than one read"


def stalls(trace):
    times, _ = gaps(trace)
    steps = [b - a for a, b in zip(times, times[1:])]
    long = [s for s in steps if s > 200 * MS]
    # 790 in a second, then three in a second, and on: a pace of 3.5 tok/s is 286 ms a token.
    assert len(long) >= 3 and 270 * MS < statistics.median(long) < 330 * MS, long
    assert statistics.median(steps) < 1e9 / 400, statistics.median(steps)


def main(verb, *args):
    {"plan": plan, "truth": truth, "replies": replies, "speedup": speedup, "pairs": pairs, "one-write": one_write,
     "stalls": stalls}[verb](*args)


if __name__ == "__main__":
    main(*sys.argv[1:])
