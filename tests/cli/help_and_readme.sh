#!/bin/sh
# Help, version and wrong usage; and the README: its outputs are the program's, its options and files exist.
set -eu
. tests/support/cli.sh

status 2 "$tokaudit"
grep -q '^usage: tokaudit VERB' "$tmp/err" || fail "no overview without a verb"
status 0 "$tokaudit" help
cp "$tmp/out" "$tmp/help"
for verb in capture replay serve analyze; do
    grep -q "^  $verb " "$tmp/help" || fail "the overview does not name $verb"
    status 0 "$tokaudit" help $verb
    cp "$tmp/out" "$tmp/help.$verb"
    status 0 "$tokaudit" $verb --help
    cmp -s "$tmp/out" "$tmp/help.$verb" || fail "help $verb and $verb --help differ"
    status 2 "$tokaudit" $verb --no-such-option
    grep -q 'no option --no-such-option' "$tmp/err" && grep -q "tokaudit help $verb" "$tmp/err" ||
        fail "$verb does not say what is wrong with an unknown option: $(cat "$tmp/err")"
    [ "$(wc -L <"$tmp/help.$verb")" -le 120 ] || fail "help $verb is wider than 120 columns"
done
status 0 "$tokaudit" --version
grep -q '^tokaudit [0-9]' "$tmp/out" && grep -q 'libpcap' "$tmp/out" && grep -q 'libuv' "$tmp/out" ||
    fail "--version: $(cat "$tmp/out")"
status 2 "$tokaudit" frobnicate
grep -q "no verb 'frobnicate'" "$tmp/err" || fail "an unknown verb: $(cat "$tmp/err")"
status 2 "$tokaudit" help frobnicate

# Blocks of output in the README, line by line.
cat "$tmp"/help.* >"$tmp/all.help"
"$tokaudit" analyze traces/examples/llama.cpp-smollm2-135m.pcapng.gz >"$tmp/said"
"$tokaudit" analyze traces/examples/collect-then-replay.pcapng.gz --claim rate.p50=14647tok/s --claim ttft.p50=1.05s --fail-on never >>"$tmp/said"
awk '/^```/ { inside = !inside; shown = inside && $0 == "```"; next } inside && shown' README.md >"$tmp/shown"
[ -s "$tmp/shown" ] || fail "the README shows no output"
while IFS= read -r line; do
    grep -qxF -- "$line" "$tmp/said" || fail "the README shows a line that the program does not print: $line"
done <"$tmp/shown"

grep -oE '(^|[^a-zA-Z-])--[a-z][a-z-]+' README.md | grep -oE -- '--.*' | sort -u >"$tmp/options"
while IFS= read -r option; do
    case $option in
    --install) ;; # cmake's
    *) grep -q -e "$option\b" "$tmp/all.help" || fail "the README names $option, which no verb has" ;;
    esac
done <"$tmp/options"

grep -oE '\]\([^)h#][^)]*\)' README.md | sed 's/^](//; s/)$//' >"$tmp/links"
while IFS= read -r link; do
    [ -e "$link" ] || fail "the README links to $link, which is not there"
done <"$tmp/links"

passed
