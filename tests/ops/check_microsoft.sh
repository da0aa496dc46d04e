#!/bin/sh
# Operators of domain com.microsoft against what ONNX Runtime computed (lab/record_microsoft_ops.py): every case passes, none is
# left out. QuantizeLinear of FP16 in the types that the model declares.
folder=${srcdir:-.}/tests/data
check() {
    said=$(${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/conformance" -a "$1" "$2")
    code=$?
    echo "$said"
    cases=$(find "$2" -name model.onnx | wc -l)
    passed=$(echo "$said" | awk '$1 == "total" { print $2 }')
    [ "$code" -eq 0 ] && [ "$cases" -ge "$3" ] && [ "$passed" -eq "$cases" ]
}
check fp32 "$folder/microsoft" 120 && check model "$folder/declared" 2
