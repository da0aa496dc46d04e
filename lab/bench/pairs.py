#!/usr/bin/env python3
"""Did a change move a time? Two commits in paired turns, and what moved by more than its noise.

    lab/bench/pairs.py BASE NEW [--only networks,start] [--word WORD] [--turns 9] [--minutes 40] [--page doc/performance.md]

BASE and NEW are commits, which are built at -O3 in folders of their own below --work and kept there, or build folders. The parts are
contract, elementwise and measure (the rows of the bench programs), start (of the program), python (a call) and networks: models of
--data, and those that scripts/make_networks.py makes. A turn of a command is BASE, NEW and BASE again, in the next turn the other way round, one thread each; every
turn goes through all commands before the next one begins, and none begins after --minutes. A figure is the processor's seconds of NEW over
BASE and, for the noise, of BASE over BASE; that of all turns is the median, with three standard errors behind it, which follow from the
median deviation of both kinds of pairs, or from the part's median where that is larger: a few turns may agree by chance. A machine that
others load makes the error larger, not the figure wrong. --page: the table of what moved is the last section of that page, in place of
the one there. Exit code 1: something became slower by more than its error."""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import page
import process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = {"fp32": ["run", "-a", "fp32"], "fp16": ["run", "-a", "fp16"], "pair": ["run", "-a", "pair"],
            "audit": ["audit", "-a", "fp16,tf32"], "audit without shares": ["audit", "-a", "fp16,tf32", "--no-attribute"]}
NETWORKS = "mnist_8,tinybert_1l,self_attention_ezkl,nanogpt_4l,gtcrn_simple,silero_vad_16k,fsanet_1x1,ultraface_rfb_320"
MADE = "depthwise,wave,looped"  # by scripts/make_networks.py
PROGRAMS = "contract", "elementwise", "measure"
PARTS = *PROGRAMS, "start", "python", "networks"
HEADING = "## What moved between two commits"
TURNS_MIN, STARTS, CALLS, NAMED = 3, 20, 20000, 3
# A normal distribution's standard deviation is so many median deviations; the error of a median of n is so many times that of a mean.
OF_DEVIATION, OF_MEAN = 1.4826, 1.2533
PYTHON_CALL = f"""
import time
import numpy
import ulpscope
x = numpy.linspace(1, 2, 16, dtype=numpy.float32)
ulpscope.round(x, "fp16")
begun = time.process_time()
for _ in range({CALLS}):
    ulpscope.round(x, "fp16")
print((time.process_time() - begun) / {CALLS})
"""


class Build:
    """A commit or a build folder, and what can be run of it."""

    def __init__(self, name, work):
        if os.path.isfile(os.path.join(name, "config.status")):
            self.build, self.label = os.path.abspath(name), name
            with open(os.path.join(name, "Makefile"), encoding="utf-8") as file:
                self.tree = re.search(r"^abs_top_srcdir = (.*)$", file.read(), re.M)[1]
        else:
            self.label = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", f"{name}^{{commit}}"], check=True, capture_output=True,
                                        text=True).stdout.strip()
            self.tree = os.path.join(os.path.abspath(work), self.label)
            self.build = os.path.join(self.tree, "build")
            if not os.path.isdir(self.tree):
                os.makedirs(self.tree)
                files = subprocess.Popen(["git", "-C", ROOT, "archive", self.label], stdout=subprocess.PIPE)
                subprocess.run(["tar", "-x", "-C", self.tree], stdin=files.stdout, check=True)
            if not os.path.exists(os.path.join(self.build, "ulpscope")):
                print(f"pairs: {self.label} is built in {self.build}", file=sys.stderr)
                subprocess.run([os.path.join(self.tree, "scripts", "build"), "--disable-static"], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, ULPSCOPE_BUILD=self.build))
        # commits that libtool built have a script for ulpscope beside a shared library
        shared = os.path.join(self.build, ".libs", "ulpscope")
        self.program = shared if os.path.exists(shared) else os.path.join(self.build, "ulpscope")
        self.environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.build, ".libs"))

    def make(self, names):
        subprocess.run(["make", "-s", "-C", self.build, *names], check=True, stdout=subprocess.DEVNULL)

    def package(self):
        """The environment in which Python finds this build's package, which is made as tests/python/package.sh makes it."""
        made = [os.path.join(self.build, folder, "libulpscope.so") for folder in ("", ".libs")]
        library = next(filter(os.path.exists, made), None)
        if library is None:
            raise RuntimeError(f"{self.build} has no shared library for Python: leave the part python out")
        folder = os.path.join(self.build, "pairs-python")
        shutil.copytree(os.path.join(self.tree, "python", "ulpscope"), os.path.join(folder, "ulpscope"), dirs_exist_ok=True)
        subprocess.run([sys.executable, os.path.join(self.tree, "scripts", "python_declarations.py"), os.path.join(folder, "ulpscope")], check=True)
        return dict(os.environ, PYTHONPATH=folder, ULPSCOPE_LIBRARY=library)


class Figure(NamedTuple):
    cost: float
    bytes: float = 0.0
    faults: float = 0.0


class Case(NamedTuple):
    """measure(build) gives {row: Figure} of one command."""
    part: str
    measure: object


class Row:
    def __init__(self):
        self.pairs, self.same, self.bytes, self.faults = [], [], [], []

    def add(self, first, new, last):
        self.pairs.append(math.log(new.cost / statistics.mean((first.cost, last.cost))))
        self.same.append(math.log(last.cost / first.cost))
        if first.bytes:
            self.bytes.append(new.bytes / first.bytes)
            self.faults.append(new.faults / first.faults)

    def median(self):
        return statistics.median(self.pairs)

    def deviation(self):
        # with one measurement's variance 1, a pair's with a mean of two has 3/2, one of two of them 2
        median = self.median()
        return max(statistics.median(abs(p - median) for p in self.pairs), statistics.median(abs(s) for s in self.same) * math.sqrt(3 / 4))


def bench_rows(build, program, word):
    """{row: seconds, or nanoseconds} of a bench program; peers' rows are left out."""
    command = [os.path.join(build.build, f"bench_{program}"), "--json", word]  # earlier commits print text without it
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=build.environment).stdout
    rows = {}
    for row in json.loads(text):
        key = next(key for key in page.FIGURES if key in row)
        rows[f"{page.name_of(row)}{page.shape(row)}"] = Figure(1 / row[key] if key == "gmac_per_s" else row[key])
    return {name: figure for name, figure in rows.items() if not re.match("[sd]gemm ", name)}


def bench_cases(program, base, new, word):
    """One for each name that has no other name in it: a run with a word measures all rows with that word in their names."""
    source = os.path.join(base.tree, "tests", "bench", f"bench_{program}.c")
    with open(source, encoding="utf-8") as file:
        table = re.search(r"\brows\[\] = \{(.*?)^\};", file.read(), re.M | re.S)[1]
    names = [name for name in re.findall(r"^\s*\{\s*(?:\.\w+ = )?\"([^\"]*)\"", table, re.M) if word in name and not re.match("[sd]gemm ", name)]
    for build in (base, new):
        build.make([f"bench_{program}"])
    for name in dict.fromkeys(names):
        if not any(other != name and other in name for other in names):
            yield Case(program, lambda build, name=name: bench_rows(build, program, name))


def run(name, build, command, count=1):
    costs = [process.run([build.program, *command], build.environment) for _ in range(count)]
    return {name: Figure(sum(cost.processor_seconds for cost in costs), max(cost.peak_bytes for cost in costs), sum(cost.faults for cost in costs))}


def command_of(words, folder, out):
    inputs = os.path.join(folder, "inputs.npz")
    inputs = inputs if os.path.exists(inputs) else os.path.join(folder, "test_data_set_0")
    return [*words, os.path.join(folder, "model.onnx"), "-i", inputs, "-q", "-t", "1", *(["-o", out] if words[0] == "run" else [])]


def folder_of(network, options):
    """Of its model, which is made where it must be; None: without the measured data there is none."""
    if network not in MADE.split(","):
        return os.path.join(options.data, "models", network) if options.data else None
    folder = os.path.join(options.work, network)
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "make_networks.py"), folder, "--model", network], check=True, stdout=subprocess.DEVNULL)
    return folder


def python_call(environments, build):
    text = subprocess.run([sys.executable, "-c", PYTHON_CALL], check=True, stdout=subprocess.PIPE, env=environments[build]).stdout
    return {"round of 16": Figure(float(text))}


def cases_of(part, options, base, new):
    if part in PROGRAMS:
        yield from bench_cases(part, base, new, options.word)
    elif part == "python":
        environments = {build: build.package() for build in (base, new)}
        yield Case(part, lambda build: python_call(environments, build))
    elif part == "start":
        yield Case(part, lambda build: run("--version", build, ["--version"], STARTS))
        if options.data:
            words = command_of(["audit", "-a", "fp16", "--no-attribute"], os.path.join(options.data, "models", "mnist_8"), "")
            yield Case(part, lambda build: run("audit of mnist_8", build, words, STARTS))
    else:
        out = os.path.join(options.work, "out.npz")
        for network in options.networks.split(","):
            folder = folder_of(network, options)
            for name, words in COMMANDS.items():
                if folder and options.word in f"{network}, {name}":
                    words = command_of(words, folder, out)
                    yield Case(part, lambda build, name=f"{network}, {name}", words=words: run(name, build, words))


def measure(cases, base, new, options):
    """{(part, row): Row}; turns end with --turns, or at the deadline."""
    rows, deadline = {}, time.monotonic() + 60 * options.minutes
    for turn in range(options.turns):
        begun = time.monotonic()
        for case in cases:
            if time.monotonic() > deadline:
                print(f"pairs: {options.minutes:g} minutes ended in turn {turn + 1}", file=sys.stderr)
                return rows
            order = [base, new, base]
            first, middle, last = (case.measure(build) for build in (order if turn % 2 else reversed(order)))
            for name in first.keys() & middle.keys():
                rows.setdefault((case.part, name), Row()).add(first[name], middle[name], last[name])
        print(f"pairs: turn {turn + 1} of {options.turns} took {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return rows


class Verdict(NamedTuple):
    part: str
    name: str
    moved: float
    error: float
    row: Row


def judge(rows):
    judged = {key: row for key, row in rows.items() if len(row.pairs) >= TURNS_MIN}
    usual = {part: statistics.median(row.deviation() for (of, _), row in judged.items() if of == part) for part, _ in judged}
    for (part, name), row in judged.items():
        error = 3 * OF_DEVIATION * OF_MEAN * max(row.deviation(), usual[part]) / math.sqrt(len(row.pairs))
        yield Verdict(part, name, math.expm1(row.median()), error, row)


def has_moved(verdict):
    return abs(math.log1p(verdict.moved)) > verdict.error


def first_sentence(verdicts, skipped, base, new):
    if not verdicts:
        return f"From {base.label} to {new.label}, nothing is judged: none of {skipped} times had {TURNS_MIN} turns; raise --minutes."
    moved = sorted(filter(has_moved, verdicts), key=lambda v: v.moved)
    ends = {"faster": [v for v in moved if v.moved < 0], "slower": [v for v in reversed(moved) if v.moved > 0]}
    said = [f"{len(some)} became {word}, most of all {', '.join(f'{v.part} `{v.name}` by {abs(v.moved):.0%}' for v in some[:NAMED])}"
            for word, some in ends.items() if some]
    text = f"From {base.label} to {new.label}, " + (f"{len(moved)} of {len(verdicts)} times moved by more than noise: {'; '.join(said)}."
                                                   if moved else f"none of {len(verdicts)} times moved by more than noise.")
    return text + (f" {skipped} more had fewer than {TURNS_MIN} turns and are not judged." if skipped else "")


def percent(values):
    return f"{statistics.median(values) - 1:+.1%}" if values else ""


def table(verdicts):
    lines = [[v.part, f"`{v.name}`", f"{v.moved:+.1%}", f"{v.error:.1%}", percent(v.row.bytes), percent(v.row.faults), str(len(v.row.pairs))]
             for v in sorted(verdicts, key=lambda v: (PARTS.index(v.part), v.moved))]
    return page.table(["part", "what", "time", "noise", "memory", "page faults", "turns"], lines) if lines else ""


def write_page(path, text):
    with open(path, encoding="utf-8") as file:
        before = file.read().split(HEADING)[0].rstrip()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}\n\n{HEADING}\n\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--data", default=os.environ.get("ULPSCOPE_TEST_DATA", ""), help="the folder of measured data (default: $ULPSCOPE_TEST_DATA)")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...")
    parser.add_argument("--word", default="", help="only rows of bench programs and networks that have this word in their names")
    parser.add_argument("--networks", default=f"{NETWORKS},{MADE}")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--minutes", type=float, default=40, help="no command begins after them; the builds do not count")
    parser.add_argument("--work", default=os.path.join(ROOT, "build-pairs"), help="where commits are built")
    parser.add_argument("--all", action="store_true", help="also rows that have not moved")
    parser.add_argument("--page", metavar="FILE")
    options = parser.parse_args()
    parts = options.only.split(",")
    for part in parts:
        if part not in PARTS:
            parser.error(f"--only {part}: expected {', '.join(PARTS)}")
    os.makedirs(options.work, exist_ok=True)
    base, new = Build(options.base, options.work), Build(options.new, options.work)
    cases = [case for part in parts for case in cases_of(part, options, base, new)]
    before = os.getloadavg()[0]
    rows = measure(cases, base, new, options)
    verdicts = list(judge(rows))
    sentence = first_sentence(verdicts, len(rows) - len(verdicts), base, new)
    left = "" if options.data else " Only networks made by script were measured: no --data was given and `ULPSCOPE_TEST_DATA` is not set."
    text = (f"{sentence}{left}\nWritten by `lab/bench/pairs.py {base.label} {new.label}` on {page.processor()}, load {before:.1f} before and "
            f"{os.getloadavg()[0]:.1f} after, one thread, both at the same options of the compiler: medians of the turns, the processor's seconds of the later "
            "commit over the earlier's, and three standard errors of each.\n\n" + table(verdicts if options.all else filter(has_moved, verdicts)))
    print(text, end="")
    if options.page:
        write_page(options.page, text)
    sys.exit(1 if any(has_moved(v) and v.moved > 0 for v in verdicts) else 0)


main()
