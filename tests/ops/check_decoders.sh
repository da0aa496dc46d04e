#!/usr/bin/env bash
# Nodes of language models, drawn (lab/compare_decoders.py): what ONNX Runtime's CPU provider takes is computed as it computes it, and nothing of it is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import ml_dtypes, onnx, onnxruntime as o; assert tuple(map(int, o.__version__.split(".")[:2])) >= (1, 32)' 2>/dev/null ||
    { echo "no onnxruntime of 1.32 or later: nothing to compare with"; exit 77; }
"$python" "$source/lab/compare_decoders.py" "$program" --draws 12 --seed 7 || fail "a node is refused or wrong"
exit $failed
