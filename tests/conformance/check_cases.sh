#!/bin/sh
# Runs ONNX's own test cases: those of Debian's libonnx-testdata and, when ULPSCOPE_TEST_DATA is set, the archives there.
# Skipped (77) where neither is.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ran=no
failed=no
run()
{
    ran=yes
    echo "== $1"
    ${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/conformance" "$1" || failed=yes
}
for part in node simple pytorch-operator; do
    debian=/usr/share/libonnx-testdata/data/$part
    [ ! -d "$debian" ] || run "$debian"
done
if [ -n "${ULPSCOPE_TEST_DATA:-}" ]; then
    for archive in node node_legacy simple pytorch-operator; do
        [ -f "$ULPSCOPE_TEST_DATA/onnx/$archive.tar.xz" ] || continue
        tar -xf "$ULPSCOPE_TEST_DATA/onnx/$archive.tar.xz" -C "$folder"
        run "$folder/$archive"
    done
fi
[ $ran = yes ] || exit 77
[ $failed = no ]
