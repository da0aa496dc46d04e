#!/usr/bin/env bash
# All headers in one file: no tag, function or constant of one is another's, and each can be read where only those before it in the
# alphabet were. Headers without #pragma once are templates, read several times inside others.
set -u
source_folder=$(cd "${top_srcdir:-.}" && pwd) || exit 99
build_folder=$PWD
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$source_folder" || exit 99
{
    echo '#include <ulpscope.h>'
    find src analysis -name '*.h' ! -name '*pb-c.h' -exec grep -l '^#pragma once' {} + | sort | sed 's#^src/##; s#.*#\#include "&"#'
} >"$work/all.c"
[ "$(wc -l <"$work/all.c")" -gt 150 ] || { echo "only $(wc -l <"$work/all.c") headers were found: is top_srcdir right?"; exit 1; }
${CC:-cc} -std=gnu11 -fsyntax-only -Wall -Wno-unused -Iinclude -Isrc -I. -I"$build_folder" -I"$build_folder/src" \
    ${ULPSCOPE_HEADER_CFLAGS:-} "$work/all.c" 2>"$work/err" && [ ! -s "$work/err" ] && exit 0
grep -E 'error|warning' "$work/err" | head -20
exit 1
