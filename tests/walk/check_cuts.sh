#!/usr/bin/env bash
# Proofs of parts of real networks against runs (README.md): a sample, and an hour of them with ULPSCOPE_TEST_LONG=1.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
[ -n "${ULPSCOPE_TEST_DATA:-}" ] || { echo "ULPSCOPE_TEST_DATA is not set: no networks to cut: skipped"; exit 77; }
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "no onnx and onnxruntime for $python: skipped"; exit 77; }
some=(--networks 4 --seconds 12)
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && some=(--seconds 3600)
"$python" "$source/tests/walk/check_cuts.py" "${some[@]}" "$program" "$ULPSCOPE_TEST_DATA" "$work" 1-40
