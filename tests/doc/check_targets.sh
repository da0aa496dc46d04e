#!/usr/bin/env bash
# The tables of doc/targets.md and doc/scorecard.md are what the comparisons in tests/data/targets say; where there are networks, what these say to be foreseen is what the program says now.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/lab/targets_table.py" --check || fail "doc/targets.md"
# the same of the scorecard, whose figures README has, and of the public causes, which tests/doc/check_corpus.sh counts
python3 "$source/lab/scorecard.py" --check || fail "doc/scorecard.md, README.md: python3 lab/scorecard.py writes them anew"
[ -d "${ULPSCOPE_TEST_DATA:-}/models" ] || { echo "ULPSCOPE_TEST_DATA has no models: nothing is foreseen again"; exit $failed; }
python3 "$source/lab/targets_table.py" --again "$program" "$ULPSCOPE_TEST_DATA" || fail "forecasts"
# what TensorRT-RTX made one kernel, of eight networks: 638 of 658 pairs of neighbours as it built them, 610 by Inductor's rules
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'from onnx import numpy_helper' 2>/dev/null || { echo "$python has no onnx: kernels are not compared"; exit $failed; }
"$python" "$source/lab/compare_rtx.py" "$program" "$ULPSCOPE_TEST_DATA" "$source/tests/data/rtx/built.json" --least 96 >out || fail "TensorRT-RTX's kernels: $(cat out)"
exit $failed
