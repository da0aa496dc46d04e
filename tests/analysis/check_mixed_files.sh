#!/bin/sh
# mixed.onnx as onnx.checker and ONNX Runtime see it (lab/compare_mixed.py), where a Python has them (ULPSCOPE_TEST_PYTHON names another one
# than python3).
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "$python has no onnx and onnxruntime: skipped"; exit 77; }
# The table of types is what these versions' schemas say, where it was written from them.
made=$("$python" "${top_srcdir:-.}/scripts/list_wide_operators.py") || exit 1
if [ "$(echo "$made" | head -2)" = "$(head -2 "${top_srcdir:-.}/src/ops/wide.def")" ]; then
    echo "$made" | diff - "${top_srcdir:-.}/src/ops/wide.def" || { echo "FAIL src/ops/wide.def is not what scripts/list_wide_operators.py lists"; exit 1; }
fi
exec "$python" "${top_srcdir:-.}/lab/compare_mixed.py" "${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" ${ULPSCOPE_TEST_DATA:+"$ULPSCOPE_TEST_DATA"} \
    ${ULPSCOPE_TEST_LONG:+--long}
