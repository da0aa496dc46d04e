#!/usr/bin/env bash
# ort-cuda:fp16: single operators have the bits that ONNX Runtime's CUDA provider gave on an H100 (a sample; FastGelu 98.75 %), and fp16 alone has not; steps= says of whom it is.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: operators are not compared"; exit 77; }
sample=$source/tests/data/ort_cuda/h100_operators.npz
python3 "$source/lab/compare_operators.py" "$program" "$sample" ort-cuda:fp16 --least 98.7 >out || fail "operators are not the recorded ones: $(cat out)"
[ "$(wc -l <out)" = 12 ] || fail "operators of the sample: $(wc -l <out)"
! python3 "$source/lab/compare_operators.py" "$program" "$sample" fp16 --least 90 >out || fail "fp16 tells nothing: $(cat out)"
expect 0 "what rounds otherwise" "$program" list ort-cuda:fp16
shows out "CumSum, Elu" "which operators"
expect 2 "no steps to round" "$program" list fp32,steps=ort-cuda
shows err "steps=" "what is wrong"
exit $failed
