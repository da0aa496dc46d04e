#!/usr/bin/env bash
# Random graphs through every command (README.md): a sample, and 2000 of them with ULPSCOPE_TEST_LONG=1.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
last=30
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && last=2000
python3 "$source/tests/walk/check_commands.py" -j "$(nproc)" "$program" "$program_folder/random_graph" "$work" "1-$last"
