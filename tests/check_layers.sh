#!/usr/bin/env bash
# A file may include only from its own layer or a lower one:
# cli > analysis > run > load data ops > graph kernels formula > tensor > number > base. Public headers obey nobody's layer.
set -u
cd "${top_srcdir:-.}" || exit 99
declare -A level=([base]=0 [number]=1 [tensor]=2 [formula]=3 [kernels]=3 [graph]=3 [load]=4 [data]=4 [ops]=4 [run]=5 [analysis]=6 [cli]=7)
bad=0 seen=0
for file in src/*/*.[ch] src/*/*.def analysis/*.[ch]; do
    folder=$(basename "$(dirname "$file")")
    while read -r included; do
        seen=$((seen + 1))
        other=${included%%/*}
        if [ "${level[$other]:-}" = "" ]; then continue; fi
        if [ "${level[$other]}" -gt "${level[$folder]}" ]; then
            echo "$file includes \"$included\": $folder may not see $other"
            bad=1
        fi
    done < <(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\/[^"]*\)".*/\1/p' "$file")
done
[ "$seen" -gt 50 ] || { echo "only $seen includes were seen: is top_srcdir right?"; exit 1; }
if grep -nE '\b(printf|puts|perror|abort|exit|assert)[[:space:]]*\(' src/base/*.c src/number/*.c src/tensor/*.c src/formula/*.c src/kernels/*.c \
    src/graph/*.c src/load/*.c src/data/*.c src/ops/*.c src/run/*.c analysis/*.c | grep -vE 'snprintf|vsnprintf|fprintf|^\S+\s*(/?\*|//)'; then
    echo "the library prints, aborts or exits"
    bad=1
fi
if grep -lE 'pb-c\.h|Ulp__' src/base/* src/number/* src/tensor/* src/formula/* src/kernels/* src/graph/* src/ops/* src/run/* src/cli/* analysis/* 2>/dev/null; then
    echo "protobuf is seen outside src/load and src/data"
    bad=1
fi
exit $bad
