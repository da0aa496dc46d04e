#!/usr/bin/env bash
# Names of files: those of .c files are unique, and those that comments and pages mention exist, under the path they give; so do the tests that are listed.
set -u
cd "${top_srcdir:-.}" || exit 99
bad=0
twice=$(find src analysis -name '*.c' -printf '%f\n' | sort | uniq -d)
[ -z "$twice" ] || { echo "files of one name:" $twice; bad=1; }
# what is of others, or made while building
others='config.h|math.h|search.h|zlib.h|NvInfer.h|onnx.pb-c.h|page.c|load.c|dump.c|samples/common/sampleUtils.h'
mentioned=0
while IFS=: read -r file line name; do
    mentioned=$((mentioned + 1))
    case $name in *\**) continue ;; esac
    [[ $name =~ ^(.*/)?($others)$ ]] && continue
    find . -path ./build -prune -o \( -path "*/$name" -o -path "./$name" \) -print -quit | grep -q . && continue
    echo "$file:$line: there is no $name"
    bad=1
done < <(grep -rnE --include='*.[ch]' --include='*.def' '^ *(/\*|\*)|/\*' src analysis include | grep -vE ':#include' | sed -E 's/^([^:]*:[0-9]+:).*(\/\*|^[^:]*:[0-9]+: \*)/\1 /' |
    awk -F: '{ rest = substr($0, length($1) + length($2) + 3); while (match(rest, /[A-Za-z0-9_\/]*[a-z0-9_][a-z0-9_]+\.(c|h|def)([^A-Za-z0-9_]|$)/)) {
        name = substr(rest, RSTART, RLENGTH); sub(/[^A-Za-z0-9_]$/, "", name); print $1 ":" $2 ":" name; rest = substr(rest, RSTART + RLENGTH - 1) } }'
    grep -noE '[A-Za-z0-9_/]*[a-z0-9_]+\.(c|h|def)\b' README.md CONTRIBUTING.md doc/*.md)
for name in $(sed -n -E '/^(long|threaded)_programs =/,/[^\\]$/p' tests/local.mk | tr -s '\\ \t' '\n' | grep '^check_'); do
    mentioned=$((mentioned + 1))
    grep -rq --include=local.mk "^${name}_SOURCES =" tests || { echo "tests/local.mk: there is no $name"; bad=1; }
done
[ "$mentioned" -gt 50 ] || { echo "only $mentioned names were seen: is top_srcdir right?"; exit 1; }
exit $bad
