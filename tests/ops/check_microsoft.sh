#!/bin/sh
# Operators of domain com.microsoft against what ONNX Runtime computed (lab/record_microsoft_ops.py): every case passes, none is
# left out. QuantizeLinear of FP16 in the types that the model declares. Integer operators and Q/DQ graphs as it computes them without VNNI
# (lab/record_saturating.py), where sums of bytes saturate; chains of Q/DQ pairs with VNNI (tests/walk/check_runtime.py). Kernels of
# TensorFlow Lite (lab/compare_tflite.py --record), 16x8 and a stack of 29 layers among them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() {
    for archive in "${srcdir:-.}/tests/data/$2"/*.zip; do python3 -m zipfile -e "$archive" "$work/$2" || return 1; done
    said=$(${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/conformance" -a "$1" "$work/$2")
    code=$?
    echo "$said"
    cases=$(find "$work/$2" -name model.onnx | wc -l)
    passed=$(echo "$said" | awk '$1 == "total" { print $2 }')
    [ "$code" -eq 0 ] && [ "$cases" -ge "$3" ] && [ "$passed" -eq "$cases" ]
}
check fp32 microsoft 120 && check model declared 2 && check ort-cpu,qdq=integer,integers=saturating16 saturating 40 && check ort-cpu,qdq=integer pairs 20 &&
    check fp32,qdq=integer,requant=double tflite/double 25 && check fp32,qdq=integer,requant=single tflite/single 8
