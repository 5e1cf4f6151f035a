#!/bin/sh
# Real servers of the MLX family on a Linux CPU, with a tiny model of random weights (tiny_model.py), recorded live under
# OpenAI's own client (stacks_client.py): mlx-lm, vllm-mlx as it streams, and vllm-mlx where it still generates first and
# streams afterwards (SpecPrefill).
#
#   tests/real/mlx.sh BINARY [FOLDER]    FOLDER (default build/mlx) keeps the packages (5 GB), the model and the traces
#
# It leaves NAME.pcapng.gz and NAME.json (what the client printed) of each case, which are those of traces/examples/stacks/,
# and ends with tests/cli/stacks.sh over them. It needs the rights to capture, python3 with venv, the network for the first
# run, curl, a C++ compiler (MLX compiles as it goes). Ten minutes, most of them for the packages. Leaves no process.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=${2:-build/mlx}
port=${MLX_PORT:-18095}
pid=
HF_HUB_OFFLINE=1
export HF_HUB_OFFLINE

say() { printf '%s\n' "mlx.sh: $*"; }
die() {
    printf '%s\n' "mlx.sh: error: $*" >&2
    exit 1
}
stop() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || :
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || :
    pid=
}
trap stop EXIT
trap 'exit 130' INT TERM

venv() { # NAME PACKAGE...
    [ ! -e "$dir/$1/done" ] || return 0
    name=$1
    shift
    python3 -m venv "$dir/$name"
    "$dir/$name/bin/pip" install --disable-pip-version-check -q "$@" || die "cannot install $*"
    : >"$dir/$name/done"
}

# run NAME WORDS COMMAND...: a server of the tiny model, warmed up, and the load.
run() {
    name=$1 words=$2
    shift 2
    say "$name: $(basename "$1")"
    (cd "$dir" && exec "$@" --port "$port" >"$name.server" 2>&1) &
    pid=$!
    for _ in $(seq 300); do
        if curl -fsS -m 2 -o /dev/null "http://127.0.0.1:$port/health" 2>/dev/null; then break; fi
        kill -0 $pid 2>/dev/null || die "it did not start: $(tail -5 "$dir/$name.server")"
        sleep 0.2
    done
    cp "$here/stacks_client.py" "$dir"
    PATH=$dir/client/bin:$PATH
    (cd "$dir" && python3 stacks_client.py "$port" 1 8 "$words" >"$name.warm" 2>&1) || die "$(tail -3 "$dir/$name.warm")"
    (cd "$dir" && "$bin" capture -p "$port" --label "$name" -o "$name.pcapng.gz" -- \
        python3 stacks_client.py "$port" 2 48 "$words" >"$name.json" 2>"$name.log") || die "$(cat "$dir/$name.log")"
    stop
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
"$bin" capture -p 9 --duration 50ms --sample-hz 0 -o "$dir/try.pcapng.gz" >"$dir/try.log" 2>&1 ||
    die "no rights to capture here: $(cat "$dir/try.log")"
rm -f "$dir/try.pcapng.gz"
venv servers vllm-mlx==0.6.0 mlx-lm==0.31.3 "mlx[cpu]==0.32.4"
venv client openai==3.57.0
[ -e "$dir/tiny/model.safetensors" ] ||
    "$dir/servers/bin/python" "$here/tiny_model.py" "$dir/tiny" "$root/README.md" "$root"/replay/*.md "$root/traces/FORMAT.md"

export MODEL=default_model
run mlx-lm 0 "$dir/servers/bin/mlx_lm.server" --model tiny
export MODEL=tiny
run vllm-mlx 0 "$dir/servers/bin/vllm-mlx" serve ./tiny --served-model-name tiny
run vllm-mlx-specprefill 200 "$dir/servers/bin/vllm-mlx" serve ./tiny --served-model-name tiny \
    --specprefill --specprefill-draft-model ./tiny --specprefill-threshold 64
sh "$here/../cli/stacks.sh" "$bin" "$dir"
