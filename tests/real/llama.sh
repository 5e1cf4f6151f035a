#!/bin/sh
# A real llama.cpp server with a real small model: run_single and run_double recorded from both vantages at once, and the
# analyses held against each other, against the server's usage, and against the server's own timings.
#
#   tests/real/llama.sh BINARY [FOLDER]    FOLDER (default build/llama) keeps the server, the traces and the analyses
#
# The first run compiles the server (some minutes); the load takes about three. It needs the rights to capture, python3,
# curl, a C++ compiler. Leaves no process. Passes only if every row of the table holds.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=${2:-build/llama}
port=${LLAMA_PORT:-18080}

say() { printf '%s\n' "llama.sh: $*"; }
die() {
    printf '%s\n' "llama.sh: error: $*" >&2
    exit 1
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
"$bin" capture -p 9 --duration 50ms --sample-hz 0 -o "$dir/try.pcapng.gz" >"$dir/try.log" 2>&1 ||
    die "no rights to capture here: $(cat "$dir/try.log")"

say "the server and its model, in $dir"
sh "$here/llama-server.sh" install "$dir"
trap 'sh "$here/llama-server.sh" stop "$dir"' EXIT
trap 'exit 130' INT TERM
sh "$here/llama-server.sh" start "$dir" "$port"

for kind in run_single run_double; do
    say "$kind, recorded by libpcap and at the client's sockets"
    "$bin" capture -p "$port" --label llama.cpp -o "$dir/$kind-libpcap.pcapng.gz" -- \
        "$bin" replay "$here/$kind.json" --target "http://127.0.0.1:$port" --label llama.cpp \
        -o "$dir/$kind-socket.pcapng.gz"
done

# The small one, of both workloads once, for traces/examples. Names without folders, since the trace keeps the command.
say "one repeat of both workloads in one trace"
cp "$here/run_single.json" "$here/run_double.json" "$dir"
cat >"$dir/both.sh" <<END
set -e
for kind in run_single run_double; do
    "$bin" replay \$kind.json --target "http://127.0.0.1:$port" --repeat 1 -o small-\$kind.pcapng.gz
done
END
(cd "$dir" && "$bin" capture -p "$port" --label llama.cpp -o llama.cpp-smollm2-135m.pcapng.gz -- sh both.sh)

for vantage in libpcap socket; do
    "$bin" analyze "$dir/run_single-$vantage.pcapng.gz" "$dir/run_double-$vantage.pcapng.gz" --format json \
        -o "$dir/$vantage.json"
done
python3 "$here/llama_table.py" "$dir/libpcap.json" "$dir/socket.json"
"$bin" analyze "$dir/run_single-libpcap.pcapng.gz" "$dir/run_double-libpcap.pcapng.gz"
