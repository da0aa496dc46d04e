#!/usr/bin/env bash
# Powers of two that fix carries through a graph: the files against the originals in ONNX Runtime (README.md); 2,000 random networks with
# ULPSCOPE_TEST_LONG=1.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "no onnx and onnxruntime for $python: skipped"; exit 77; }
"$python" "$source/tests/walk/check_powers.py" "$program" "$source/analysis/fix/powers.def" $([ -n "${ULPSCOPE_TEST_LONG:-}" ] && echo 2000 || echo 60)
