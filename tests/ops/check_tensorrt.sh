#!/bin/sh
# TensorRT's quantisation operators against their definitions (scripts/record_tensorrt_ops.py): every case passes in FP32, none is left
# out. Results are codes and products of two numbers, so that a code that is off by one is off by more than the tolerance.
folder=${srcdir:-.}/tests/data/tensorrt
said=$("${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" conformance "$folder")
code=$?
echo "$said"
cases=$(find "$folder" -name model.onnx | wc -l)
passed=$(echo "$said" | awk '$1 == "total" { print $2 }')
[ "$code" -eq 0 ] && [ "$cases" -ge 15 ] && [ "$passed" -eq "$cases" ]
