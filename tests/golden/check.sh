#!/bin/sh
# Golden tests through the real binary: tests/golden/CASE/args is the command line (of tokaudit, run in the root), and
# what it writes must be CASE/expected.txt and, with --format json, CASE/expected.json, byte for byte.
#
#   tests/golden/check.sh BINARY [--update]    --update rewrites the expectations; review their diff
set -eu

bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
update=${2:-}
cd "$(dirname "$0")/../.."
found=$(mktemp)
trap 'rm -f "$found"' EXIT
failures=0

compare() { # EXPECTATION
    if [ "$update" = --update ]; then
        cat "$found" >"$1" # through a link: one expectation is the schema's example
    elif ! diff -u "$1" "$found" >&2; then
        failures=$((failures + 1))
    fi
}

for case in tests/golden/*/; do
    # Arguments are ours, plain words without blanks inside.
    args=$(cat "${case}args")
    # shellcheck disable=SC2086
    "$bin" $args --fail-on never >"$found"
    compare "${case}expected.txt"
    # shellcheck disable=SC2086
    "$bin" $args --fail-on never --format json >"$found"
    compare "${case}expected.json"
done
[ $failures = 0 ] || {
    echo "$failures golden files differ; if the change is meant: tests/golden/check.sh BINARY --update" >&2
    exit 1
}
echo "golden: ok"
