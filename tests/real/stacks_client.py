"""A small load by OpenAI's own client, timed as harnesses time it. Nothing of this project is in it.

    stacks_client.py PORT REQUESTS TOKENS [WORDS]

The requests one after the other (/health asked in the middle of the last), then two at once, with prompts that are WORDS
longer. One JSON line on stdout: what a harness would publish of it.
"""
import json
import os
import statistics
import sys
import threading
import time
import urllib.request

from openai import OpenAI

port, requests, tokens, words = (int(x) for x in (sys.argv[1:] + ["0"])[:4])
model = os.environ.get("MODEL", "stack")
client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)


def ask(nth, found):
    start, first, last, stated = time.perf_counter(), None, None, 0
    for event in client.chat.completions.create(
            model=model, stream=True, stream_options={"include_usage": True}, max_tokens=tokens,
            messages=[{"role": "user", "content": f"Question {nth}: what do the owls see?" + " hoot" * words}]):
        if event.choices and event.choices[0].delta.content:
            last = time.perf_counter()
            first = first or last
        if event.usage:
            stated = event.usage.completion_tokens
    found.append({"ttft": first - start, "e2el": last - start, "gen_tps": stated / (last - first)})


def health():
    time.sleep(0.2)
    urllib.request.urlopen(f"http://127.0.0.1:{port}/health").read()


found = []
for i in range(requests):
    aside = threading.Thread(target=health)
    if i == requests - 1:
        aside.start()
    ask(i + 1, found)
    if i == requests - 1:
        aside.join()
    time.sleep(0.1)
pair = [threading.Thread(target=ask, args=(requests + 1 + i, found)) for i in range(2)]
for t in pair:
    t.start()
for t in pair:
    t.join()
print(json.dumps([
    {"metric": "ttft", "stat": "p50", "value": round(statistics.median(r["ttft"] for r in found) * 1e3, 1), "unit": "ms"},
    {"metric": "rate", "stat": "p50", "value": round(statistics.median(r["gen_tps"] for r in found), 1), "unit": "tok/s"},
    {"metric": "latency", "stat": "p50", "value": round(statistics.median(r["e2el"] for r in found) * 1e3, 1), "unit": "ms"},
]))
