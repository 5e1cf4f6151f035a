#!/bin/sh
# analyze_schema.sh TOKAUDIT: what analyze --format json writes is what its schema says; so is the example beside it.
set -eu
tokaudit=$1
schema=analyze/schema/analysis.schema.json
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

python3 tests/support/make_captures.py "$dir"
"$tokaudit" analyze --format json --fail-on never -o "$dir/all.json" \
    "$dir/good.pcapng" "$dir/truncated.pcapng.gz" "$dir/udp.pcapng" "$dir/no-packets.pcapng" \
    --claim rate=14000tok/s --claim ttft=99ms --claim rate=50tok/s --claim memory=3GB
"$tokaudit" analyze --format json --fail-on never -o "$dir/again.json" \
    "$dir/good.pcapng" "$dir/truncated.pcapng.gz" "$dir/udp.pcapng" "$dir/no-packets.pcapng" \
    --claim rate=14000tok/s --claim ttft=99ms --claim rate=50tok/s --claim memory=3GB
cmp "$dir/all.json" "$dir/again.json"
python3 tests/support/schema_check.py "$schema" "$dir/all.json" analyze/schema/example.json

# A schema that accepts anything would pass too: faults put in must come out.
for fault in "d['requests'][0]['t0_ns'] = '1'" "del d['traces'][0]['sha256']" "d['metrics'][0]['grade'] = 'sure'" \
    "d['more'] = 1" "d['claims'][0]['scope']['conn'] = 1"; do
    python3 -c "
import json, sys
d = json.load(open(sys.argv[1]))
$fault
json.dump(d, open(sys.argv[2], 'w'))" "$dir/all.json" "$dir/faulty.json"
    if python3 tests/support/schema_check.py "$schema" "$dir/faulty.json" >"$dir/faults"; then
        echo "the schema accepts: $fault"
        exit 1
    fi
done
