#!/usr/bin/env bash
# The tables of results' members in doc/ are those of the headers (scripts/result_fields.py).
set -u
cd "${top_srcdir:-.}" || exit 99
command -v python3 >/dev/null || { echo "there is no python3: skipped"; exit 77; }
python3 scripts/result_fields.py --check || { echo "write them with scripts/result_fields.py"; exit 1; }
