#!/bin/sh
# workloads.sh TOKAUDIT: files of other tools through the whole program: told by their content, from a file, gzip'd and
# from standard input; what is wrong with them; sent to a server, and the trace of that written for other tools again.
set -eu
. tests/support/cli.sh

# expect STATUS TEXT ARGS...: what is said on stderr, of the replay with these arguments.
expect() {
    want=$1 text=$2
    shift 2
    status "$want" "$tokaudit" replay "$@"
    grep -q -F -e "$text" "$tmp/err" || fail "replay $*: no '$text' in: $(cat "$tmp/err")"
}

printf 'TIMESTAMP,ContextTokens,GeneratedTokens\r\n%s\r\n%s' '2023-11-16 18:17:03.9799600,48,10' \
    '2023-11-16 18:17:04.0319601,31,8' >"$tmp/azure.csv"
gzip -c "$tmp/azure.csv" >"$tmp/azure.csv.gz"
for i in 0 1 2 3; do
    echo "{\"timestamp\": $((i < 2 ? 0 : 100)), \"input_length\": $((20 + i)), \"output_length\": $((i + 1)), \"hash_ids\": [$i]}"
done >"$tmp/mooncake.jsonl"

# --- read -------------------------------------------------------------------------------------------------------------

expect 0 'read as azure' "$tmp/azure.csv" --model m --plan -o "$tmp/a.plan"
grep -q '"t_ns":52000100' "$tmp/a.plan" || fail "the seventh decimal is lost"
expect 0 'read as azure' "$tmp/azure.csv.gz" --model m --plan -o "$tmp/b.plan"
cmp "$tmp/a.plan" "$tmp/b.plan"
expect 0 'stdin: read as azure' - --model m --plan -o "$tmp/c.plan" <"$tmp/azure.csv.gz"
cmp "$tmp/a.plan" "$tmp/c.plan"
expect 0 'times are taken as s (--time-unit)' "$tmp/mooncake.jsonl" --time-unit s --model m --plan -o "$tmp/s.plan"
grep -q '"t_ns":100000000000,' "$tmp/s.plan" || fail "--time-unit s does nothing"
expect 0 'read as mooncake' "$tmp/mooncake.jsonl" --barrier-ties --model m --plan -o "$tmp/ties.plan"
[ "$(grep -c '"group":[01],' "$tmp/ties.plan")" = 4 ] || fail "--barrier-ties makes no groups"
expect 0 'read as mooncake' "$tmp/mooncake.jsonl" --seed 7 --model m --requests 1 --plan -o "$tmp/seed.plan"
[ "$(grep -c '"id":' "$tmp/seed.plan")" = 1 ] && grep -q '"text_seed":7' "$tmp/seed.plan" || fail "--requests 1 gives more"
! grep -q -F -f "$tmp/seed.plan" "$tmp/ties.plan" || fail "--seed 7 changes nothing"
expect 0 'read as mooncake' "$tmp/mooncake.jsonl" --extra '{"ignore_eos": true}' --model m --plan -o "$tmp/extra.plan"
[ "$(grep -c 'ignore_eos' "$tmp/extra.plan")" = 4 ] || fail "--extra adds nothing"
gzip -c "$tmp/a.plan" >"$tmp/a.plan.gz"
"$tokaudit" replay "$tmp/a.plan.gz" --plan -o "$tmp/d.plan"
cmp "$tmp/a.plan" "$tmp/d.plan"

# --- faults -----------------------------------------------------------------------------------------------------------

expect 2 'which model?' "$tmp/azure.csv" --plan
expect 2 'found '"'x'" "$tmp/azure.csv" --format x --plan
expect 2 '--time-unit' "$tmp/azure.csv" --time-unit h --plan
expect 2 '--extra' "$tmp/azure.csv" --extra 7 --model m --plan
expect 2 "--extra holds 'model'" "$tmp/azure.csv" --extra '{"model":"x"}' --model m --plan
expect 2 '--scale is for a spec' "$tmp/azure.csv" --scale 2 --model m --plan
expect 3 'no mooncake file, as --format says' "$tmp/azure.csv" --format mooncake --model m --plan
echo '{"timestamp": 1, "input_length": "x"}' >>"$tmp/mooncake.jsonl"
expect 3 'mooncake.jsonl, line 5: its input_length is not a whole number' "$tmp/mooncake.jsonl" --model m --plan
head -c 60 "$tmp/azure.csv.gz" >"$tmp/cut"
expect 3 'the gzip stream ends early' - --format azure --model m --plan <"$tmp/cut"
echo 'hello' >"$tmp/hello"
expect 3 'neither a workload' - --plan <"$tmp/hello"
sed -i.bak '5d' "$tmp/mooncake.jsonl"

# --- sent, and written again ------------------------------------------------------------------------------------------

serve ideal --profile ideal
expect 0 '4 requests in 100 ms' "$tmp/mooncake.jsonl" --target "http://127.0.0.1:$port" -o "$tmp/run.pcapng.gz"

expect 0 '4 of 4 requests written as mooncake' "$tmp/run.pcapng.gz" --export mooncake -o "$tmp/again.jsonl"
! grep -q 'the workload asks for' "$tmp/err" || fail "lengths that the server stated are called asked for"
python3 - "$tmp" <<'END'
import json, sys
rows = [[json.loads(line) for line in open(sys.argv[1] + name)] for name in ('/mooncake.jsonl', '/again.jsonl')]
assert len(rows[1]) == 4, rows[1]
for asked, got in zip(*rows):
    assert got['output_length'] == asked['output_length'], (asked, got)
    assert got['input_length'] >= 1, got
times = [row['timestamp'] for row in rows[1]]
assert times == sorted(times) and times[0] == 0 and times[3] > 0, times
END
expect 0 'lost: all times' "$tmp/run.pcapng.gz" --export aiperf -o "$tmp/bodies.jsonl"
expect 0 'read as raw_payload' "$tmp/bodies.jsonl" --plan -o "$tmp/bodies.plan"
python3 - "$tmp" <<'END'
import json, sys
sent = [json.loads(line)['body'] for line in open(sys.argv[1] + '/bodies.plan')]
assert sent == open(sys.argv[1] + '/bodies.jsonl').read().splitlines(), sent
END
expect 0 'written as azure' "$tmp/run.pcapng.gz" --export azure -o "$tmp/again.csv"
expect 0 '4 requests in' "$tmp/again.csv" --export burstgpt -o "$tmp/burst.csv"
[ "$(wc -l <"$tmp/burst.csv")" = 5 ] || fail "burstgpt has not four rows and a header"
expect 4 'creating' "$tmp/azure.csv" --export mooncake -o "$tmp/no/such/folder"
passed
