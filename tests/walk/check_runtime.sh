#!/usr/bin/env bash
# Random graphs in ONNX Runtime's CPU provider beside what is foreseen of them (README.md): a sample, or 2,000 with ULPSCOPE_TEST_LONG=1. Recorded ones everywhere: check_microsoft.sh.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_RUNTIMES:-python3}
[ -x "$python" ] && "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "no onnx and onnxruntime for $python: skipped"; exit 77; }
"$python" "$source/tests/walk/check_runtime.py" "$program" "$program_folder/random_graph" "$work" "1-$([ -n "${ULPSCOPE_TEST_LONG:-}" ] && echo 2000 || echo 25)"
