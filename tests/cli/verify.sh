#!/bin/sh
# verify.sh TOKAUDIT: `tokaudit verify` on a whole, a cut and a tampered trace, and on what is none.
set -u
. tests/support/cli.sh
broken="changed twice"

# A trace without rights to capture: what a load generator saw of a simulated server.
serve ideal --profile ideal
trace=$tmp/run.pcapng.gz
"$tokaudit" replay run_single --target "http://127.0.0.1:$port" --repeat 2 --scale 0.001 --max-tokens 16 -o "$trace" >"$tmp/out" 2>&1 ||
    fail "replay: $(cat "$tmp/out")"

status 0 "$tokaudit" verify "$trace"
prints ': whole: .* members, .* packets'
prints "sha256 $(sha256sum "$trace" | cut -d' ' -f1)"
prints 'integrity, not authorship'
status 0 "$tokaudit" verify -q "$trace"
[ ! -s "$tmp/out" ] || fail "-q printed $(cat "$tmp/out")"
status 0 "$tokaudit" verify - <"$trace"

size=$(wc -c <"$trace")
head -c $((size - 20)) "$trace" >"$tmp/cut"
status 1 "$tokaudit" verify "$tmp/cut"
prints ': UNCLOSED: member .*, at offset .*: the file ends inside this member'
prints 'intact, as far as it goes'
prints 'integrity, not authorship'

cp "$trace" "$tmp/changed"
printf 'x' | dd of="$tmp/changed" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
status 1 "$tokaudit" verify -q "$tmp/changed"
prints ': BROKEN: member .*, at offset .* of '"$size"': it fails its check'
cat "$trace" "$trace" >"$tmp/twice"
status 1 "$tokaudit" verify "$tmp/twice"
prints "at offset $size of .*: a member follows the closing block"

gzip -dc "$trace" >"$tmp/plain"
status 3 "$tokaudit" verify "$tmp/plain"
says "not a trace of tokaudit: it is not gzip'd"
gzip -c "$tokaudit" >"$tmp/other.gz"
status 3 "$tokaudit" verify "$tmp/other.gz"
says 'not a trace of tokaudit'
status 3 "$tokaudit" verify "$tmp/none"
says "$tmp/none: No such file"
status 3 "$tokaudit" verify "$tmp"
says 'is a directory'
status 2 "$tokaudit" verify
says 'no trace is named'

# Of several, each is named; what is wrong with a trace counts more than what is no trace.
status 0 "$tokaudit" verify "$trace" "$trace"
status 1 "$tokaudit" verify "$trace" "$tmp/none" "$tmp/cut" "$tmp/plain"
prints 'run.pcapng.gz: whole'
prints 'cut: UNCLOSED'
says "$tmp/none"
says "$tmp/plain"
status 3 "$tokaudit" verify "$trace" "$tmp/plain"

passed
