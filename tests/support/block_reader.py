"""block_reader.py PORT BYTES: one chat, read in blocks of so many bytes (0: line by line), and what its times look like."""
import http.client, json, sys, time
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
block, rest, times = int(sys.argv[2]), b"", []
server.request("POST", "/v1/chat/completions", json.dumps({"model": "any", "stream": True, "max_tokens": 100, "messages": [
    {"role": "user", "content": "What do the owls see?"}]}), {"Content-Type": "application/json"})
reply = server.getresponse()
while piece := reply.read(block) if block else reply.readline():
    now, lines = time.time(), (rest + piece).split(b"\n")
    rest = lines.pop()
    for event in (json.loads(line[6:]) for line in lines if line.startswith(b"data: {")):
        times += [now] if event["choices"] and event["choices"][0]["delta"].get("content") else []
gaps = sorted(1e3 * (after - before) for before, after in zip(times, times[1:]))
print(json.dumps({"metric": "icl", "stat": "p50", "value": round(gaps[len(gaps) // 2], 3), "unit": "ms"}))
