#!/bin/sh
# tests/fuzz/run.sh MINUTES [STAGE...]: fuzzes each stage for MINUTES of CPU time, one process a
# core, and ends with a table and 1 if there was a finding. Needs clang. What was found and what
# was learned stay in build/fuzz/findings and build/fuzz/corpus: a second run goes on from there.
set -eu

cd "$(dirname "$0")/../.."
build=build/fuzz

usage() {
    echo "usage: tests/fuzz/run.sh MINUTES [STAGE...]" >&2
    echo "stages:" tests/fuzz/fuzz_*.c | sed 's|tests/fuzz/fuzz_||g; s|\.c||g' >&2
    exit 2
}

# Seconds of CPU time, user and system, of a shell's ended children, from what its times said.
cpu_seconds() {
    awk 'NR == 2 { gsub(/s/, ""); split($1, u, "m"); split($2, s, "m")
        printf "%d\n", u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$1"
}

count_findings() {
    find $build/findings -name "$1-*" | wc -l
}

# libFuzzer counts wall time, so it is started anew until the CPU time is used up.
run_stage() {
    stage=$1
    wanted=$(($2 * 60))
    log=$build/run/$stage.log
    before=$(count_findings "$stage")
    spent=0
    rc=0
    : >"$log"
    mkdir -p "$build/corpus/$stage"
    while [ "$spent" -lt "$wanted" ] && [ "$rc" -eq 0 ]; do
        "$build/tests/fuzz_$stage" -max_total_time=$((wanted - spent)) -timeout=25 \
            -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$build/findings/$stage-" \
            "$build/corpus/$stage" "tests/fuzz/corpus/$stage" \
            >>"$log" 2>&1 || rc=$?
        times >"$build/run/$stage.times" # not in $(): that would be another process's
        spent=$(cpu_seconds "$build/run/$stage.times")
    done
    found=$(($(count_findings "$stage") - before))
    if [ "$rc" -ne 0 ] && [ "$found" -eq 0 ]; then
        found="ended with $rc" # a leak at its end, or not our doing: the log tells
    fi
    awk -v stage="$stage" -v spent="$spent" -v found="$found" '
        /^stat::number_of_executed_units:/ { runs += $2 }
        /^stat::new_units_added:/ { added += $2 }
        { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
        END { printf "%-10s %8.1f %12d %9d %11d  %s\n", stage, spent / 60, runs, cov, added, found }
    ' "$log" >"$build/run/$stage.row"
}

if [ $# -eq 3 ] && [ "$1" = --stage ]; then
    run_stage "$3" "$2"
    exit 0
fi

case ${1:-} in
'' | *[!0-9]*) usage ;;
esac
minutes=$1
shift
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        stage=${source##*/fuzz_}
        set -- "$@" "${stage%.c}"
    done
fi
targets=
for stage in "$@"; do
    [ -f "tests/fuzz/fuzz_$stage.c" ] || usage
    targets="$targets fuzz_$stage"
done

cores=$(getconf _NPROCESSORS_ONLN)
cmake --preset fuzz >/dev/null
# shellcheck disable=SC2086 # a list of targets
cmake --build --preset fuzz --parallel "$cores" --target $targets >/dev/null
mkdir -p $build/run $build/findings
for stage in "$@"; do
    rm -f "$build/run/$stage.row"
done
printf '%s\n' "$@" | xargs -P "$cores" -n 1 sh tests/fuzz/run.sh --stage "$minutes"

printf '%-10s %8s %12s %9s %11s  %s\n' stage 'CPU min' runs coverage 'new corpus' findings
status=0
for stage in "$@"; do
    cat "$build/run/$stage.row"
    awk '$6 != "0" { exit 1 }' "$build/run/$stage.row" || status=1
done
[ $status -eq 0 ] || echo "the findings are in $build/findings, what was said of them in $build/run"
exit $status
