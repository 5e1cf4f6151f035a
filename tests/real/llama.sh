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

replay() { # SPEC OUTPUT [OPTION...]
    spec=$1 output=$2
    shift 2
    "$bin" replay "$here/$spec.json" --target "http://127.0.0.1:$port" --label llama.cpp -o "$output" "$@"
}

for kind in run_single run_double; do
    say "$kind, recorded by libpcap and at the client's sockets"
    "$bin" capture -p "$port" --label llama.cpp -o "$dir/$kind-libpcap.pcapng.gz" -- \
        "$bin" replay "$here/$kind.json" --target "http://127.0.0.1:$port" --label llama.cpp \
        -o "$dir/$kind-socket.pcapng.gz"
done

# The small one, of both workloads once, that the examples are made from.
say "one repeat of both workloads in one trace"
cat >"$dir/both.sh" <<END
set -e
"$bin" replay "$here/run_single.json" --target "http://127.0.0.1:$port" --repeats 1 -o "$dir/small-1.pcapng.gz"
"$bin" replay "$here/run_double.json" --target "http://127.0.0.1:$port" --repeats 1 -o "$dir/small-2.pcapng.gz"
END
"$bin" capture -p "$port" --label llama.cpp -o "$dir/small.pcapng.gz" -- sh "$dir/both.sh"

for vantage in libpcap socket; do
    "$bin" analyze "$dir/run_single-$vantage.pcapng.gz" "$dir/run_double-$vantage.pcapng.gz" --format json \
        -o "$dir/$vantage.json"
done
python3 "$here/llama_table.py" "$dir/libpcap.json" "$dir/socket.json"
"$bin" analyze "$dir/run_single-libpcap.pcapng.gz" "$dir/run_double-libpcap.pcapng.gz"
