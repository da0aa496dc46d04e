#!/usr/bin/env bash
# The shared library exports exactly what the public headers declare with ULP_API.
set -u
library=${top_builddir:-.}/.libs/libulpscope.so
[ -f "$library" ] || { echo "no shared library was built: skipped"; exit 77; }
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDRBV]/ {print $3}' | sort)
declared=$(cat "${top_srcdir:-.}"/include/ulpscope.h "${top_srcdir:-.}"/include/ulpscope/*.h | tr '\n' ' ' |
    grep -oE 'ULP_API [^;(]*\bulp_[a-z0-9_]+ ?\(' | grep -oE 'ulp_[a-z0-9_]+ ?\($' | tr -d ' (' | sort)
[ "$(echo "$declared" | wc -l)" -gt 30 ] || { echo "too few declarations were found"; exit 1; }
diff <(echo "$declared") <(echo "$exported") && exit 0
echo "< declared in include/ but not exported, > exported but not declared"
exit 1
