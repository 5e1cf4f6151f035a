#!/bin/sh
# Help, version and wrong usage; and the README: its outputs are the program's, its options and files exist.
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}
status() { # EXPECTED COMMAND...
    expected=$1
    shift
    found=0
    "$@" >"$dir/out" 2>"$dir/err" || found=$?
    [ $found = "$expected" ] || fail "$* ended with $found, expected $expected"
}

status 2 "$bin"
grep -q '^usage: tokaudit VERB' "$dir/err" || fail "no overview without a verb"
status 0 "$bin" help
cp "$dir/out" "$dir/help"
for verb in capture replay serve analyze; do
    grep -q "^  $verb " "$dir/help" || fail "the overview does not name $verb"
    status 0 "$bin" help $verb
    cp "$dir/out" "$dir/help.$verb"
    status 0 "$bin" $verb --help
    cmp -s "$dir/out" "$dir/help.$verb" || fail "help $verb and $verb --help differ"
    status 2 "$bin" $verb --no-such-option
    grep -q 'no option --no-such-option' "$dir/err" && grep -q "tokaudit help $verb" "$dir/err" ||
        fail "$verb does not say what is wrong with an unknown option: $(cat "$dir/err")"
    [ "$(wc -L <"$dir/help.$verb")" -le 120 ] || fail "help $verb is wider than 120 columns"
done
status 0 "$bin" --version
grep -q '^tokaudit [0-9]' "$dir/out" && grep -q 'libpcap' "$dir/out" && grep -q 'libuv' "$dir/out" ||
    fail "--version: $(cat "$dir/out")"
status 2 "$bin" frobnicate
grep -q "no verb 'frobnicate'" "$dir/err" || fail "an unknown verb: $(cat "$dir/err")"
status 2 "$bin" help frobnicate

# Blocks of output in the README, line by line.
cat "$dir"/help.* >"$dir/all.help"
"$bin" analyze traces/examples/llama.cpp-smollm2-135m.pcapng.gz >"$dir/said"
"$bin" analyze traces/examples/collect-then-replay.pcapng.gz --claim rate.p50=14647tok/s --fail-on never >>"$dir/said"
awk '/^```/ { inside = !inside; shown = inside && $0 == "```"; next } inside && shown' README.md >"$dir/shown"
[ -s "$dir/shown" ] || fail "the README shows no output"
while IFS= read -r line; do
    grep -qxF -- "$line" "$dir/said" || fail "the README shows a line that the program does not print: $line"
done <"$dir/shown"

grep -oE '(^|[^a-zA-Z-])--[a-z][a-z-]+' README.md | grep -oE -- '--.*' | sort -u >"$dir/options"
while IFS= read -r option; do
    case $option in
    --install) ;; # cmake's
    *) grep -q -e "$option\b" "$dir/all.help" || fail "the README names $option, which no verb has" ;;
    esac
done <"$dir/options"

grep -oE '\]\([^)h#][^)]*\)' README.md | sed 's/^](//; s/)$//' >"$dir/links"
while IFS= read -r link; do
    [ -e "$link" ] || fail "the README links to $link, which is not there"
done <"$dir/links"

[ $failures = 0 ] || exit 1
echo "help and README: ok"
