#!/bin/sh
# dialects.sh TOKAUDIT: each API is known by its requests, and --dialect reads them as another.
set -u
. tests/support/cli.sh

trace=tests/golden/dialects/trace.pcapng.gz
status 0 "$tokaudit" analyze "$trace" --format json
names=$(sed -n 's/^ *"dialect": "\(.*\)",*$/\1/p' "$tmp/out")
[ "$(echo "$names" | sort -u | wc -l)" = 10 ] || fail "expected ten dialects, found: $names"

# Every one can be forced, and then reads its own request and fails at most of the others'.
for name in $names; do
    status 0 "$tokaudit" analyze "$trace" --dialect "$name" --format json
    others=$(sed -n 's/^ *"dialect": "\(.*\)",*$/\1/p' "$tmp/out" | grep -v -c -x -e "$name")
    [ "$others" = 0 ] || fail "--dialect $name: $others requests read as another"
    good=$(grep -c '"outcome": "success"' "$tmp/out")
    [ "$good" -ge 1 ] && [ "$good" -le 3 ] || fail "--dialect $name: $good successes"
done

status 2 "$tokaudit" analyze "$trace" --dialect openai
says 'openai-chat'
passed
