#!/usr/bin/env python3
"""Which lines of the rooms that compute the random graphs reach (tests/walk/README.md), counted by gcc.

usage: walk_coverage.py [--functions] BUILD [ROOM ...]
BUILD was configured with CFLAGS='-O1 --coverage', and walks have run in it. Prints a table; with --functions also each function
that nothing has entered, by file."""
import argparse
import collections
import json
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[1]
ROOMS = ["src/ops", "src/run", "src/kernels", "analysis/prove", "analysis/search", "analysis/overflow", "analysis/lint",
         "analysis/compare", "analysis/tolerance"]


def read_counts(build, room):
    """For each file below the room its lines' largest counts, and its functions with their numbers of entries."""
    lines, functions = collections.defaultdict(dict), collections.defaultdict(dict)
    counted = [str(path) for path in sorted((build / room).rglob("*.gcno"))]
    for start in range(0, len(counted), 40):
        ran = subprocess.run(["gcov", "--json-format", "--stdout", *counted[start : start + 40]], cwd=build, capture_output=True, check=True)
        for report in ran.stdout.splitlines():
            for file in json.loads(report)["files"]:
                path = (build / file["file"]).resolve()
                if not path.is_relative_to(SOURCE / room):
                    continue
                name = str(path.relative_to(SOURCE))
                for line in file["lines"]:
                    lines[name][line["line_number"]] = max(line["count"], lines[name].get(line["line_number"], 0))
                for function in file["functions"]:
                    key = function["demangled_name"], function["start_line"], function["end_line"]
                    functions[name][key] = max(function["execution_count"], functions[name].get(key, 0))
    return lines, functions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    given = parser.parse_args()
    print("| room | lines | reached | per cent |\n|---|---|---|---|")
    missing = []
    for room in given.rooms:
        lines, functions = read_counts(given.build.resolve(), room)
        counts = [count for file in lines.values() for count in file.values()]
        reached = sum(count > 0 for count in counts)
        print(f"| `{room}` | {len(counts)} | {reached} | {100 * reached / max(len(counts), 1):.1f} |")
        for name, entries in sorted(functions.items()):
            never = sorted((first, last, function) for (function, first, last), count in entries.items() if not count)
            size = sum(1 for number, count in lines[name].items() if not count)
            if size:
                missing.append((size, name, never))
    for size, name, never in sorted(missing, reverse=True) if given.functions else []:
        print(f"{size} lines of {name}: " + ", ".join(f"{function} ({first}-{last})" for first, last, function in never))


if __name__ == "__main__":
    main()
