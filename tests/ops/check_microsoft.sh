#!/bin/sh
# Operators of domain com.microsoft against what ONNX Runtime computed (scripts/record_microsoft_ops.py): every case passes, none is
# left out.
folder=${srcdir:-.}/tests/data/microsoft
said=$("${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" conformance "$folder")
code=$?
echo "$said"
cases=$(find "$folder" -name model.onnx | wc -l)
passed=$(echo "$said" | awk '$1 == "total" { print $2 }')
[ "$code" -eq 0 ] && [ "$cases" -ge 120 ] && [ "$passed" -eq "$cases" ]
