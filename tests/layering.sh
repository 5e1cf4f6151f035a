#!/bin/sh
# layering.sh [ROOT]: what the compiler does not hold. Prints each offence as `file:line: what`
# and ends with 1 if there is one.
#
#   - who may include whom, and which folder may see which library
#   - the words that the trace layer must not know
#   - banned calls, and the size of functions and files
#   - nothing in the root that does not belong there: a program, what a fuzzer left
#   - every header compiles alone (CC, CPPFLAGS and CFLAGS are heeded)
#
# Words and sizes are read as they stand; calls and functions with comments and strings blanked.
set -eu
export LC_ALL=C

root=${1:-$(dirname -- "$0")/..}
cd "$root"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

sources() {
    for dir in traces capture replay analyze plots; do
        [ ! -d "$dir" ] || find "$dir" -name '*.[ch]' -type f
    done
    for file in ./*.[ch]; do
        [ ! -f "$file" ] || printf '%s\n' "${file#./}"
    done
}

# run_awk PROGRAM FILES-LIST: awk over the files that a list names (names hold no spaces here).
run_awk() {
    [ ! -s "$2" ] || xargs awk "$1" <"$2"
}

sources | sort >"$tmp/all"
if [ ! -s "$tmp/all" ]; then
    echo "layering.sh: no source in $(pwd)" >&2
    exit 1
fi
grep '\.h$' "$tmp/all" >"$tmp/headers" || :
grep -E '^traces/[^/]*$' "$tmp/all" >"$tmp/wordless" || :

# --- includes -----------------------------------------------------------------------------------

# shellcheck disable=SC2016 # awk's own $
includes='
function layer(path) {
    if (path ~ /^traces\/base\//) return "base"
    if (path ~ /^traces\/dialects\//) return "dialects"
    if (path ~ /^(traces|capture|replay|analyze|plots)\//)
        return substr(path, 1, index(path, "/") - 1)
    return path == "main.c" ? "main" : "root"
}
function stem(path) { sub(/\.[ch]$/, "", path); return path }
function offence(text) { print FILENAME ":" FNR ": " text }
# only(NAME, PATTERN): the library header NAME may be seen by files of PATTERN.
function only(name, pattern) {
    if (FILENAME !~ pattern) offence("<" name "> does not belong here")
}
BEGIN {
    may["base"] = " base "
    may["traces"] = " base traces "
    may["dialects"] = " base traces dialects "
    may["plots"] = " base plots "
    may["capture"] = " base traces dialects capture "
    may["replay"] = " base traces dialects replay "
    may["analyze"] = " base traces dialects plots analyze "
    may["main"] = " base root "
    may["root"] = " base traces dialects plots capture replay analyze root "
    # Stages that meet only as byte sinks.
    blind["traces/link"] = "tcp http sse ndjson inflate exchange pipeline"
    blind["traces/tcp"] = "http sse ndjson inflate exchange pipeline"
    blind["traces/http"] = "link tcp sse ndjson inflate exchange pipeline"
    blind["traces/sse"] = "link tcp http ndjson inflate exchange pipeline"
    blind["traces/ndjson"] = "link tcp http sse inflate exchange pipeline"
    blind["traces/inflate"] = "link tcp http sse ndjson exchange pipeline"
    for (s in blind) {
        n = split(blind[s], names, " ")
        for (i = 1; i <= n; i++) unseen[s, "traces/" names[i]] = 1
    }
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*/, "", name)
    quoted = name ~ /^"/
    sub(/^[<"]/, "", name)
    sub(/[>"].*$/, "", name)
    if (name ~ /^(pcap|pcap\/.*)\.h$/) only(name, "^capture/source_pcap\\.c$")
    else if (name ~ /^(zlib|zconf)\.h$/) only(name, "^traces/(gz|gz_make|inflate)\\.c$")
    else if (name ~ /^(cjson\/)?cJSON(_Utils)?\.h$/) only(name, "^traces/base/json\\.[ch]$")
    else if (name ~ /^uv(\/.*)?\.h$/) only(name, "^(replay|capture)/")
    else if (name ~ /^\.\.?\//) offence("\"" name "\" is not written from the root")
    else if (name ~ /^(traces|capture|replay|analyze|plots)\// || quoted) {
        from = layer(FILENAME)
        to = layer(name)
        here = FILENAME
        sub(/[^\/]*$/, "", here)
        if (quoted && name !~ /\// && here != "" && (getline line < (here name)) >= 0) {
            close(here name)
            offence("\"" name "\" is not written from the root")
        } else if (name ~ /(^|\/)cmd_[^\/]*\.h$/) {
            if (from != "main" && from != "root" && from != to)
                offence(from " must not see the verb " name)
        } else if (index(may[from], " " to " ") == 0)
            offence(from " must not see " name)
        else if ((stem(FILENAME), stem(name)) in unseen)
            offence(stem(FILENAME) " must not know " name)
    }
}'
run_awk "$includes" "$tmp/all" >"$tmp/found"

# --- words --------------------------------------------------------------------------------------

# shellcheck disable=SC2016
words='
{
    line = tolower($0)
    gsub(/tokaudit/, "", line)
    if (match(line, /openai|token|prompt/))
        print FILENAME ":" FNR ": traces must not know the word " substr(line, RSTART, RLENGTH)
}'
run_awk "$words" "$tmp/wordless" >>"$tmp/found"

# --- calls and sizes ----------------------------------------------------------------------------

# blank() replaces comments and literals by a space, keeps lines. A function starts at a brace in
# column 0, or at a line that starts in column 0 and ends in `) {`.
# shellcheck disable=SC2016
code='
function blank(line,    out, c, q) {
    out = ""
    while (line != "") {
        if (in_comment) {
            c = index(line, "*/")
            if (c == 0) return out
            line = substr(line, c + 2)
            in_comment = 0
            continue
        }
        if (!match(line, /["\047]|\/\*|\/\//)) return out line
        q = substr(line, RSTART, 1)
        c = substr(line, RSTART, 2)
        out = out substr(line, 1, RSTART - 1) " "
        line = substr(line, RSTART + RLENGTH)
        if (c == "//") return out
        if (c == "/*") {
            in_comment = 1
        } else {
            while (line != "" && substr(line, 1, 1) != q)
                line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
            line = substr(line, 2)
        }
    }
    return out
}
function finish() {
    if (lines > 600) print file ":1: " lines " lines, 600 is the limit"
    file = FILENAME
    in_comment = 0
    start = 0
}
FNR == 1 { finish() }
{
    lines = FNR
    line = blank($0)
    rest = line
    while (match(rest, /[A-Za-z0-9_]+[ \t]*\(/)) {
        call = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/[ \t]*\($/, "", call)
        if (call ~ /^(strcpy|strcat|v?sprintf|sscanf|atoi|strtok|gets|gettimeofday|alloca|system)$/)
            print FILENAME ":" FNR ": " call "() is banned"
    }
    if (line ~ /^\{/ || line ~ /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/) start = FNR
    if (line ~ /^\}/) {
        if (start && FNR - start > 60)
            print FILENAME ":" start ": a function of " FNR - start " lines, 60 is the limit"
        start = 0
    }
}
END { finish() }'
run_awk "$code" "$tmp/all" >>"$tmp/found"

# --- headers alone ------------------------------------------------------------------------------

case $(uname -s) in
Darwin) features=-D_DARWIN_C_SOURCE ;;
*) features='-D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE' ;;
esac
flags=
for module in libpcap zlib libcjson libuv openssl cmocka; do
    flags="$flags $(pkg-config --cflags "$module" 2>/dev/null || :)"
done
while read -r header; do
    # shellcheck disable=SC2086 # words are wanted
    if ! ${CC:-cc} -std=c11 -fsyntax-only -I. $features $flags ${CPPFLAGS:-} ${CFLAGS:-} \
        -x c "$header" >"$tmp/cc" 2>&1; then
        echo "$header:1: does not compile alone"
        sed 's/^/    /' "$tmp/cc" | head -n 5
    fi
done <"$tmp/headers" >>"$tmp/found"

# ------------------------------------------------------------------------------------------------

git ls-files 2>/dev/null | awk -F/ '{ print $1 }' | sort -u | grep -v -x -E \
    '\.ci|\.clang-format|\.gitignore|[A-Z]+(\.md)?|CMakeLists\.txt|CMakePresets\.json|bootstrap|main\.c|analyze|capture|plots|replay|tests|traces' |
    sed 's/$/:1: does not belong in the root/' >>"$tmp/found" || : # outside a checkout there is nothing to see

# ------------------------------------------------------------------------------------------------

if [ -s "$tmp/found" ]; then
    cat "$tmp/found"
    echo "layering: $(grep -c '^[^ ]' "$tmp/found") offences"
    exit 1
fi
echo "layering: $(wc -l <"$tmp/all" | tr -d ' ') files, no offence"
