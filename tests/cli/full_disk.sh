#!/bin/sh
# full_disk.sh TOKAUDIT: a disk that fills while a capture runs. The capture ends and says so; what was written is
# intact, and is read.
set -u
. tests/support/cli.sh
disk=$tmp/disk
mounted=
at_end() {
    [ -z "$mounted" ] || umount "$disk"
}
without() {
    skip "everything: $*"
    exit 0
}

command -v python3 >/dev/null || without "no python3, which sends the packets"
mkdir "$disk"
[ "$(id -u)" = 0 ] || without "only root may mount a small disk"
mount -t tmpfs -o size=512k,mode=777 none "$disk" 2>"$tmp/err" || without "cannot mount a small disk: $(cat "$tmp/err")"
mounted=yes
"$tokaudit" capture -p 1 --duration 1ms -o "$disk/probe" 2>"$tmp/err" || {
    grep -q "no right to capture" "$tmp/err" && without "no rights to capture here"
    fail "cannot capture: $(cat "$tmp/err")"
}
rm -f "$disk/probe"

# Datagrams that do not compress, until it is told to end.
cat >"$tmp/load.py" <<'PY'
import os, socket, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("127.0.0.1", 0))
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(sink.getsockname())
while True:
    for i in range(20):
        out.send(os.urandom(1400))
    time.sleep(0.01)
PY
"$tokaudit" capture --filter udp -o "$disk/run.pcapng.gz" -- python3 "$tmp/load.py" 2>"$tmp/err"
[ $? = 125 ] || fail "status is not 125: $(cat "$tmp/err")"
says "cannot write the trace to $disk/run.pcapng.gz after [0-9]* bytes; what is there so far can be read: No space left"
says "Telling COMMAND to end"

"$tokaudit" verify "$disk/run.pcapng.gz" >"$tmp/out" 2>&1
[ $? = 1 ] || fail "verify: $(cat "$tmp/out")"
prints ': UNCLOSED: member '
prints 'intact, as far as it goes'
"$tokaudit" analyze --format json "$disk/run.pcapng.gz" >"$tmp/json" 2>"$tmp/err" || fail "analyze: $(cat "$tmp/err")"
python3 - "$tmp/json" <<'PY' || fail "analyze found nothing"
import json, sys
t = json.load(open(sys.argv[1]))["traces"][0]
assert t["packets"] > 100, t
PY

# A disk that is full from the start: known before COMMAND runs.
dd if=/dev/zero of="$disk/fill" bs=4096 2>/dev/null
"$tokaudit" capture -p 1 -o "$disk/none" -- touch "$tmp/ran" 2>"$tmp/err"
[ $? = 125 ] || fail "a full disk is not 125: $(cat "$tmp/err")"
says 'No space left'
[ ! -e "$tmp/ran" ] || fail "COMMAND ran though nothing could be recorded"

passed
