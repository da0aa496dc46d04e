#!/usr/bin/env bash
# Doxygen reads the public headers without a warning (doc/Doxyfile makes them errors), and describes every function, structure
# and enumeration of theirs; a comment that it cannot read is found.
set -u
command -v doxygen >/dev/null || { echo "doxygen is not here: skipped"; exit 77; }
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
make_pages() { ULPSCOPE_VERSION=0 ULPSCOPE_SOURCE=$1 ULPSCOPE_OUTPUT=$work doxygen "$source/doc/Doxyfile" >"$work/log" 2>&1; }

make_pages "$source" || { cat "$work/log"; exit 1; }
names=$(cat "$source"/include/ulpscope.h "$source"/include/ulpscope/*.h | tr '\n' ' ' | grep -oE 'ULP_API [^;(]*\bulp_[a-z0-9_]+ ?\(' | grep -oE 'ulp_[a-z0-9_]+ ?\($' | tr -d ' (')
[ "$(wc -w <<<"$names")" -gt 100 ] || { echo "too few functions were found"; exit 1; }
cat "$work"/html/*_8h.html >"$work/pages"
for name in $names; do
    grep -q "id=\"r_a[0-9a-f]*\".*\b$name\b\|class=\"memname\".*\b$name\b" "$work/pages" || { echo "$name is not in the reference"; bad=1; }
done
for name in $(cat "$source"/include/ulpscope/*.h | grep -oE '^struct ulp_[a-z_]+ \{' | awk '{print $2}'); do
    [ -f "$work/html/struct${name//_/__}.html" ] || { echo "struct $name is not in the reference"; bad=1; }
done

mkdir -p "$work/broken/include" "$work/broken/doc"
cp "$source/doc/doxygen.awk" "$work/broken/doc"
printf '/* A header. */\n/* A comment with an \\unknown command. */\nint f(void);\n' >"$work/broken/include/broken.h"
sed -i 's/gsub(/0 \&\& gsub(/' "$work/broken/doc/doxygen.awk"
make_pages "$work/broken" && { echo "a warning is no error"; bad=1; }
exit $bad
