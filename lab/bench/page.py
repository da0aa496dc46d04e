#!/usr/bin/env python3
"""doc/performance.md from one run of the benchmarks on this machine.

    lab/bench/page.py [--build FOLDER] [--only WORD] [--networks N] [--out FILE]     (make -C build performance)

Every bench program runs once with all instruction sets of the processor and once without AVX-512 and in portable C, then the networks of ULPSCOPE_TEST_DATA beside ONNX Runtime in N turns (networks.py; without the folder they are
left out, and the page says so). Take a quiet machine: the page gives its load before the first program and after the last. --only: rows of
programs with WORD in their names, and no networks, to try the page. --out - prints it (make -C build bench).
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LISTS = {"all": "", "no AVX-512": "avx512", "portable": "avx512,avx2,f16c"}  # of ULPSCOPE_DISABLE_CPU
FIGURES = "gmac_per_s", "ns"
SECTIONS = (
    ("bench_contract", "Sums of products, GMAC/s of one core", "`of sgemm`: of the same run's OpenBLAS, in single precision",
     (("of_sgemm", "of sgemm"),)),
    ("bench_elementwise", "Formulas in the reference, ns an element of one core", "`MPFR's ns`: MPFR's own functions at 106 bits, one after the other, element by element",
     (("mpfr_ns", "MPFR's ns"),)),
    ("bench_measure", "Measures of errors, ns an element of one core", "", ()),
)


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.processor() or platform.machine()


def compiler(build):
    words = subprocess.run([os.path.join(build, "config.status"), "--config"], capture_output=True, text=True).stdout.strip()
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()
    return (version[0] if version else "gcc"), words or "no options"


def name_of(row):
    return next(row[key] for key in ("case", "formula", "name") if key in row)


def measure(program, word):
    """Rows of the program with all instruction sets, and each figure without some: {name: [figure, ...]}."""
    rows, columns = [], {}
    for label, disabled in LISTS.items():
        print(f"{os.path.basename(program)}: {label}", file=sys.stderr)
        environment = dict(os.environ, ULPSCOPE_DISABLE_CPU=disabled)
        command = [program] + ([word] if word else [])
        found = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        rows = rows or found
        for row in found:
            key = next(key for key in FIGURES if key in row)
            columns.setdefault(name_of(row), []).append(row[key])
    return rows, columns


def shape(row):
    return f" {row['batch']} x {row['m']}x{row['n']}x{row['k']}" if "k" in row else ""


def table(titles, lines):
    return "\n".join(["| " + " | ".join(titles) + " |", "|---" + "|--:" * (len(titles) - 1) + "|"] +
                     ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def section(build, program, title, words, peers, only):
    rows, columns = measure(os.path.join(build, program), only)
    there = [peer for peer in peers if any(row.get(peer[0]) for row in rows)]
    missing = ", ".join(f"`{peer[1]}`" for peer in peers if peer not in there)
    peers, lines = there, []
    for row in rows:
        figures = columns[name_of(row)]
        lines.append([f"`{name_of(row)}`{shape(row)}"] + [f"{figure:.3g}" for figure in figures] +
                     [f"{row[key]:.3g}" if row.get(key) else "" for key, _ in peers])
    titles = ["", *LISTS, *(peer for _, peer in peers)]
    return f"## {title}\n\n" + (f"{words} (all instruction sets).{f' Not on this machine: {missing}.' if missing else ''}\n\n" if words else "") + table(titles, lines)


def networks(build, turns):
    if not os.environ.get("ULPSCOPE_TEST_DATA"):
        return "## Whole networks\n\nNot measured: `ULPSCOPE_TEST_DATA` was not set.\n"
    command = [sys.executable, os.path.join(HERE, "networks.py"), "--ulpscope", os.path.join(build, "ulpscope"), "--repeat", str(turns)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    if not text:
        return "## Whole networks\n\nNot measured: Python has no onnxruntime, or the folder no models.\n"
    rows = json.loads(text)["networks"]
    columns = ("onnxruntime.1", "onnxruntime.2", "fp32.1", "fp32.2", "fp16.2", "pair.2")
    lines = [[row["model"]] + [f"{1e3 * row[key]:.3g}" if key in row else "" for key in columns] +
             [f"{row['audit.2']:.3g}" if "audit.2" in row else "", f"{row['audit.peak_bytes'] / 2**20:.0f}" if "audit.peak_bytes" in row else ""]
             for row in rows]
    titles = ("", "ONNX Runtime 1t", "2t", "fp32 1t", "2t", "fp16 2t", "pair 2t", "audit, s", "MiB")
    return ("## Whole networks\n\nMilliseconds of one inference, the fastest of the turns, with one and two threads; seconds and the largest memory of an "
            f"audit of `{rows[0]['audited'] if rows else ''}` with shares, two threads.\n\n") + table(titles, lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--networks", type=int, default=3, metavar="N")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "..", "doc", "performance.md"))
    options = parser.parse_args()
    version, words = compiler(options.build)
    commit = subprocess.run(["git", "-C", HERE, "log", "-1", "--format=%h"], capture_output=True, text=True).stdout.strip()
    before, begun = os.getloadavg()[0], datetime.date.today()
    parts = [section(options.build, *row, options.only) for row in SECTIONS]
    if not options.only:
        parts.append(networks(options.build, options.networks))
    head = (f"# Performance\n\nWritten by `make -C build performance` (`lab/bench/page.py`) on {begun}: one run on one machine, {processor()}, "
            f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after; {version}, configured with {words}; commit {commit or 'of a tarball'}.\n"
            "Seconds are this process's on a processor. Columns leave out instruction sets (`ULPSCOPE_DISABLE_CPU`); results have the same bits in all of them.\n")
    with open("/dev/stdout" if options.out == "-" else options.out, "w", encoding="utf-8") as file:
        file.write("\n".join([head, *parts]))


if __name__ == "__main__":
    main()
