#!/usr/bin/env bash
# The table of doc/targets.md is what the comparisons in tests/data/targets say; where there are networks, what these say to be foreseen is what the program says now.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/lab/targets_table.py" --check || fail "doc/targets.md"
[ -d "${ULPSCOPE_TEST_DATA:-}/models" ] || { echo "ULPSCOPE_TEST_DATA has no models: nothing is foreseen again"; exit $failed; }
python3 "$source/lab/targets_table.py" --again "$program" "$ULPSCOPE_TEST_DATA" || fail "forecasts"
exit $failed
