#!/bin/sh
# replay_tls.sh TOKAUDIT: replay over TLS: the certificate and its name are verified, a key from the environment reaches
# the server and never the trace, and the trace holds the plaintext.
set -u
. tests/support/cli.sh
front=$(dirname "$tokaudit")/tests/tls_front

serve plain --profile ideal --time-scale 0.01
plain=$port
mkfifo "$tmp/hold"
"$front" "$plain" "$tmp/ca.pem" "$tmp/secure" <"$tmp/hold" 2>"$tmp/front.err" &
pids="$pids $!"
exec 9>"$tmp/hold" # the front ends when this does
until [ -s "$tmp/secure" ]; do
    kill -0 $! 2>/dev/null || die "tls_front did not start: $(cat "$tmp/front.err")"
    sleep 0.05
done
secure=$(cat "$tmp/secure")

cat >"$tmp/spec.json" <<'END'
{"workload": "tls", "model": "any", "concurrency": 3, "barrier": true, "repeats": 2,
 "prompts": [{"name": "short", "prompt_tokens": 40, "max_tokens": 8},
             {"name": "long", "prompt_tokens": 30000, "max_tokens": 8}]}
END

replay() { # STATUS ARGS...
    want=$1
    shift
    status "$want" "$tokaudit" replay "$tmp/spec.json" "$@"
}

none=$tmp/none.pcapng.gz
unbegun() { # a whole trace says so of each request
    prints '^outcomes    tls-failed 12;'
    status 0 "$tokaudit" verify "$none"
    rm -f "$none"
}
replay 4 --target "https://127.0.0.1:$secure" -o "$none"
says 'its certificate is not accepted: self-signed certificate'
unbegun
replay 4 --target "https://127.0.0.1:$plain" -o "$none"
says 'plain HTTP'
unbegun
replay 2 --target "http://127.0.0.1:$plain" --ca "$tmp/ca.pem" -o "$none"
says 'are for https://'
replay 2 --target "https://127.0.0.1:$secure" --ca "$tmp/spec.json" -o "$none"
says 'expected PEM'
replay 2 --target "https://127.0.0.1:$secure" -H 'Authorization: Bearer sk-typed' -o "$none"
says "key-env 'Authorization=VARIABLE'"
replay 2 --target "https://127.0.0.1:$secure" --key-env TOKAUDIT_NO_SUCH_KEY -o "$none"
says 'no TOKAUDIT_NO_SUCH_KEY'
if [ "$(uname)" = Linux ]; then # where all of 127/8 is this machine; the certificate is for 127.0.0.1
    replay 4 --target "https://127.0.0.2:$secure" --ca "$tmp/ca.pem" -o "$none"
    says 'IP address mismatch'
    unbegun
fi
[ ! -e "$none" ] || fail "a trace of what was refused"

export TOKAUDIT_TEST_KEY=sk-from-the-environment-0123456789
replay 0 --target "https://127.0.0.1:$secure" --ca "$tmp/ca.pem" --key-env TOKAUDIT_TEST_KEY -o "$tmp/tls.pcapng.gz"
replay 0 --target "https://localhost:$secure" --insecure --key-env X-Api-Key=TOKAUDIT_TEST_KEY \
    -o "$tmp/insecure.pcapng.gz"
prints 'not verified'
replay 0 --target "http://127.0.0.1:$plain" -o "$tmp/plain.pcapng.gz"

stars=$(printf '%s' "$TOKAUDIT_TEST_KEY" | tr -c '' '*')
for trace in tls insecure plain; do
    status 0 "$tokaudit" analyze --format json "$tmp/$trace.pcapng.gz" -o "$tmp/$trace.json"
    python3 -c 'import json, sys
for r in sorted(json.load(open(sys.argv[1]))["requests"], key=lambda r: (r["name"] or "", r["status"])):
    print(r["method"], r["path"], r["name"], r["status"], r["outcome"], r["tokens"]["stated"], r["tokens"]["events"])
' "$tmp/$trace.json" >"$tmp/$trace.said"
    [ "$(grep -c ' success 8 8$' "$tmp/$trace.said")" = 12 ] || fail "not 12 successes in $trace: $(cat "$tmp/$trace.said")"
    gzip -dc "$tmp/$trace.pcapng.gz" >"$tmp/raw"
    ! grep -q -a sk-from-the-environment "$tmp/raw" || fail "the key is in $trace.pcapng.gz"
done
for trace in tls insecure; do
    cmp -s "$tmp/plain.said" "$tmp/$trace.said" || fail "$trace differs from plain: $(diff "$tmp/plain.said" "$tmp/$trace.said")"
done
gzip -dc "$tmp/tls.pcapng.gz" | grep -q -a -F "Authorization: " || fail "the key was not sent"
gzip -dc "$tmp/insecure.pcapng.gz" | grep -q -a -F "X-Api-Key: $stars" || fail "the key was not sent as X-Api-Key"
passed
