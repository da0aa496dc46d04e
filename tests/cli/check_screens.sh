#!/usr/bin/env bash
# What each command shows on terminals of 80 and 100 columns, beside tests/data/screens; --update writes these anew.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/tests/cli/screens.py" "$program" "$source/examples/digits" "$source/tests/data/screens" "$@" || fail "screens"
exit $failed
