"""naive.py PORT: three chats, timed as people time them; tokens / (last content - first content), published."""
import http.client, json, sys, time
rates = []
for i in range(3):
    server, seen, tokens = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), [], 0
    server.request("POST", "/v1/chat/completions", json.dumps({"model": "any", "stream": True, "max_tokens": 40, "messages": [
        {"role": "user", "content": f"Question {i}: what do the owls see?"}]}), {"Content-Type": "application/json"})
    for event in (json.loads(line[6:]) for line in server.getresponse() if line.startswith(b"data: {")):
        seen += [time.time()] if event["choices"] and event["choices"][0]["delta"].get("content") else []
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    rates.append(tokens / (seen[-1] - seen[0]))
print(json.dumps({"metric": "rate", "stat": "p50", "value": round(sorted(rates)[1], 1), "unit": "tok/s"}))
