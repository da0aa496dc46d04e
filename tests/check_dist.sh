#!/usr/bin/env bash
# Every file of the repository goes into the tarball: Makefile.am or a local.mk names it, or the folder of tests/data
# or tests/fuzz/corpus that it lies in.
set -u
cd "${top_srcdir:-.}" || exit 99
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout: nothing to compare with"; exit 77; }
named=$(for makefile in Makefile.am $(git ls-files '*local.mk'); do
    sed "s|%D%|$(dirname "$makefile")|g" "$makefile" | tr ' \t=\\' '\n\n\n\n'
done | sed 's|^\./||' | sort -u)
# automake takes these by itself, or they are the repository's alone
files=$(git ls-files | grep -vE '(^|/)(local\.mk|Makefile\.am|\.[^/]*)(/|$)|^(configure\.ac|ulpscope\.pc\.in|m4/.*)$' | sort)
[ "$(wc -l <<<"$files")" -gt 500 ] || { echo "too few files were found"; exit 1; }
bad=0
for file in $(comm -23 <(echo "$files") <(echo "$named")); do
    folder=$file
    while [[ $folder == tests/data/* || $folder == tests/fuzz/corpus/* ]] && ! grep -qxF -- "$folder" <<<"$named"; do folder=$(dirname "$folder"); done
    [[ $folder == tests/data/* || $folder == tests/fuzz/corpus* ]] || { echo "$file is in no Makefile"; bad=1; }
done
# a PART of scripts/release with a mistake in it is no folder that it makes
said=$(scripts/release tarbal 2>&1) && { echo "scripts/release tarbal was taken"; bad=1; }
[[ $said == *"tarbal: no part (tarball "* ]] || { echo "scripts/release tarbal: $said"; bad=1; }
exit $bad
