#!/usr/bin/env bash
# `make install` into an empty folder: it is complete, links of the pages hold there, a user's program compiles and links against
# it by pkg-config and computes what the build's does, and `make uninstall` leaves nothing.
set -u
build=$(cd "${top_builddir:-.}" && pwd)
source=$(cd "${top_srcdir:-.}" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
bad=0
program=${ULPSCOPE_PROGRAM:-$build/ulpscope}
wrong() { echo "$*"; bad=1; }
# a variable of the build's Makefile
of_make() { printf 'include Makefile\nprint-it:\n\t@echo $(%s)\n' "$1" | make -s -C "$build" -f - print-it; }
unset MAKEFLAGS MFLAGS MAKELEVEL

make -s -C "$build" install DESTDIR="$stage" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
rm "$stage/log"
for name in bindir includedir libdir mandir docdir datarootdir; do declare "$name=$stage$(of_make $name)"; done
[ -x "$bindir/ulpscope" ] || wrong "no program"
(cd "$source/include" && find . -name '*.h' | sort) | while read -r header; do
    cmp -s "$source/include/$header" "$includedir/$header" || echo "$header is not installed"
done | grep . && bad=1
commands=$("$program" --help=all | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 16 ] || wrong "too few commands were found"
for page in ulpscope $(sed 's/^/ulpscope-/' <<<"$commands"); do
    [ -s "$mandir/man1/$page.1" ] || wrong "no manual page $page(1)"
done
for file in bash-completion/completions/ulpscope zsh/site-functions/_ulpscope fish/vendor_completions.d/ulpscope.fish; do
    [ -s "$datarootdir/$file" ] || wrong "no $file"
done
links=0
while IFS=: read -r page link; do
    links=$((links + 1))
    [ -e "$(dirname "$page")/$link" ] || wrong "${page#"$docdir"/} names $link, which is not installed"
done < <(grep -roE '\]\([^)# ]+' --include='*.md' "$docdir" | sed 's/](//' | grep -vE ':(https?|mailto):')
[ $links -ge 20 ] || wrong "too few links were found"

# a user's program
export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
[ "$(pkg-config --modversion ulpscope)" = "$(cat "$source/VERSION")" ] || wrong "the version of ulpscope.pc"
read -ra compile <<<"$(of_make CC) $(of_make CFLAGS)"
read -ra flags <<<"$(pkg-config --cflags --libs ulpscope)"
# a static library needs those that ulpscope.pc names; what these need in turn is in them
[ -e "$libdir/libulpscope.so" ] || read -ra flags <<<"${flags[*]} $(pkg-config --print-requires-private ulpscope | xargs pkg-config --libs) -lm -lpthread"
digits=$source/examples/digits
if "${compile[@]}" "$docdir/examples/layer_error.c" "${flags[@]}" -o "$stage/layer_error"; then
    LD_LIBRARY_PATH=$libdir ${ULPSCOPE_EMULATOR:-} "$stage/layer_error" "$digits/model.onnx" "$digits/inputs.npz" fp16 block/norm1/Sum >"$stage/said" || wrong "layer_error failed"
    grep -q '^block/norm1/Sum (ReduceSum) in fp16' "$stage/said" || wrong "layer_error: $(cat "$stage/said")"
    # what the program says of the same node
    "$program" audit -q "$digits/model.onnx" -i "$digits/inputs.npz" -a fp16 --out "$stage/report" >/dev/null
    "$program" show "$stage/report" block/norm1/Sum >"$stage/shown"
    for view in introduced carried; do
        got=$(awk -v view=$view '$1 == view { print $3 }' "$stage/said")
        expected=$(awk -v view=$view '/ single .*carried$/ { for (i = 1; i <= NF; i++) at[$i] = i + 1 } $1 == "rms" && NF == 5 { print $at[view] }' "$stage/shown")
        [ -n "$got" ] && [ "$got" = "$expected" ] || wrong "$view: rms '$got', the program says '$expected'"
    done
    rm -r "$stage/report" "$stage/said" "$stage/shown" "$stage/layer_error"
else
    wrong "examples/layer_error.c does not compile with: ${flags[*]}"
fi

make -s -C "$build" uninstall DESTDIR="$stage" >/dev/null 2>&1 || wrong "make uninstall failed"
left=$(find "$stage" -type f -o -type l)
[ -z "$left" ] || wrong "make uninstall leaves: $left"
exit $bad
