#!/bin/sh
# Streams as real stacks spoil them, recorded live: Starlette on uvicorn, with and without uvloop, arranged in the ways that
# were seen to give phantoms (stacks_server.py), and nginx in front of it; the load is OpenAI's own client (stacks_client.py).
#
#   tests/real/stacks.sh BINARY [FOLDER]    FOLDER (default build/stacks) keeps the packages, the traces and the claims
#
# It leaves NAME.pcapng.gz and NAME.json (what the client printed) of each case, which are those of traces/examples/stacks/,
# and ends with tests/cli/stacks.sh over them: what must be found in each, and what must not. It needs the rights to capture,
# python3 with venv, the network for the first run, curl, nginx (its cases are left out without). About two minutes. Leaves
# no process.
#
# A stack that keeps a blocking generator's pieces back until its end needs uvloop 0.22 or older: 0.23 sends at once.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=${2:-build/stacks}
port=${STACKS_PORT:-18090}
pids=
packages="uvicorn==0.54.0 starlette==1.10.0 h11==0.16.0"

say() { printf '%s\n' "stacks.sh: $*"; }
die() {
    printf '%s\n' "stacks.sh: error: $*" >&2
    exit 1
}
stop_all() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    pids=
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# venv NAME PACKAGE...
venv() {
    [ ! -x "$dir/$1/done" ] || return 0
    name=$1
    shift
    python3 -m venv "$dir/$name"
    "$dir/$name/bin/pip" install --disable-pip-version-check -q "$@" || die "cannot install $*"
    install /dev/null "$dir/$name/done"
}

up() { # PORT
    for _ in $(seq 100); do
        if curl -fsS -m 2 -o /dev/null "http://127.0.0.1:$1/health" 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    cat "$dir"/*.log >&2
    die "nothing answers on port $1"
}

serve() { # LOOP STACK
    venv=today
    [ "$1" != uvloop-0.22 ] || venv=old
    PYTHONDONTWRITEBYTECODE=1 STACK=$2 "$dir/$venv/bin/uvicorn" --app-dir "$here" --factory stacks_server:app --port "$port" \
        --loop "${1%-*}" --log-level warning >"$dir/uvicorn.log" 2>&1 &
    pids="$pids $!"
    up "$port"
}

# record NAME PORT REQUESTS TOKENS
record() {
    cp "$here/stacks_client.py" "$dir" # names without folders, since the trace keeps the command
    (cd "$dir" && PATH=$dir/client/bin:$PATH "$bin" capture -p "$2" --label "$1" -o "$1.pcapng.gz" -- \
        python3 stacks_client.py "$2" "$3" "$4" >"$1.json" 2>"$1.log") || die "$(cat "$dir/$1.log")"
    stop_all
}

# stack NAME LOOP STACK
stack() {
    say "$1: $3 on $2"
    serve "$2" "$3"
    record "$1" "$port" 2 40
}

# proxy NAME DIRECTIVE...: nginx's defaults but for those. By default it asks in HTTP/1.0, so that the stream comes without
# chunks, and passes it on in buffers of a page.
proxy() {
    say "$1: nginx, $2"
    STEP_MS=8 serve uvloop thread
    cat >"$dir/nginx.conf" <<END
daemon off;
pid nginx.pid;
error_log nginx.log;
worker_processes 1;
events { }
http {
    access_log off;
    server {
        listen 127.0.0.1:$((port + 1));
        location / {
            proxy_pass http://127.0.0.1:$port;
            $2
        }
    }
}
END
    nginx -p "$dir" -c nginx.conf -e nginx.log &
    pids="$pids $!"
    up $((port + 1))
    record "$1" $((port + 1)) 1 200
}

# phantoms LOOP STACK: ten lines of Python (tests/support/naive.py) publish a phantom 20 times, and the audit names it.
phantoms() {
    say "20 runs of naive.py: $2 on $1"
    serve "$1" "$2"
    named=0
    for i in $(seq 20); do
        "$bin" capture -p "$port" --tail 20ms -o "$dir/naive.pcapng.gz" -- python3 "$here/../support/naive.py" "$port" \
            >"$dir/naive.claims" 2>"$dir/naive.log" || die "$(cat "$dir/naive.log")"
        "$bin" analyze "$dir/naive.pcapng.gz" --claims "$dir/naive.claims" --fail-on never | tr -s '\n ' ' ' >"$dir/naive.txt"
        if grep -q ' P43 Server generates first.*its sign is on the wire' "$dir/naive.txt"; then
            named=$((named + 1))
        else
            cat "$dir/naive.claims" "$dir/naive.txt"
        fi
    done
    rm "$dir"/naive.*
    say "P43 is named in $named of 20 runs"
    [ $named = 20 ] || die "not in all"
    stop_all
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
"$bin" capture -p 9 --duration 50ms --sample-hz 0 -o "$dir/try.pcapng.gz" >"$dir/try.log" 2>&1 ||
    die "no rights to capture here: $(cat "$dir/try.log")"
rm -f "$dir/try.pcapng.gz"
# shellcheck disable=SC2086 # several packages
venv today $packages uvloop==0.23.0
# shellcheck disable=SC2086
venv old $packages uvloop==0.22.1
venv client openai==3.57.0

stack collect uvloop-0.22 collect
stack collect-layers uvloop collect,guard,middleware
stack block uvloop-0.22 block
stack block-yield uvloop-0.22 block,yield
stack block-asyncio asyncio block
stack pairs uvloop block,middleware
stack pairs-asyncio asyncio block,middleware
stack thread uvloop thread
phantoms uvloop collect,guard,middleware
if command -v nginx >/dev/null; then
    proxy nginx "proxy_buffering on;"
    proxy nginx-http11 "proxy_buffering on; proxy_http_version 1.1;"
    proxy nginx-unbuffered "proxy_buffering off;"
    proxy nginx-gzip "gzip on; gzip_types *;"
else
    say "no nginx here: its cases are left out"
fi
sh "$here/../cli/stacks.sh" "$bin" "$dir"
