#!/bin/sh
# as_claims.sh TOKAUDIT: what --as prints of a tool, held as that tool's own file against the same trace, is confirmed; times
# and rates that are a third too high are found out. Traces: a real server's, several dialects, and one with documents, failures
# and replies without a finish among the streams.
set -eu
. tests/support/cli.sh

command -v python3 >/dev/null || {
    skip "no python3"
    exit 0
}
python3 tests/support/load_pcap.py "$tmp/load.pcap"
for trace in "$tmp/load.pcap" traces/examples/llama.cpp-smollm2-135m.pcapng.gz tests/golden/dialects/trace.pcapng.gz; do
    python3 tests/support/as_claims.py "$tokaudit" "$trace" >"$tmp/out" || fail "$trace: $(cat "$tmp/out")"
done
python3 tests/support/as_claims.py "$tokaudit" "$tmp/load.pcap" --lie 1.33 >"$tmp/out" ||
    fail "a lie is not found out: $(cat "$tmp/out")"
python3 tests/support/as_claims.py "$tokaudit" "$tmp/load.pcap" \
    --tokenizer tests/unit/analyze/tokenizers/byte_level.json >"$tmp/out" || fail "with a tokenizer: $(cat "$tmp/out")"

# A value without weight is none: GuideLLM's least time per token is of a reply that has one.
python3 tests/support/load_pcap.py "$tmp/streams.pcap" document
"$tokaudit" analyze "$tmp/streams.pcap" --as guidellm >"$tmp/out"
grep -q '^  inter_token_latency_ms.min  *1[0-9.]*  *ms' "$tmp/out" || fail "guidellm: $(grep inter_token "$tmp/out")"
passed
