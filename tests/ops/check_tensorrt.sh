#!/bin/sh
# TensorRT's quantisation operators against their definitions (lab/record_tensorrt_ops.py): every case passes in FP32, none is left
# out. Results are codes and products of two numbers, so that a code that is off by one is off by more than the tolerance. Sizes, types
# and attributes that are not computed are refused, and said by name.
program=${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/cases
for archive in cases refused; do python3 -m zipfile -e "${srcdir:-.}/tests/data/tensorrt/$archive.zip" "$work/$archive" || exit 1; done
said=$(${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/conformance" "$folder")
code=$?
echo "$said"
cases=$(find "$folder" -name model.onnx | wc -l)
passed=$(echo "$said" | awk '$1 == "total" { print $2 }')
[ "$code" -eq 0 ] && [ "$cases" -ge 16 ] && [ "$passed" -eq "$cases" ] || exit 1

refused=0
for text in "$work"/refused/*.txt; do
    said=$("$program" run "${text%.txt}.onnx" 2>&1)
    code=$?
    case $said in
        *"$(cat "$text")"*) ;;
        *) code=0 ;;
    esac
    [ "$code" -ne 0 ] || { echo "$text: not refused so: $said"; exit 1; }
    refused=$((refused + 1))
done
[ "$refused" -ge 16 ]
