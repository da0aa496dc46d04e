#!/usr/bin/env bash
# Pictures prepared wrongly for small detectors: compare finds it or cannot tell, and never explains it; where Python has numpy.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy in python3"; exit 77; }
python3 "$source/tests/cli/planted_preparations.py" "$program" "$work" || fail "wrong preparations are explained, or right ones are not"
exit "$failed"
