#!/bin/sh
# Our TCP and HTTP against tshark's, on traffic that traffic.py makes up.
# usage: tshark_traffic.sh HTTP_DUMP [SEEDS [FIRST]]    (default: 40 seeds, always the same)
set -eu
here=${0%/*}
if ! command -v tshark >/dev/null 2>&1 || ! command -v python3 >/dev/null 2>&1; then
    echo "SKIPPED: there is no tshark or no python3 here: our reading was not compared with tshark's" >&2
    exit 77
fi
exec python3 "$here/tshark_traffic.py" "$@"
