#!/usr/bin/env bash
# Written files of parts of real networks against the originals in ONNX Runtime (README.md): a sample, and more than 1,000 files with
# ULPSCOPE_TEST_LONG=1.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
[ -n "${ULPSCOPE_TEST_DATA:-}" ] || { echo "ULPSCOPE_TEST_DATA is not set: no networks to cut: skipped"; exit 77; }
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "no onnx and onnxruntime for $python: skipped"; exit 77; }
some=(--every 9 1-4)
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && some=(1-9)
"$python" "$source/tests/walk/check_written.py" "${some[@]:0:${#some[@]}-1}" "$program" "$ULPSCOPE_TEST_DATA" "$work" "${some[-1]}"
