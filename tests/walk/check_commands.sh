#!/usr/bin/env bash
# Random graphs through every command (README.md): a sample, and 2000 of them with ULPSCOPE_TEST_LONG=1.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
seeds="1-30 641 1384 40014" # of 641 FP32 has all bits, too, and fits far better; of 1384 rows behind TopK are infinite; of 40014 a node has no input
[ -n "${ULPSCOPE_TEST_LONG:-}" ] && seeds=1-2000
python3 "$source/tests/walk/check_commands.py" -j "$(nproc)" "$program" "$program_folder/random_graph" "$work" $seeds
