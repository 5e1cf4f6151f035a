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
