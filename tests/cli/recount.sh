#!/bin/sh
# recount.sh TOKAUDIT: `tokaudit analyze --tokenizer`: texts counted again, over the whole reply, beside what was
# stated; what cannot be counted, and why.
set -u
. tests/support/cli.sh
trace=tests/golden/dialects/trace.pcapng.gz # "first", " think", then "Then", " say", ...: 42 bytes in ten events
golden=tests/unit/analyze/tokenizers

# Ranks: each byte, and pairs. "n " goes from one event into the next, "kT" from the thinking into the answer.
ranks() {
    python3 - "$@" <<'EOF'
import base64, sys
for rank, token in enumerate([bytes([b]) for b in range(256)] + [a.encode() for a in sys.argv[1:]]):
    print(base64.b64encode(token).decode(), rank)
EOF
}
ranks >"$tmp/bytes.tiktoken"
ranks "n " kT >"$tmp/pairs.tiktoken"

# counts OPTIONS...: dialect, recounted and reason of each request.
counts() {
    status 0 "$tokaudit" analyze -f json "$@"
    python3 -c '
import json, sys
for r in json.load(sys.stdin)["requests"]:
    print(r["dialect"], r["tokens"]["recounted"], r["tokens"].get("recount_reason"))' <"$tmp/out" >"$tmp/counts"
}

counts "$trace"
[ "$(grep -c ' None None$' "$tmp/counts")" = 10 ] || fail "recounted without a tokenizer: $(cat "$tmp/counts")"
counts "$trace" --tokenizer "$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]+'
[ "$(grep -c ' 42 None$' "$tmp/counts")" = 10 ] || fail "not 42 bytes each: $(cat "$tmp/counts")"
counts "$trace" --tokenizer "$tmp/pairs.tiktoken" --tokenizer-pattern '[\S\s]+'
grep -q '^openai-chat 40 None$' "$tmp/counts" || fail "the thinking and the answer are two texts: $(cat "$tmp/counts")"
[ "$(grep -c ' 40 None$\| 39 None$' "$tmp/counts")" = 10 ] || fail "events are one text: $(cat "$tmp/counts")"

# Those of one model; a model's own before that for all.
counts "$trace" --tokenizer "other=$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]'
grep -q '^openai-chat None no tokenizer was given for its model$' "$tmp/counts" || fail "$(cat "$tmp/counts")"
counts "$trace" --tokenizer "$golden/byte_level.json" --tokenizer "m=$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]'
grep -q '^openai-chat 42 None$' "$tmp/counts" || fail "not by its own: $(cat "$tmp/counts")"
grep -q '^tgi 42 None$' "$tmp/counts" && fail "tgi names no model: $(cat "$tmp/counts")"

# In the text: side by side, and never instead of what was stated.
status 0 "$tokaudit" analyze "$trace" --tokenizer "$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]'
prints 'tokens of 10 requests: stated 100, output events 100, recounted 420 (+320.0 % of stated)'
status 0 "$tokaudit" analyze "$trace" --tokenizer "$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]' --report "$tmp/report"
grep -q '<th class="n">recounted</th>' "$tmp/report/report.html" || fail "the page has no recount"
grep -q '<td class="n r">420</td><td class="n x">×4.2</td>' "$tmp/report/report.html" || fail "the page's recount is another"

# Claims that rest on such counts: of the text as a whole, and of each piece by itself.
status 1 "$tokaudit" analyze "$trace" --tokenizer "$tmp/bytes.tiktoken" --tokenizer-pattern '[\S\s]' --claim output_tokens@1=42
prints 'P04 Whole-text re-tokenization is not invertible: T(text) = 42 tokens (its sign is on the wire)'
status 1 "$tokaudit" analyze "$trace" --claim output_tokens@1=42
grep -q 'P04' "$tmp/out" && fail "counted without a tokenizer: $(cat "$tmp/out")"
real=traces/examples/llama.cpp-smollm2-135m.pcapng.gz # request 3: 109 tokens of that kind, 116 if its pieces are cut apart
status 1 "$tokaudit" analyze "$real" --tokenizer "$golden/byte_level.json" --claim output_tokens@3=116
prints 'P02 Sum of per-event re-tokenization: sum(T(piece)) = 116 tokens (its sign is on the wire)'
status 1 "$tokaudit" analyze "$real" --tokenizer "$golden/byte_level.json" --claim output_tokens@3=121
grep -q 'P02' "$tmp/out" && fail "pieces that are no 121: $(cat "$tmp/out")"

# A tokenizer of another kind does not stop the analysis; a file that is none does.
echo '{"model": {"type": "Unigram", "vocab": []}}' >"$tmp/unigram.json"
status 0 "$tokaudit" analyze "$trace" --tokenizer "$tmp/unigram.json"
prints 'recount of 10 requests not measurable: .*unigram.json: the model Unigram is not counted with'
status 3 "$tokaudit" analyze "$trace" --tokenizer "$tmp/nowhere.json"
status 3 "$tokaudit" analyze "$trace" --tokenizer "$trace"

# What was overwritten cannot be counted.
status 0 "$tokaudit" capture --read "$trace" --redact bodies -o "$tmp/redacted.pcapng.gz"
counts "$tmp/redacted.pcapng.gz" --tokenizer "$golden/fallback.json"
[ "$(grep -c ' None redacted: ' "$tmp/counts")" = 10 ] || fail "redacted: $(cat "$tmp/counts")"
passed
