#!/usr/bin/env python3
"""One bench program with all instruction sets and without some, side by side.

    instruction_sets.py PROGRAM [WORD]

The program runs once for each list of ULPSCOPE_DISABLE_CPU below, one after the other; what a list leaves is said first. Only its
own figures are shown (GMAC/s, or nanoseconds an element), and how many times as slow the rows are without them.
"""
import json
import os
import subprocess
import sys

LISTS = {"all": "", "no AVX-512": "avx512", "portable": "avx512,avx2,f16c"}
FIGURES = {"gmac_per_s": "GMAC/s", "ns": "ns"}


def measure(program, word, disabled):
    """{name of a row: figure}, and the figures' unit."""
    environment = dict(os.environ, ULPSCOPE_DISABLE_CPU=disabled)
    command = [program, "--json"] + ([word] if word else [])
    rows = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    found, unit = {}, ""
    for row in rows:
        key = next(key for key in FIGURES if key in row)
        name = str(next(row[key] for key in ("case", "formula", "name") if key in row)) + (f", {row['bits']} bits" if "bits" in row else "")
        found[name], unit = row[key], FIGURES[key]
    return found, unit


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, word = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ""
    columns, unit = {}, ""
    for name, disabled in LISTS.items():
        columns[name], unit = measure(program, word, disabled)
        print(f"{name}: ULPSCOPE_DISABLE_CPU={disabled or '(none)'}")
    print(f"{os.path.basename(program) + ', ' + unit:<44}" + "".join(f"{name:>12}" for name in LISTS) + "   times as slow")
    for row, first in columns["all"].items():
        figures = [columns[name][row] for name in LISTS]
        slower = [first / figure if unit == "GMAC/s" else figure / first for figure in figures[1:]]
        print(f"{row:<44}" + "".join(f"{figure:>12.3f}" for figure in figures) + "   " + ", ".join(f"{times:.1f}" for times in slower))


if __name__ == "__main__":
    main()
