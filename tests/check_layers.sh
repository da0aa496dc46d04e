#!/usr/bin/env bash
# A file may include only from its own layer or a lower one: a layer is a folder of src, or analysis,
# cli > analysis > run > load data ops > graph kernels formula > tensor > number > base. Public headers obey nobody's layer.
set -u
cd "${top_srcdir:-.}" || exit 99
declare -A level=([base]=0 [number]=1 [tensor]=2 [formula]=3 [kernels]=3 [graph]=3 [load]=4 [data]=4 [ops]=4 [run]=5 [analysis]=6 [cli]=7)
mapfile -t files < <(find src analysis -name '*.[ch]' -o -name '*.def' | grep -v 'pb-c' | sort)
bad=0 seen=0
for file in "${files[@]}"; do
    path=${file#src/}
    folder=${path%%/*}
    while read -r included; do
        seen=$((seen + 1))
        other=${included%%/*}
        if [ "${level[$other]:-}" = "" ]; then echo "$file includes \"$included\": no layer"; bad=1; continue; fi
        if [ "${level[$other]}" -gt "${level[$folder]}" ]; then
            echo "$file includes \"$included\": $folder may not see $other"
            bad=1
        fi
    done < <(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\/[^"]*\)".*/\1/p' "$file")
done
[ "$seen" -gt 50 ] || { echo "only $seen includes were seen: is top_srcdir right?"; exit 1; }
mapfile -t library < <(printf '%s\n' "${files[@]}" | grep -v '^src/cli/')
if grep -nE '\b(printf|puts|perror|abort|exit|assert)[[:space:]]*\(' "${library[@]}" | grep -vE 'snprintf|vsnprintf|fprintf|^\S+\s*(/?\*|//)'; then
    echo "the library prints, aborts or exits"
    bad=1
fi
if grep -nE '(^|[^a-z_])f?printf[[:space:]]*\(' $(printf '%s\n' "${files[@]}" | grep '^src/cli/.*c$'); then
    echo "the program prints with say (cli/terminal/terminal.h), which makes names from files harmless"
    bad=1
fi
if grep -lE 'pb-c\.h|Ulp__' $(printf '%s\n' "${files[@]}" | grep -vE '^src/(load|data)/'); then
    echo "protobuf is seen outside src/load and src/data"
    bad=1
fi
exit $bad
