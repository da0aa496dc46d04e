#!/usr/bin/env bash
# The public functions are those of tests/symbols.txt, so that none comes or goes unseen: `tests/check_symbols.sh --update` writes the
# list anew. The program calls no other function of the library: a static build links with any. The shared library, where one was built,
# exports exactly what the public headers declare with ULP_API.
set -u
export LC_ALL=C
source=${top_srcdir:-.} library=${top_builddir:-.}/libulpscope.so
declared=$(cat "$source"/include/ulpscope.h "$source"/include/ulpscope/*.h | tr '\n' ' ' |
    grep -oE 'ULP_API [^;(]*\bulp_[a-z0-9_]+ ?\(' | grep -oE 'ulp_[a-z0-9_]+ ?\($' | tr -d ' (' | sort)
[ "$(echo "$declared" | wc -l)" -gt 30 ] || { echo "too few declarations were found"; exit 1; }
if [ "${1:-}" = --update ]; then
    echo "$declared" >"$source/tests/symbols.txt"
    exit 0
fi
bad=0
diff "$source/tests/symbols.txt" <(echo "$declared") ||
    { echo "< in tests/symbols.txt alone, > in include/ alone; tests/check_symbols.sh --update when that is meant"; bad=1; }

# Objects of the program have its name in front, those of the library's sources that it carries, too; a build folder keeps those of sources that have left.
mapfile -t objects < <(cd "${top_builddir:-.}" && find src -name 'ulpscope-*.o' | while read -r object; do
    name=${object##*/ulpscope-}
    for root in "$source" .; do [ ! -f "$root/${object%/*}/${name%.o}.c" ] || echo "${top_builddir:-.}/$object"; done
done)
names() { nm "$1" "${objects[@]}" | awk 'NF > 1 && $(NF - 1) ~ /^[A-Za-z]$/ && $NF ~ /^ulp_/ {print $NF}' | sort -u; }
wanted=$(comm -23 <(names --undefined-only) <(names --defined-only))
[ "$(echo "$wanted" | wc -l)" -gt 30 ] || { echo "the program calls too few functions of the library: where are its objects?"; bad=1; }
while read -r name; do
    echo "the program calls $name, which is not public:"
    nm -A --undefined-only "${objects[@]}" | grep -w "$name" | sed 's/:.*//; s/^/    /'
    bad=1
done < <(comm -23 <(echo "$wanted") <(echo "$declared") | grep .)

[ -f "$library" ] || { echo "no shared library was built: its exports are not checked"; exit $bad; }
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDRBV]/ {print $3}' | sort)
diff <(echo "$declared") <(echo "$exported") || { echo "< declared in include/ but not exported, > exported but not declared"; bad=1; }
exit $bad
