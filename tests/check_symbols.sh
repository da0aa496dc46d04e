#!/usr/bin/env bash
# The public functions are those of tests/symbols.txt, so that none comes or goes unseen: `tests/check_symbols.sh --update` writes the
# list anew. The shared library, where one was built, exports exactly what the public headers declare with ULP_API.
set -u
export LC_ALL=C
source=${top_srcdir:-.} library=${top_builddir:-.}/.libs/libulpscope.so
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
[ -f "$library" ] || { echo "no shared library was built: its exports are not checked"; exit $bad; }
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDRBV]/ {print $3}' | sort)
diff <(echo "$declared") <(echo "$exported") || { echo "< declared in include/ but not exported, > exported but not declared"; bad=1; }
exit $bad
