#!/bin/sh
# The example trace of a real llama.cpp server, replayed against that server and against `serve` of the trace, in the modes
# recorded and closed, and how faithful each was.
#
#   tests/real/llama_replay.sh BINARY [FOLDER]    FOLDER (default build/llama) as llama.sh leaves it
#
# Passes only if every request was answered as recorded, with the bodies of the recording, and if `serve` gave the recorded
# token counts. The real server may count otherwise; that is shown.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=${2:-build/llama}
trace=$(cd "$here/../.." && pwd)/traces/examples/llama.cpp-smollm2-135m.pcapng.gz
port=${LLAMA_PORT:-18080}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
served=
sh "$here/llama-server.sh" install "$dir"
trap 'sh "$here/llama-server.sh" stop "$dir"; [ -z "$served" ] || kill "$served"' EXIT
trap 'exit 130' INT TERM
sh "$here/llama-server.sh" start "$dir" "$port"

rm -f "$dir/served.port"
"$bin" serve "$trace" --listen 127.0.0.1:0 --ready-file "$dir/served.port" >"$dir/served.log" 2>&1 &
served=$!
until [ -s "$dir/served.port" ]; do
    kill -0 "$served" || { cat "$dir/served.log" >&2; exit 1; }
    sleep 0.1
done

# once NAME PORT MODE
once() {
    "$bin" replay "$trace" --mode "$3" --target "http://127.0.0.1:$2" --label "$1" -o "$dir/replay-$1-$3.pcapng.gz"
    "$bin" analyze "$dir/replay-$1-$3.pcapng.gz" --format json -o "$dir/replay-$1-$3.json"
}
for mode in recorded closed; do
    once llama.cpp "$port" "$mode"
    once served "$(cat "$dir/served.port")" "$mode"
done
"$bin" analyze "$dir"/replay-*.pcapng.gz --report "$dir/replay-report"

python3 - "$dir" <<'END'
import json, sys
bad = 0
for name in ("llama.cpp", "served"):
    for mode in ("recorded", "closed"):
        f = json.load(open("%s/replay-%s-%s.json" % (sys.argv[1], name, mode)))["traces"][0]["fidelity"]
        ok = (f["found"] == f["entries"] > 0 and f["bodies"]["differ"] == 0 and f["statuses"]["differ"] == 0
              and (name != "served" or f["tokens"]["differ"] == 0))
        bad += not ok
        print("%-10s %-9s %s found %d of %d, bodies as planned %d, statuses as recorded %d, token counts differ in %s, send error at most %s us" % (
            name, mode, "ok " if ok else "BAD", f["found"], f["entries"], f["bodies"]["same"], f["statuses"]["same"],
            f["tokens"] and f["tokens"]["differ"], f["send_error"] and f["send_error"]["max_ns"] / 1e3))
sys.exit(bad > 0)
END
