#!/usr/bin/env bash
# split-k=cublas against an H100: recorded products whose k was cut, where the Python of ULPSCOPE_TEST_PYTHON has numpy and onnx.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
expect 2 "no such table" "$program" arith fp16@a100,split-k=cublas
expect 2 "no such products" "$program" arith tf32@h100,split-k=cublas
expect 2 "rows without a table" "$program" arith fp16@h100,rows=8
expect 0 "rows" "$program" arith fp16@h100,split-k=cublas,rows=8
"$python" -c 'import numpy, onnx' 2>/dev/null || { echo "no numpy and onnx in $python"; [ "$failed" = 0 ] && exit 77; exit "$failed"; }
"$python" "$top_srcdir/tests/compare_split_k.py" "$program" "$top_srcdir/tests/data/split_k/h100_split_k.npz" --largest $((8192 * 1024)) || fail "products differ"
exit "$failed"
