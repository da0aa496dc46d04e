#!/bin/sh
# mixed.onnx as onnx.checker and ONNX Runtime see it (tests/compare_mixed.py), where a Python has them (ULPSCOPE_TEST_PYTHON names another one
# than python3).
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "$python has no onnx and onnxruntime: skipped"; exit 77; }
exec "$python" "${top_srcdir:-.}/tests/compare_mixed.py" "${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" ${ULPSCOPE_TEST_DATA:+"$ULPSCOPE_TEST_DATA"} \
    ${ULPSCOPE_TEST_LONG:+--long}
