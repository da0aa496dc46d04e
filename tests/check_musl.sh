#!/usr/bin/env bash
# The library's sources by the headers of musl (Debian's musl-tools): what glibc alone declares is asked for by configure or not used.
# Nothing is linked: GMP, MPFR and the other libraries here are glibc's. The program is left out, as its argp.h is glibc's.
# Arguments: other files than all.
set -u
command -v musl-gcc >/dev/null || { echo "no musl-gcc (apt-get install musl-tools): skipped"; exit 77; }
source=$(cd "${top_srcdir:-.}" && pwd) || exit 99
build=$(cd "${top_builddir:-.}" && pwd) || exit 99
headers=$(mktemp -d) || exit 99
trap 'rm -rf "$headers"' EXIT
# of the folders of glibc's headers, those of the libraries alone
for header in gmp mpfr zip zipconf jansson jansson_config expat expat_external expat_config; do
    for folder in /usr/include /usr/include/"$(gcc -print-multiarch)"; do
        [ ! -f "$folder/$header.h" ] || ln -sf "$folder/$header.h" "$headers/"
    done
done
ln -s /usr/include/protobuf-c "$headers/"
cd "$source" || exit 99
if [ $# -eq 0 ]; then mapfile -t files < <(find src analysis -name '*.c' ! -path 'src/cli/*' ! -name '*.pb-c.c' | sort); else files=("$@"); fi
compile() {
    musl-gcc -fsyntax-only -std=gnu11 -DHAVE_CONFIG_H -I"$build" -Iinclude -Isrc -I"$build/src" -I. -isystem "$headers" -Wall -Wno-unknown-pragmas \
        -Werror=implicit-function-declaration "$1"
}
failed=0
# an oracle of the headers: qsort_r is musl's, too, mallinfo2 glibc's alone
printf '#define _GNU_SOURCE\n#include <stdlib.h>\nvoid *a(void) { return (void *)qsort_r; }\n' >"$headers/both.c"
printf '#define _GNU_SOURCE\n#include <malloc.h>\nvoid *a(void) { return (void *)mallinfo2; }\n' >"$headers/glibc.c"
if ! compile "$headers/both.c" || compile "$headers/glibc.c" 2>/dev/null; then
    echo "musl-gcc does not tell musl from glibc"
    exit 1
fi
for file in "${files[@]}"; do
    compile "$file" || { echo "$file does not compile with musl's headers"; failed=1; }
done
[ $failed -eq 0 ] && echo "${#files[@]} files compile with musl's headers"
exit $failed
