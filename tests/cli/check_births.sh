#!/usr/bin/env bash
# Where the reference itself stops being finite no command says fine and no gate opens: 16 ways behind random layers, in front of 13 operators that
# hand it on or hide it (birth_cases.py).
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
last=1
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && last=20
for ((seed = 1; seed <= last; seed++)); do python3 "$source/tests/cli/birth_cases.py" "$program" "$work" $seed || fail "births, seed $seed"; done
exit $failed
