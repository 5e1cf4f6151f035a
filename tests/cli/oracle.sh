#!/bin/sh
# The example traces, recomputed by tshark and Python (tests/oracle/{recompute,peers}.py), against the program.
set -eu
if ! command -v tshark >/dev/null 2>&1; then
    echo "SKIP: tshark is not installed: no figure was held against the oracle" >&2
    exit 0
fi
for trace in traces/examples/*.pcapng.gz; do
    python3 tests/oracle/recompute.py "$1" "$trace"
    python3 tests/oracle/peers.py "$1" "$trace"
done
# Of the stacks that others wrote, those that the oracle reads: chunked, not compressed, every request answered.
for name in collect collect-layers block block-yield block-asyncio pairs pairs-asyncio thread nginx nginx-http11 nginx-unbuffered; do
    python3 tests/oracle/recompute.py "$1" "traces/examples/stacks/$name.pcapng.gz"
done
