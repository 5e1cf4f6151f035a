#!/bin/sh
# capture.sh TOKAUDIT: real traffic over loopback through the real program: statuses, rights, ledger, signals.
set -u
. tests/support/cli.sh
# has FILE PATTERN: in the JSON blocks of a trace.
has() {
    gzip -dc "$1" | grep -a -q -e "$2" || fail "$1 has no $2"
}

# --- usage: needs no rights ---------------------------------------------------------------------

status 2 "$tokaudit" capture -p 0
says "1 to 65535"
status 2 "$tokaudit" capture -p 80x
status 2 "$tokaudit" capture -p 80 --filter tcp
status 2 "$tokaudit" capture --snaplen 1
status 2 "$tokaudit" capture sleep 1
says "behind --"
status 2 "$tokaudit" capture -o - -- true
status 0 "$tokaudit" capture --help

# --- rights -------------------------------------------------------------------------------------

# The leak checker can't look into a program that became another user.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
chmod 711 "$tmp"
mkdir -m 777 "$tmp/open"

# refused COMMAND...: what a capture without rights says, run as COMMAND... tokaudit.
refused() {
    status 4 "$@" "$tokaudit" capture -o "$tmp/open/none"
    says "setcap cap_net_raw+ep '.*tokaudit'"
    says "sudo"
    says "replay"
    status 125 "$@" "$tokaudit" capture -o "$tmp/open/none" -- true
    [ ! -e "$tmp/open/none" ] || fail "a refused capture left a file"
}

"$tokaudit" capture --duration 1ms -o "$tmp/probe" 2>"$tmp/err"
probe=$?
if [ $probe = 4 ] && grep -q "no right to capture" "$tmp/err"; then
    refused
    skip "all that captures: no rights here (run it as root)"
    passed
fi
[ $probe = 0 ] || fail "cannot capture on loopback, status $probe: $(cat "$tmp/err")"

nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && nobody test -x "$tokaudit"; then
    refused nobody
else
    skip "a capture without rights: needs root, setpriv, and a program that others may run"
fi

# --- statuses -----------------------------------------------------------------------------------

status 4 "$tokaudit" capture -i no-such-interface -o "$tmp/a"
says "there are: .*lo"
status 2 "$tokaudit" capture --filter 'tcp port' -o "$tmp/a"
status 4 "$tokaudit" capture -o "$tmp/no/such/folder"
status 125 "$tokaudit" capture -o "$tmp/no/such/folder" -- true
status 127 "$tokaudit" capture -p 1 -o "$tmp/a" -- "$tmp/no-such-command"
status 126 "$tokaudit" capture -p 1 -o "$tmp/a" -- "$tmp"
status 137 "$tokaudit" capture -p 1 -o "$tmp/a" --tail 0 -- sh -c 'kill -9 $$'
status 143 "$tokaudit" capture -p 1 -o "$tmp/a" --tail 0 --duration 100ms -- sleep 60
status 5 "$tokaudit" capture -p 1 -o "$tmp/a" --tail 0 -- sh -c 'exit 5'
says "0 packets"
says "container"

# --- as the user who called sudo ----------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
    SUDO_UID=65534 SUDO_GID=65534 "$tokaudit" capture -p 1 --tail 0 -o "$tmp/open/theirs" \
        -- sh -c 'id -u; id -g; echo "$HOME" "$USER" "$LOGNAME"' >"$tmp/out" 2>"$tmp/err"
    name=$(id -un 65534 2>/dev/null)
    home=$(awk -F: '$3 == 65534 { print $6; exit }' /etc/passwd)
    [ "$(head -n 2 "$tmp/out" | xargs)" = "65534 65534" ] || fail "COMMAND ran as $(xargs <"$tmp/out")"
    [ "$(tail -n 1 "$tmp/out")" = "$home $name $name" ] || fail "environment of $(tail -n 1 "$tmp/out")"
    [ "$(ls -n "$tmp/open/theirs" | awk '{ print $3, $4 }')" = "65534 65534" ] || fail "the file is not the caller's"
    has "$tmp/open/theirs" '"kind":"closing"'
fi

# --- signals ------------------------------------------------------------------------------------

# wait_for PATTERN FILE
wait_for() {
    tries=0
    until grep -q -e "$1" "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { fail "no '$1' in $2: $(cat "$2")"; return; }
        sleep 0.1
    done
}
# What an earlier program wrote must not pass for this one's word: a signal to a child that is not yet exec'd is lost.
for signal in INT TERM; do
    rm -f "$tmp/err"
    "$tokaudit" capture -p 1 -o "$tmp/signal" 2>"$tmp/err" &
    wait_for capturing "$tmp/err"
    kill -$signal $!
    wait $! || fail "status $? after SIG$signal"
    has "$tmp/signal" '"kind":"closing"'
done
rm -f "$tmp/out"
# COMMAND is told, awaited, and its status counts.
"$tokaudit" capture -p 1 --tail 0 -o "$tmp/signal" -- sh -c '
    trap "sleep 0.2; exit 6" TERM; echo up; while :; do sleep 0.05; done' >"$tmp/out" 2>"$tmp/err" &
wait_for up "$tmp/out"
kill -TERM $!
wait $!
[ $? = 6 ] || fail "COMMAND's status after SIGTERM was lost: $(cat "$tmp/err")"
has "$tmp/signal" '"name":"interrupted"'
has "$tmp/signal" '"name":"load-end"'

# --- traffic ------------------------------------------------------------------------------------

if ! command -v python3 >/dev/null; then
    skip "traffic: no python3"
    passed
fi
mkdir "$tmp/www"
head -c 16777216 /dev/zero >"$tmp/www/burst"
python3 -u -c '
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, "is the port")
server.serve_forever()' "$tmp/www" >"$tmp/port" 2>/dev/null &
server=$!
pids=$server
wait_for port "$tmp/port"
port=$(cut -d' ' -f1 "$tmp/port")
cat >"$tmp/load.py" <<'PY'
import os, sys, time, urllib.request
for i in range(2):
    assert len(urllib.request.urlopen("http://127.0.0.1:%s/burst" % sys.argv[1]).read()) == 16777216
os.write(int(os.environ["TOKAUDIT_LEDGER_FD"]), b'{"name":"one"}\nnonsense\n{"name":"two"}')
time.sleep(0.3)
sys.exit(7)
PY
status 7 "$tokaudit" capture -p "$port" -o "$tmp/run.pcapng.gz" --label L -- python3 "$tmp/load.py" "$port"
says "none dropped"
says "1 lines on the ledger pipe"
trace=$tmp/run.pcapng.gz
has "$trace" '"kind":"ledger","entries":\[{"name":"one"}[],]'
has "$trace" '"kind":"ledger".*{"name":"two"}\]}'
has "$trace" '"name":"load-start"'
has "$trace" '"kind":"samples".*"p":\[{"pid":'"$server"',.*"rss_b":[1-9]'
has "$trace" '"self":{"cpu_ns":[1-9]'
has "$trace" '"label":"L"'
# Each packet of the burst once, and all of it: the kernel's count is ours.
gzip -dc "$trace" | grep -a -o '{"kind":"closing".*}' >"$tmp/closing"
python3 - "$tmp/closing" <<'PY' || fail "counts: $(cat "$tmp/closing")"
import json, sys
c = json.loads(open(sys.argv[1]).read())
sys.exit(not (c["bytes"] > 2 * 16777216 and c["dropped"] == 0 and c["received"] == c["packets"]))
PY
if command -v tshark >/dev/null; then
    seen=$(tshark -r "$trace" -o tcp.reassemble_out_of_order:TRUE -Y http.response \
        -T fields -e http.content_length 2>"$tmp/err" | xargs)
    [ "$seen" = "16777216 16777216" ] || fail "tshark saw responses of '$seen' bytes: $(cat "$tmp/err")"
    # Two processors may record their packets in the other order; that each byte is there is what counts.
    tshark -r "$trace" -Y "tcp.srcport == $port && tcp.len > 0" -T fields -e tcp.stream -e tcp.seq -e tcp.len \
        >"$tmp/segments" 2>/dev/null
    python3 - "$tmp/segments" <<'PY' || fail "bytes of the burst are missing"
import sys
streams = {}
for line in open(sys.argv[1]):
    stream, seq, length = map(int, line.split())
    streams.setdefault(stream, []).append((seq, seq + length))
for segments in streams.values():
    end = 1
    for first, last in sorted(segments):
        assert first <= end, (first, end)
        end = max(end, last)
    assert end > 16777216, end
assert len(streams) == 2, len(streams)
PY
else
    skip "the check by tshark: it is not installed"
fi

# A stream to stdout.
"$tokaudit" capture -p "$port" --duration 300ms -o - 2>/dev/null | gzip -dc 2>"$tmp/err" | grep -a -q '"kind":"closing"' ||
    fail "no whole trace on stdout: $(cat "$tmp/err")"

passed
