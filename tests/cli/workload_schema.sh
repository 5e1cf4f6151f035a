#!/bin/sh
# workload_schema.sh TOKAUDIT: specs and plans are what their schemas say: the shipped ones, the examples beside the
# schemas, and what replay --plan writes; and replay reads what the schemas allow.
set -eu
. tests/support/cli.sh
spec=replay/schema/workload.schema.json
plan=replay/schema/plan.schema.json

python3 tests/support/schema_check.py "$spec" replay/schema/example.workload.json replay/workloads/*.json
python3 tests/support/schema_check.py "$plan" replay/schema/example.plan.jsonl

"$tokaudit" replay replay/schema/example.workload.json --model m --plan -o "$tmp/spec.jsonl"
"$tokaudit" replay replay/schema/example.plan.jsonl --plan -o "$tmp/plan.jsonl"
[ "$(grep -c '"path"' "$tmp/spec.jsonl")" = 18 ]
[ "$(grep -c '"path"' "$tmp/plan.jsonl")" = 4 ]
python3 tests/support/schema_check.py "$plan" "$tmp/spec.jsonl" "$tmp/plan.jsonl"

# What is not allowed is refused by both: each faulty copy of an example's last document has a name of its own.
python3 - "$tmp" <<'END'
import json, sys
faults = {
    'replay/schema/example.workload.json': [
        "d['more'] = 1", "d['workload'] = 'a b'", "del d['prompts'][0]['prompt_tokens']", "d['prompts'] = []",
        "d['order'] = 'random'", "d['concurrency'] = 4097", "d['repeats'] = 0", "d['barrier'] = 1", "d['seed'] = -1",
        "d['prompts'][0]['max_tokens'] = 1.5", "d['temperature'] = 101"],
    'replay/schema/example.plan.jsonl': [
        "del d['path']", "d['path'] = 'x'", "d['method'] = 'G T'", "d['t_ns'] = 0.5", "d['headers'] = [['a']]",
        "d['body'] = {}", "d['body_b64'] = 'A'", "d['expect'] = 1", "d['recorded'] = {'conn': 1}",
        "d['pause_ns'] = -1", "d['conn'] = 10000000"]}
for example, changes in faults.items():
    end = example.split('.', 1)[1]
    for i, change in enumerate(changes):
        text = open(example).read()
        documents = [json.loads(t) for t in (text.splitlines() if end.endswith('l') else [text])]
        exec(change, {'d': documents[-1]})
        with open('%s/faulty-%d.%s' % (sys.argv[1], i, end), 'w') as f:
            f.write('\n'.join(json.dumps(d) for d in documents))
END
python3 tests/support/schema_check.py "$spec" "$tmp"/faulty-*.workload.json >"$tmp/faults" || :
python3 tests/support/schema_check.py "$plan" "$tmp"/faulty-*.plan.jsonl >>"$tmp/faults" || :
for file in "$tmp"/faulty-*; do
    grep -q "^$file" "$tmp/faults" || fail "the schema accepts $(basename "$file")"
    status 3 "$tokaudit" replay "$file" --model m --plan -o "$tmp/none"
done
passed
