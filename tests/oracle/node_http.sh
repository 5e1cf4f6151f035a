#!/bin/sh
# Our HTTP against Node's parser, on traffic that node_http.js makes up.
# usage: node_http.sh HTTP_DUMP [SEED...]    (default: eight seeds, always the same)
set -eu
dump=$1
shift
here=${0%/*}
if ! command -v node >/dev/null 2>&1; then
    echo "SKIPPED: there is no node here: our HTTP was not compared with Node's" >&2
    exit 77
fi
if ! node -e "process.exit(require('_http_common').HTTPParser ? 0 : 1)" 2>/dev/null; then
    echo "SKIPPED: this node does not lend its HTTP parser: $(node --version)" >&2
    exit 77
fi
[ $# -gt 0 ] || set -- 1 2 3 4 5 6 7 8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for seed; do
    node "$here/node_http.js" generate "$seed" 200 "$folder/it.pcap" "$folder/expected" 2>/dev/null
    "$dump" "$folder/it.pcap" >"$folder/ours"
    printf 'seed %s: ' "$seed"
    if ! node "$here/node_http.js" compare "$folder/expected" "$folder/ours"; then
        echo "FAIL: node_http.sh $dump $seed" >&2
        exit 1
    fi
done
