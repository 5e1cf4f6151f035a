#!/bin/sh
# analyze_schema.sh TOKAUDIT: what analyze --format json writes is what its schema says; so is the example beside it.
set -eu
. tests/support/cli.sh
schema=analyze/schema/analysis.schema.json

python3 tests/support/make_captures.py "$tmp"
"$tokaudit" analyze --format json --fail-on never -o "$tmp/all.json" \
    "$tmp/good.pcapng" "$tmp/truncated.pcapng.gz" "$tmp/udp.pcapng" "$tmp/no-packets.pcapng" \
    --claim rate=14000tok/s --claim ttft=99ms --claim rate=50tok/s --claim memory=3GB
"$tokaudit" analyze --format json --fail-on never -o "$tmp/again.json" \
    "$tmp/good.pcapng" "$tmp/truncated.pcapng.gz" "$tmp/udp.pcapng" "$tmp/no-packets.pcapng" \
    --claim rate=14000tok/s --claim ttft=99ms --claim rate=50tok/s --claim memory=3GB
cmp "$tmp/all.json" "$tmp/again.json"
python3 tests/support/schema_check.py "$schema" "$tmp/all.json" analyze/schema/example.json

# A schema that accepts anything would pass too: faults put in must come out.
for fault in "d['requests'][0]['t0_ns'] = '1'" "del d['traces'][0]['sha256']" "d['metrics'][0]['grade'] = 'sure'" \
    "d['more'] = 1" "d['claims'][0]['scope']['conn'] = 1"; do
    python3 -c "
import json, sys
d = json.load(open(sys.argv[1]))
$fault
json.dump(d, open(sys.argv[2], 'w'))" "$tmp/all.json" "$tmp/faulty.json"
    if python3 tests/support/schema_check.py "$schema" "$tmp/faulty.json" >"$tmp/faults"; then
        die "the schema accepts: $fault"
    fi
done
