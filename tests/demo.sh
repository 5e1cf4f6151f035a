#!/bin/sh
# The demonstration: two simulated servers of one true speed, one that streams and one that generates first and streams
# afterwards; a harness that prints a phantom for the second; and what the wire says.
#
#   tests/demo.sh BINARY [FOLDER]     FOLDER (default demo-out) is made anew
#
# Records live where it may capture on loopback, else at the client's sockets, and says which. Leaves no process.
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
naive=$(dirname "$bin")/tests/naive_harness
out=${2:-demo-out}
naive_requests=9
naive_tokens=64
pids=

say() { printf '%s\n' "$*"; }
die() {
    say "demo: $*" >&2
    exit 1
}
stop_all() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
    done
    for pid in $pids; do
        wait "$pid" 2>/dev/null || :
    done
    pids=
}
trap stop_all EXIT
trap 'exit 130' INT TERM

[ -x "$naive" ] || die "$naive is not built (configure with -DBUILD_TESTING=ON)"
rm -rf "$out"
mkdir -p "$out/log"

# start PROFILE KEY: a server of its own; its port is in $out/log/KEY.port.
start() {
    "$bin" serve --profile "$1" --listen 127.0.0.1:0 --ready-file "$out/log/$2.port" >"$out/log/$2.serve" 2>&1 &
    pids="$pids $!"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -s "$out/log/$2.port" ] && return 0
        sleep 0.1
    done
    cat "$out/log/$2.serve" >&2
    die "the server '$1' did not start"
}

may_capture() {
    "$bin" capture -p 9 --duration 50ms --sample-hz 0 -o "$out/log/try.pcapng.gz" >"$out/log/try" 2>&1
}

# record NAME LABEL PORT COMMAND...: under a live capture where there are rights.
record() {
    name=$1 label=$2 port=$3
    shift 3
    if [ "$vantage" = libpcap ]; then
        "$bin" capture -p "$port" --label "$label" -o "$out/$name.pcapng.gz" -- "$@"
    else
        "$@"
    fi
}

# load NAME LABEL PORT WORKLOAD: the socket recorder's trace is the one that is kept where nothing else can be had.
load() {
    if [ "$vantage" = libpcap ]; then socket=$out/log/$1.socket.pcapng.gz; else socket=$out/$1.pcapng.gz; fi
    record "$1" "$2" "$3" "$bin" replay "$4" --target "http://127.0.0.1:$3" --label "$2" \
        --scale 0.004 --max-tokens 24 -o "$socket" >"$out/log/$1" 2>&1
}

# 1. Two servers, each twice, so that both workloads run side by side.
vantage=libpcap
may_capture || vantage=socket
for profile in ideal collect-then-replay; do
    start "$profile" "$profile-single"
    start "$profile" "$profile-double"
done
if [ "$vantage" = libpcap ]; then
    say "recording live on loopback (libpcap); no packet of the load is missed unless the trace says so"
else
    say "no rights to capture here, so the recording is the client's own (socket recorder):"
    sed -n 's/^/    /p' "$out/log/try"
fi
say "running run_single and run_double, 5 repeats of 8 requests (pairs), against both servers: about 40 s"
loads=
for profile in ideal collect-then-replay; do
    for kind in single double; do
        load "$profile-$kind" "$profile" "$(cat "$out/log/$profile-$kind.port")" "run_$kind" &
        loads="$loads $!"
    done
done
for pid in $loads; do
    wait "$pid" || {
        cat "$out"/log/*-single "$out"/log/*-double >&2
        die "a recording failed"
    }
done

# 2. The harness with its stopwatch in the wrong place.
port=$(cat "$out/log/collect-then-replay-single.port")
record naive collect-then-replay "$port" "$naive" "$port" "$naive_requests" "$naive_tokens" \
    >"$out/log/naive.json" 2>"$out/log/naive" || die "the naive harness failed: $(cat "$out/log/naive")"
rate=$(sed -n 's/.*"gen_tps_p50":\([0-9]*\).*/\1/p' "$out/log/naive.json")
stop_all

# 3. What the wire says.
cd "$out"
say
say "=== the two servers, recomputed from the bytes ==="
"$bin" analyze ideal-*.pcapng.gz collect-then-replay-*.pcapng.gz
say
say "=== a naive harness says of collect-then-replay: $rate tok/s (median of $naive_requests requests) ==="
set -- ideal-*.pcapng.gz collect-then-replay-double.pcapng.gz collect-then-replay-single.pcapng.gz
if [ "$vantage" = libpcap ]; then
    evidence=naive.pcapng.gz
    say "    (its own requests, as libpcap saw them)"
else
    evidence=collect-then-replay-single.pcapng.gz
    set -- ideal-*.pcapng.gz collect-then-replay-double.pcapng.gz
    say "    (held against the recorded requests of run_single; its own could not be recorded)"
fi
"$bin" analyze "$evidence" --claim "rate.p50=${rate}tok/s" --fail-on never
"$bin" analyze "$evidence" "$@" --claim "rate.p50=${rate}tok/s" --claim-trace 1 --fail-on never --report report \
    >log/report 2>&1 || die "the report failed: $(cat log/report)"
say
say "report:  $out/report/report.html"
say "traces:  $out/*.pcapng.gz (Wireshark opens them)"
