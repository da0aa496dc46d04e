#!/usr/bin/env bash
# Outputs as real networks have them, each with a twin that is right and one that is wrong: no false alarm, no false peace, at any size of a group. The generators
# (twin_cases.py, twin_sweeps.py) were written without a look at the rules, and have numpy for a judge of their own.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: no twins are made"; exit 77; }
python3 "$source/tests/cli/twin_table.py" "$source/examples" "$program" . || fail "twins: see the table"
exit $failed
