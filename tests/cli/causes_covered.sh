#!/bin/sh
# Each cause that a trace decides is named in one test at least, and nearly but not in another: by its id, or by that of a
# finding that is its sign. A statement of a test says which: its scene has it (true, named …) or has not (false, not_named …);
# or a test function pNN_… (pNN_pMM_… of several) holds both.
set -eu
. tests/support/cli.sh

# "P79", or "P79 server.serial-queue" for each such finding.
status 0 "$tokaudit" help causes
awk '/^P[0-9]+ / { if (id != "" && !open) printf "%s", all; id = $1; open = 0; all = id "\n" }
     /^ +not decided:/ { open = 1 }
     /^ +found as:/ { found = 1; sub(/^ +found as:/, "") }
     /^$/ { found = 0 }
     found { for (i = 1; i <= NF; i++) all = all id " " $i "\n" }
     END { if (id != "" && !open) printf "%s", all }' "$tmp/out" >"$tmp/decided"
[ "$(cut -d ' ' -f 1 "$tmp/decided" | sort -u | wc -l)" -ge 89 ] || fail "few causes are decided: $(cat "$tmp/decided")"

# "yes P79", "no server.serial-queue": what the statements with that text say of it.
cat tests/unit/analyze/test_*.c | awk 'BEGIN { RS = ";" } {
    yes = $0 ~ /true|non_null|needs|present|there|BY_SIGN|BY_NUMBER|[^_a-z](named|by_number)\(/
    no = $0 ~ /false|assert_null|lacks|present|there|NOT_NAMED|not_named\(/
    text = $0
    while (match(text, /"(P[0-9]+|[a-z]+\.[a-z0-9-]+)"/)) {
        id = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        if (yes) print "yes", id
        if (no) print "no", id
    }
}' >"$tmp/said"
cat tests/unit/analyze/test_*.c | awk '/^static void p[0-9]+_/ { name = $3 }
    /^}/ { name = "" }
    name != "" {
        for (ids = name; match(ids, /^p[0-9]+_/); ids = substr(ids, RLENGTH + 1)) {
            id = "P" substr(ids, 2, RLENGTH - 2)
            if (/true|non_null|needs|"[a-z]+\.[a-z0-9-]+"/) print "yes", id
            if (/false|assert_null|lacks|NULL\);/) print "no", id
        }
    }' >>"$tmp/said"
sort -u "$tmp/said" >"$tmp/tested"

cut -d ' ' -f 1 "$tmp/decided" | sort -u >"$tmp/ids"
while read -r id; do
    for what in yes no; do
        covered=
        for name in $(grep "^$id\( \|\$\)" "$tmp/decided" | tr ' ' '\n' | sort -u); do
            grep -q "^$what $name\$" "$tmp/tested" && covered=1
        done
        [ -n "$covered" ] || fail "$id: no test in which it is $([ $what = yes ] && echo named || echo 'nearly there, and not named')"
    done
done <"$tmp/ids"
exit "$((failures > 0))"
