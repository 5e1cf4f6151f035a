#!/bin/sh
# redact.sh TOKAUDIT: a shared trace holds no text and gives the same figures; secrets of a live run never reach the file.
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
failures=0
fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

# --- texts --------------------------------------------------------------------------------------

example=traces/examples/llama.cpp-smollm2-135m.pcapng.gz
"$bin" capture --read $example --redact bodies -o "$dir/shared.pcapng.gz" 2>"$dir/err" ||
    fail "--redact bodies: $(cat "$dir/err")"
"$bin" verify "$dir/shared.pcapng.gz" >"$dir/out" 2>&1 || fail "verify: $(cat "$dir/out")"
gzip -dc $example >"$dir/before"
gzip -dc "$dir/shared.pcapng.gz" >"$dir/after"
"$bin" analyze --format json $example >"$dir/before.json"
"$bin" analyze --format json "$dir/shared.pcapng.gz" >"$dir/after.json"

# Every figure, time, count and name; only the bodies' hashes are others.
python3 - "$dir/before.json" "$dir/after.json" <<'END' || fail "the figures changed"
import json, sys

before, after = (json.load(open(p)) for p in sys.argv[1:])
assert after['traces'][0]['redacted'] == 'bodies', after['traces'][0]
assert len(before['requests']) == 26 and before['metrics']


def strip(v):
    if isinstance(v, dict):
        return {k: strip(x) for k, x in v.items() if k not in ('body_sha256', 'packet')}
    return [strip(x) for x in v] if isinstance(v, list) else v


for key in ('requests', 'metrics', 'runs', 'findings'):
    assert strip(before[key]) == strip(after[key]), key
END

# No word of what was asked or answered.
python3 - "$dir/before" "$dir/after" "$dir/before.json" "$dir/after.json" <<'END' || fail "texts are left"
import json, re, sys

before, after = (open(p, 'rb').read() for p in sys.argv[1:3])
contents = re.compile(rb'"content":"((?:[^"\\]|\\.)*)"')
texts = b' '.join(contents.findall(before))
frame = contents.sub(b'', before)
words = set(re.findall(rb'[A-Za-z]{4,}', texts)) | set(re.findall(rb'[A-Za-z]+ [A-Za-z]+', texts))
words = {w for w in words if w.lower() not in frame.lower()}
assert len(words) >= 200, len(words)
left = [w for w in words if w in after]
assert not left, left[:20]
assert len(before) > 400000 and b'"kind":"bodies","requests":[{"client":"127.0.0.1:' in after
# Equal bodies still have equal hashes, and others have others.
bodies, found = ([r['body_sha256'] for r in json.load(open(p))['requests'] if r['method'] == 'POST'] for p in sys.argv[3:])
hashes = re.findall(rb'"sha256":"([0-9a-f]{64})","bytes":\d+,"strings":\d+', after)
assert len(hashes) == len(bodies) and len(set(zip(bodies, hashes))) == len(set(bodies)) == len(set(hashes))
assert found == [h.decode() for h in hashes], 'analyze does not find the hashes'
END

# Once more changes nothing, and what was noted the first time stays.
"$bin" capture --read "$dir/shared.pcapng.gz" --redact bodies -o "$dir/twice.pcapng.gz" 2>"$dir/err" || fail "twice: $(cat "$dir/err")"
"$bin" analyze --format json "$dir/twice.pcapng.gz" >"$dir/twice.json"
python3 - "$dir/after.json" "$dir/twice.json" <<'END' || fail "a second redaction changed something"
import json, sys

once, twice = (json.load(open(p)) for p in sys.argv[1:])
assert [r['body_sha256'] for r in once['requests']] == [r['body_sha256'] for r in twice['requests']]
assert [r['t0_ns'] for r in once['requests']] == [r['t0_ns'] for r in twice['requests']]
END

if command -v tshark >/dev/null; then
    for file in "$example" "$dir/shared.pcapng.gz"; do
        tshark -r "$file" -o tcp.check_checksum:TRUE -T fields -e tcp.checksum.status -e http.request.uri \
            -e http.response.code -e http.content_length -e tcp.len >"$dir/$(basename "$file").txt" 2>"$dir/err" ||
            fail "tshark does not read $file: $(cat "$dir/err")"
    done
    # The same frames with the same HTTP in them; only custom blocks came and went.
    grep -v '^[[:space:]]*$' "$dir/$(basename $example).txt" >"$dir/a"
    grep -v '^[[:space:]]*$' "$dir/shared.pcapng.gz.txt" >"$dir/b"
    cmp "$dir/a" "$dir/b" || fail "tshark sees other segments, messages or checksums"
else
    echo "redact.sh: SKIP the check by tshark: it is not installed"
fi

# --- secrets ------------------------------------------------------------------------------------

cat >"$dir/load.py" <<'END'
import http.client, http.server, threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Set-Cookie', 'session=hush-1f2e3d')
        self.send_header('Content-Length', '7')
        self.end_headers()
        self.wfile.write(b'{"a":1}')

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection('127.0.0.1', server.server_port)
for i in range(3):
    client.putrequest('POST', '/v1/chat?api_key=hush-1f2e3d')
    for name in ('Authorization', 'x-api-key', 'Cookie'):
        client.putheader(name, ('Bearer ' if name == 'Authorization' else '') + 'hush-1f2e3d')
    client.putheader('Content-Length', '9')
    client.endheaders(b'{"b":"c"}')
    client.getresponse().read()
END
# recorded [OPTION...]: a live run of it, in $dir/live.
recorded() {
    found=0
    "$bin" capture --filter tcp -o "$dir/live.pcapng.gz" "$@" -- python3 "$dir/load.py" 2>"$dir/err" || found=$?
    gzip -dc "$dir/live.pcapng.gz" >"$dir/live" 2>/dev/null || :
}
recorded --redact none
if [ $found = 125 ] && grep -q "no right to capture" "$dir/err"; then
    echo "redact.sh: SKIP what is live: no rights here (run it as root)"
    [ $failures = 0 ] && exit 0 || exit 1
fi
[ $found = 0 ] || fail "capture ended with $found: $(cat "$dir/err")"
grep -a -q hush-1f2e3d "$dir/live" || fail "--redact none: the secrets are not there"
recorded
[ $found = 0 ] || fail "capture ended with $found: $(cat "$dir/err")"
grep -a -q '15 secrets were overwritten' "$dir/err" || fail "what was overwritten is not said: $(cat "$dir/err")"
! grep -a -q 'hush' "$dir/live" || fail "a secret reached the file"
grep -a -q 'Authorization: Bearer \*\*\*\*\*\*\*\*\*\*\*' "$dir/live" || fail "the scheme is gone"
grep -a -q '{"b":"c"}' "$dir/live" || fail "a body changed, though only secrets were to"
grep -a -q '"redacted":"secrets"' "$dir/live" || fail "the manifest does not say so"
recorded --redact bodies
! grep -a -q '{"b":"c"}' "$dir/live" || fail "a text reached the file"
grep -a -q '{"b":"x"}' "$dir/live" || fail "the body lost its form"

[ $failures = 0 ] || exit 1
echo "redact.sh: passed"
