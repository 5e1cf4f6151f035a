#!/bin/sh
# replay_words.sh TOKAUDIT: what replay and serve say, and what they refuse before they touch anything: credentials stay out of
# the trace, inputs are never overwritten, what was changed is counted over what was sent, and no option is ignored in silence.
set -u
. tests/support/cli.sh
command -v python3 >/dev/null || { skip "all of it: no python3"; exit 0; }

"$tokaudit" serve --profile ideal -l 127.0.0.1:0 --ready-file "$tmp/port" >"$tmp/serve.out" 2>"$tmp/serve.err" &
pids=$!
until [ -s "$tmp/port" ]; do
    kill -0 "$pids" 2>/dev/null || die "no server: $(cat "$tmp/serve.err")"
    sleep 0.05
done
target=http://127.0.0.1:$(cat "$tmp/port")
cat >"$tmp/spec.json" <<'END'
{"workload": "w", "model": "m", "repeats": 3, "prompts": [{"name": "a", "text": "one", "max_tokens": 4}, {"name": "b", "text": "two", "max_tokens": 4}]}
END
cd "$tmp" || exit 1
status 0 "$tokaudit" replay spec.json --target "$target" -o base.pcapng.gz
refused() { # TEXT ARGS...
    text=$1
    shift
    status 2 "$tokaudit" "$@"
    says "$text"
}

# A key of the environment is blanked with equal length, whatever the field is called; the server gets it.
KEY=sesame-open-4711
export KEY
for name in X-My-Thing X-LLM-Gateway User-Agent Authorization; do
    status 0 "$tokaudit" replay base.pcapng.gz --target "$target" --key-env $name=KEY --speed 100 -o key.pcapng.gz
    ! gzip -dc key.pcapng.gz | grep -aq sesame || fail "$name: the key is in the trace"
    gzip -dc key.pcapng.gz | grep -aq "$name: \*\{16\}" || fail "$name: no blanks of the key's length"
    prints "^replaced    .*header field $name.* the credential from the environment, blanked in the trace (6 requests)"
    ! grep -q sesame out err || fail "$name: the key is said"
done
for name in Host Content-Length Transfer-Encoding Connection Expect; do
    refused "--key-env '$name='" replay base.pcapng.gz --target "$target" --key-env $name=KEY -o no.pcapng.gz
done

refused 'expected the name of an environment variable' replay base.pcapng.gz --target "$target" --key-env sk-sesame -o no.pcapng.gz
! grep -q sesame err || fail "a key that was given for its variable is said"

# What would frame a request otherwise is refused; what is legal is sent, counted over what was sent, and in the trace's note.
for field in 'Content-Length: 3' 'transfer-encoding: chunked' 'Connection: upgrade' 'Upgrade: h2c'; do
    refused "--header '${field%%:*}':" replay base.pcapng.gz --target "$target" -H "$field" -o no.pcapng.gz
done
refused 'HTTP allows one Host' replay base.pcapng.gz --target "$target" -H 'Host: a' -H 'Host: b' -o no.pcapng.gz
status 0 "$tokaudit" replay base.pcapng.gz --target "$target" -H 'User-Agent: me' -H 'X-Tag: t' -H 'Connection: close' \
    --model other --requests 4 --speed 100 -o four.pcapng.gz
prints '^replaced    model m by other, Content-Length with it (4 requests)$'
prints '^replaced    header field User-Agent by the one of --header (4 requests)$'
prints '^replaced    added: header field X-Tag, the one of --header (4 requests)$'
prints '^replaced    added: header field Connection, the one of --header (4 requests)$'
status 0 "$tokaudit" replay base.pcapng.gz --target "$target" -H 'Host: elsewhere:9' --requests 1 -o host.pcapng.gz
prints '^replaced    Host 127.0.0.1:[0-9]* by elsewhere:9 (1 request)$'
gzip -dc host.pcapng.gz | grep -aq 'Host: elsewhere:9' || fail "the Host of --header was not sent"
(cd "$OLDPWD" && python3 - "$tmp/four.pcapng.gz" "$tmp/host.pcapng.gz") <<'PY' || fail "notes: see above"
import sys
sys.path.insert(0, "tests/support")
from ledger import notes
for path, n in zip(sys.argv[1:], ("(4 requests)", "(1 request)")):
    first, last = notes(path)
    assert [l + " " + n for l in first["replaced"]] == last["replaced"] and last["replaced"], (first, last)
PY
# A plan says how long its bodies are, or nothing; one made of a trace is taken.
status 0 "$tokaudit" replay base.pcapng.gz --plan -o base.plan
status 0 "$tokaudit" replay base.plan --plan -o again.plan
cmp -s base.plan again.plan || fail "--plan of a plan differs"
for fields in '[["Content-Length","7"]]' '[["Transfer-Encoding","gzip"]]' '[["Transfer-Encoding","chunked"],["Content-Length","3"]]' \
    '[["Content-Length","+3"]]'; do
    echo "{\"path\":\"/a\",\"headers\":$fields,\"body\":\"abc\"}" >framed.plan
    status 3 "$tokaudit" replay framed.plan --plan
    says 'framed.plan, line 1: its Content-Length\|its Transfer-Encoding\|it has a Content-Length and'
done
echo '{"path":"/a","headers":[["Content-Length","03"]],"body":"abc"}' >framed.plan
status 0 "$tokaudit" replay framed.plan --plan

# An input is never an output, by whatever name.
ln -s base.pcapng.gz soft
ln base.pcapng.gz hard
ln spec.json spec.hard
cp base.pcapng.gz kept.gz
cp spec.json kept.json
for out in base.pcapng.gz ./base.pcapng.gz soft hard; do
    refused 'would be read and written at once: name another -o' replay base.pcapng.gz --target "$target" -o $out
    refused 'would be read and written at once: name another -o' replay base.pcapng.gz --plan -o $out
    refused 'would be read and written at once: name another -o' replay base.pcapng.gz --export burstgpt -o $out
    refused 'would be read and written at once: name another --truth' serve base.pcapng.gz -l 127.0.0.1:0 --truth $out
    refused 'would be read and written at once: name another --ready-file' serve base.pcapng.gz -l 127.0.0.1:0 --ready-file $out
done
refused 'would be read and written at once' replay spec.json --plan -o spec.hard
refused 'would be read and written at once' serve base.pcapng.gz kept.gz -l 127.0.0.1:0 --truth kept.gz
refused 'would be read and written at once' serve --profile ./spec.json -l 127.0.0.1:0 --truth spec.json
refused '--truth and --ready-file are both one' serve --profile ideal -l 127.0.0.1:0 --truth one --ready-file one
status 2 "$tokaudit" replay - --plan -o spec.json <spec.json
cmp -s base.pcapng.gz kept.gz && cmp -s spec.json kept.json || fail "an input was overwritten"

# Numbers that are none, and options that mean nothing here: what was found, and of which option.
for value in nan inf -inf; do
    refused "--rate: expected a number, found '$value'" replay base.pcapng.gz --plan --rate=$value
    refused "--speed: expected a number, found '$value'" replay base.pcapng.gz --plan --speed=$value
    refused "--speed: expected a number, found '$value'" serve base.pcapng.gz --speed=$value
    refused "--time-scale: expected a number, found '$value'" serve --profile ideal --time-scale=$value
done
for value in 0 -1; do
    refused "--rate: expected more than 0 .*found $value" replay base.pcapng.gz --plan --rate=$value
    refused "--speed: expected a number above 0, found $value" replay base.pcapng.gz --plan --speed=$value
    refused "--speed: expected 0.001 to 1000000, found $value" serve base.pcapng.gz --speed=$value
    refused "--time-scale: expected more than 0 and at most 1, found $value" serve --profile ideal --time-scale=$value
done
for option in repeat requests timeout duration concurrency; do
    refused "replay: --$option: expected more than 0, found 0" replay base.pcapng.gz --plan --$option 0
done
refused "--model: expected a name, found ''" replay base.pcapng.gz --plan --model ''
for input in base.pcapng.gz base.plan spec.json; do
    refused '--seed is for --arrivals poisson' replay $input --plan --seed 3
    refused '--time-unit is for another tool' replay $input --plan --time-unit s
    refused '--barrier-ties is for another tool' replay $input --plan --barrier-ties
    refused '--extra is for another tool' replay $input --plan --extra '{"a": 1}'
done
for option in '--header X-A:b' '--key-env KEY' '--label name'; do
    # shellcheck disable=SC2086 # an option and its argument
    refused "${option%% *} is of what is sent; --plan sends nothing" replay base.pcapng.gz --plan $option
done

# Seeds are stated, in plan, trace and closing words, also when they are the default.
status 0 "$tokaudit" replay base.pcapng.gz --plan --rate 9 --arrivals poisson -o poisson.plan
[ "$(head -1 poisson.plan)" = '{"plan":1,"arrivals_seed":0}' ] || fail "no seed of the arrivals: $(head -1 poisson.plan)"
echo '{"timestamp":0,"input_length":9,"output_length":3}' >rows.jsonl
status 0 "$tokaudit" replay rows.jsonl --plan --model m -o rows.plan
[ "$(head -1 rows.plan)" = '{"plan":1,"text_seed":0}' ] || fail "no seed of the text: $(head -1 rows.plan)"
for input in rows.jsonl rows.plan; do
    status 0 "$tokaudit" replay $input --model m --target "$target" -o rows.pcapng.gz
    prints '^made        prompts, with seed 0$'
    gzip -dc rows.pcapng.gz | grep -aq 'prompts made here, with seed 0' || fail "$input: no seed in the trace"
done

# A request that is given up tears its connection: that is not the server's doing. Of few values there is no p99.
python3 - "$tokaudit" <<'PY' || fail "time-outs: see above"
import socket, subprocess, sys, threading
deaf = socket.create_server(("127.0.0.1", 0))
conns = []
def accept():
    while True:
        conns.append(deaf.accept()[0])
threading.Thread(target=accept, daemon=True).start()
p = subprocess.run([sys.argv[1], "replay", "base.pcapng.gz", "--mode", "closed", "--speed", "100", "--timeout", "200ms", "--target",
                    f"http://127.0.0.1:{deaf.getsockname()[1]}", "-o", "deaf.pcapng.gz"], text=True, capture_output=True)
assert p.returncode == 1 and "outcomes    timeout 6;" in p.stdout, p
assert "closed by the server" not in p.stdout and "stand by" not in p.stdout and "p99" not in p.stdout, p.stdout
assert "opened another, theirs having been torn with a request given up" in p.stdout, p.stdout
PY

# Words of other faults.
refused 'holds a path, which is of the requests' replay base.pcapng.gz --target http://127.0.0.1:1/v1 -o no.pcapng.gz
for url in http://me:sesame@host https://me:sesame@host/x ftp://me:sesame@host; do
    refused '\.\.\.@host' replay base.pcapng.gz --target $url -o no.pcapng.gz
    ! grep -q sesame err || fail "$url: the password is said"
done
status 4 "$tokaudit" serve --profile ideal -l 192.0.2.1:0
says 'it is no address of this machine'
echo '{"path":"/a","t_ns":-5}' >bad.plan
status 3 "$tokaudit" replay bad.plan --plan
says "'t_ns' is not a whole number from 0 on, or left out"
echo '{"timestamp":0,"input_length":"many","output_length":3}' >bad.jsonl
status 3 "$tokaudit" replay bad.jsonl --plan --model m
says 'its input_length is not a whole number from 0 to 10000000: found "many"'
status 0 "$tokaudit" replay rows.jsonl --export mooncake
says 'no bodies, names of models'
python3 -c 'print("\n".join("{\"timestamp\":%d,\"input_length\":9,\"output_length\":%d}" % (i, i * 7919 % 997 + 1) for i in range(3000)))' |
    gzip | head -c 3000 >cut.jsonl.gz
status 3 "$tokaudit" replay cut.jsonl.gz --plan --model m
says 'cut.jsonl.gz: the gzip stream ends early'
cd "$OLDPWD" || exit 1
[ ! -e "$tmp/no.pcapng.gz" ] || fail "a trace is left of what was refused"
passed
