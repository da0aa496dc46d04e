#!/usr/bin/env bash
# The reference in pairs gives what MPFR gives at 512 bits: every reason for which it asks MPFR planted (pair_cases.py), and 100 random graphs.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
last=101
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && last=3001
python3 "$source/tests/walk/pair_cases.py" "$program" "$work" "$program_folder/random_graph" "1-$last" || failed=1
exit $failed
