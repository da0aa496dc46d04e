#!/usr/bin/env python3
"""Random graphs through every command: none crashes, hangs, contradicts itself or prints a figure that is none.

usage: check_commands.py [-j JOBS] [--seconds SECONDS] ULPSCOPE RANDOM_GRAPH FOLDER SEED|FIRST-LAST ...
Prints a line for each violation (seed, command, reason), which exit codes there were, and exits with 1 for any violation. Files
of graphs without one are removed."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

SANITIZER = re.compile(r"runtime error:|AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|MemorySanitizer")
# A C library's words for no pointer and no number, but in names of arithmetics, also shortened ones, and of rules; sentences with a hole.
NO_TEXT = re.compile(r"\(null\)|(?<![\w=.])(?<!\w-)-?nan(?![\w(])|\binf times|\binf of |at most inf| of (?!\.\.\.)[.,;:]|\b(?:at|by|of) +0? *\n\n|''")
KEEP = ["--keep=op:Mul=fp32", "--keep=#1-3=bf16", "--keep=after:*1=mpfr:60"]
MORE_SAMPLES = ["-i inputs-1.npz", "-i inputs-1.npz -i inputs-2.npz"]
REFERENCE = ["--reference=fp64", "--reference=mpfr:60", "--reference=mpfr:200"]
# What a command is also told, two of these by the graph's seed.
WIDER = {
    "run": [*KEEP, "--repeat=2", "--threads=2", "--max-memory=1M"],
    "audit": [*KEEP, *MORE_SAMPLES, *REFERENCE, "--certify", "--verify=2", "--no-attribute",
              "--group-by=cause", "--group-by=op", "--checkpoint=points", "--threads=2", "--max-memory=1M",
              "-a fp16,fuse=none,fp16,fuse=reduce", "--for=trt", "--for=torch@h100", "-a fp32,fp32,qdq=integer", "--junit=limits.xml"],
    "overflow": [*KEEP, *MORE_SAMPLES, "--reference=fp64", "--no-remedies", "--threads=2",
                 "-f fp16,bf16,fp8-e4m3", "-f torch:fp16@a100", "--max-memory=1M"],
    "prove": ["--widen=4", "--fail-on=unproven", "--max-memory=1M"],
    "plan": [*MORE_SAMPLES, *REFERENCE, "--budget=1", "--lower-io", "--keep-in=bf16", "--never=#0-1",
             "--always=#0-1", "--validate=inputs-1.npz", "--tolerance=max_abs=1e-3", "--threads=2", "--max-memory=1M"],
    "compare": ["--trials=2", "--recorded-inputs=inputs-1.npz", "ends.npz", "--threads=2", "--reference=fp64", "--task=none", "--max-memory=1M"],
    "tolerance": [*KEEP, *MORE_SAMPLES, *REFERENCE, "--elements=3", "--json=tolerance.json", "--threads=2", "--max-memory=1M"],
    "lint": ["-i inputs.npz", "--for=trt8", "--for=trt10", "--for=trt11", "--for=ort", "--json=lint.json",
             "--sarif=lint.sarif", "--layer-precisions=*:fp16", "--layer-precisions=Mul*:fp32,Add*:fp16,none:int8",
             "--layer-output-types=*:fp32", "--show=0", "--fail-on=note"],
    "doctor": [*MORE_SAMPLES, *REFERENCE, "--for=trt10", "--for=torch@h100", "--for=ort", "--no-plan", "--task=none", "--task=classify",
               "--tolerance=60", "--recorded=ends.npz", "--threads=2", "--max-memory=1M"],
    "fix": [*MORE_SAMPLES, *REFERENCE, "--for=trt10", "--for=qnn", "--for=ort-cuda", "--allow-value-change", "--best", "--tolerance=sqnr_db=20",
            "--json=fix.json", "--markdown=fix.md", "--reference-model=model.onnx", "--threads=2", "--max-memory=1M"],
    "extract": ["--threads=2", "--max-memory=1M", "--quiet"],
    "quantise": ["-i inputs-1.npz", "-a bf16,factor=nvfp4", "--no-choices", "-a bf16,weights=mxfp4", "-a fp16,factor=fp8-row", "--json=scales.json",
               "--threads=2", "--max-memory=1M"],
}
# Instruction sets that the processor does as if it did not have.
DISABLED = ["", "", "avx512", "avx512,avx2"]
# Commands whose result must not depend on threads and instruction sets.
AGREEING = {"audit", "overflow", "prove", "plan", "quantise", "compare", "tolerance", "fix", "doctor"}


def without(arith, *options):
    """The arithmetic's name without these options, which not every command takes."""
    words = [word for word in arith.split(",") if not word.startswith(options)]
    return ",".join(["fp16" if words[0] == "ort-cpu" else words[0], *words[1:]])


def commands(arith, ranges):
    """Each command's words, and the exit codes that it may end with; a later one reads what an earlier one wrote."""
    single = without(arith, "fuse", "qdq=")
    sample = ["-i", "inputs.npz", "--allow-nonfinite-inputs"]
    audited = ["audit", "model.onnx", *sample, "-a", arith]
    any_code = {0, 1, 2, 3, 4, 5}
    return [
        (["run", "model.onnx", "-i", "inputs.npz", "-a", arith, "--all-values", "-o", "recording.npz"], {0, 2, 4}),
        (["run", "model.onnx", "-i", "inputs-1.npz", "-a", arith, "-o", "ends.npz"], {0, 2, 3, 4}),
        ([*audited, "-o", "first", "--html=first.html"], {0, 2, 4}),
        ([*audited, "--schedules", "-o", "second"], {0, 2, 4}),
        ([*audited, "--fail-above=nonfinite=0"], any_code),
        (["overflow", "model.onnx", *sample, "-a", arith, "-o", "overflow", "--html=overflow.html"], any_code),
        (["overflow", "model.onnx", *sample, "-a", arith, "--fail-on=overflows"], any_code),
        (["overflow", "model.onnx", "--allow-nonfinite-inputs", "--inputs=samples", "-a", arith], any_code),
        (["prove", "model.onnx", "-i", "inputs.npz", "-a", single, *ranges, "-o", "proof"], any_code),
        (["plan", "model.onnx", *sample, "-a", single, "--tolerance=sqnr_db=40", "-o", "plan", "--html=plan.html"], any_code),
        (["quantise", "model.onnx", *sample, "--formats=nvfp4,mxfp8,bf16", "--tolerance=sqnr_db=40", "-o", "listed", "--html=listed.html"], any_code),
        (["compare", "model.onnx", *sample, "-a", arith, "recording.npz", "-o", "compare", "--html=compare.html"], any_code),
        (["compare", "model.onnx", *sample, "-a", "fp32,bf16", "recording.npz"], any_code),
        (["compare", "model.onnx", *sample, "-a", arith, "ends.npz"], any_code),
        (["plan", "model.onnx", *sample, "--apply=plan/plan.json", "-o", "applied"], any_code),
        ([*audited, "--plan=plan/plan.json"], any_code),
        (["tolerance", "model.onnx", *sample, "-a", arith, "--trials=2", "--check=atol=1e-2"], any_code),
        (["lint", "model.onnx", "--html=lint.html"], {0, 1, 4}),
        (["fix", "model.onnx", *sample, "-a", single, "-o", "fixed.onnx", "--html=fix.html"], any_code),
        (["extract", "model.onnx", "#0-0", "-i", "inputs.npz", "-o", "part"], any_code),
        (["extract", "model.onnx", "*", "-i", "inputs.npz", "-o", "whole"], any_code),
        (["doctor", "model.onnx", *sample, "-a", single, "-o", "doctor", "--html=doctor.html"], any_code),
        (["quantise", "model.onnx", *sample, "-a", "bf16,factor=nvfp4", "--html=scales.html"], any_code),
        (["quantise", "model.onnx", *sample, "-i", "inputs-1.npz", "-a", "bf16,factor=fp8-tensor", "--calibrate=ranges.json", "--calibrator=entropy"], any_code),
        ([*audited[:-2], "-a", "bf16,factor=fp8-tensor,scales=ranges.json"], any_code),
        (["plan", "model.onnx", *sample, "-a", "bf16,factor=fp8-tensor,scales=ranges.json", "--tolerance=sqnr_db=20"], any_code),
        (["show", "first/report.json", "--html=report.html"], {0}),
        (["show", "first/report.json"], {0}),
        (["diff", "first/report.json", "second/report.json"], {0}),
        (["diff", "first/report.json", "second/report.json", "--fail-if-worse"], {0, 1}),
    ]


def widen(commands, chance):
    """Each command with up to two of the options that it may also be told, some of which it refuses."""
    for words, allowed in commands:
        more = " ".join(chance.sample(WIDER.get(words[0], []), 2 if words[0] in WIDER and chance.random() < 0.7 else 0))
        # What writes a file that is read later, or is judged by it, stays as it is.
        own = "recording.npz" in words or "--all-values" in words
        yield (words, allowed) if own or not more else ([*words, *more.split()], allowed | {2, 3, 5})


def find_violation(words, allowed, code, out, err):
    if code < 0:
        return f"signal {-code}"
    if SANITIZER.search(err):
        return SANITIZER.search(err).group()
    if code not in allowed:
        return f"exit code {code}"
    if code > 1 and not (out + err).strip():
        return f"exit code {code} without a word"
    said = " ".join(out.split())
    # a reference that is itself not finite ends so, too, behind a sentence that says of which arithmetic the values are
    if "--html=compare.html" in words and code == 1 and "cannot be judged" not in said and "explained by" not in said:
        return "does not explain the arithmetic's own recording"
    found = NO_TEXT.search(out + err)
    return f"prints {found.group()!r}" if found else None


def arith(part):
    """A result without the time and the memory that it took."""
    if isinstance(part, dict):
        return {key: arith(value) for key, value in part.items() if "seconds" not in key and key != "peak_bytes"}
    return [arith(value) for value in part] if isinstance(part, list) else part


def disagreement(tool, place, words, environments, seconds):
    """What a command's result says otherwise with other threads and instruction sets, or nothing."""
    results = []
    for number, (threads, disabled) in enumerate(environments):
        told = [tool, *words, f"--json=agree-{number}.json", f"--threads={threads}"]
        environment = {**os.environ, "ULPSCOPE_DISABLE_CPU": disabled}
        try:
            code = subprocess.run(told, cwd=place, env=environment, capture_output=True, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            return f"{' '.join(words)}: more than {seconds} seconds"
        file = place / f"agree-{number}.json"
        results.append((code, arith(json.loads(file.read_text())) if file.exists() else None))
    return "" if results[0] == results[1] else f"{' '.join(words)}: other results with threads and instruction sets {environments}"


def walk(tool, maker, folder, seed, seconds):
    """The violations of one graph, and how often each command ended with which exit code."""
    place, bad, codes = folder / str(seed), [], collections.Counter()
    made = subprocess.run([maker, "-n", "3", "-o", str(folder), str(seed)], capture_output=True)
    if made.returncode:
        return seed, [f"random_graph: exit code {made.returncode}"], codes
    arith = (place / "arith.txt").read_text().strip()
    ranges = (place / "ranges.txt").read_text().split()
    (place / "samples").mkdir()
    for sample in place.glob("inputs*.npz"):
        os.link(sample, place / "samples" / sample.name)
    chance = random.Random(seed)
    environment = {**os.environ, "ULPSCOPE_DISABLE_CPU": chance.choice(DISABLED)}
    for words, allowed in widen(commands(arith, ranges), chance):
        read = [word.rpartition("=")[2] for word in words if word.endswith(("/report.json", "/plan.json"))]
        if not all((place / path).exists() for path in read):
            continue  # What would have written it was refused, which its own exit code says.
        shown = " ".join(words)
        try:
            ran = subprocess.run([tool, *words], cwd=place, env=environment, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            bad.append(f"{shown}: more than {seconds} seconds")
            continue
        codes[words[0], ran.returncode] += 1
        out, err = (text.decode(errors="replace") for text in (ran.stdout, ran.stderr))
        reason = find_violation(words, allowed, ran.returncode, out, err)
        if reason:
            bad.append("\n    ".join([f"{shown}: {reason}", *err.strip().splitlines()[:6]]))
    judged = [words for words, _ in commands(arith, ranges)
              if words[0] in AGREEING and not any(word.startswith(("--apply", "--plan", "--html")) for word in words)]
    apart = disagreement(tool, place, chance.choice(judged), [(1, chance.choice(DISABLED)), (3, chance.choice(DISABLED[2:]))], 4 * seconds)
    bad += [apart] if apart else []
    for page in sorted(place.glob("*.html")):
        if "(null)" in page.read_text(errors="replace"):
            bad.append(f"{page.name}: holds (null)")
    if not bad:
        shutil.rmtree(place)
    return seed, bad, codes


def read_seeds(words):
    for word in words:
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=1, dest="jobs")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("maker", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("seeds", nargs="+")
    given = parser.parse_args()
    tool, maker, folder = (str(given.tool.resolve()), str(given.maker.resolve()), given.folder.resolve())
    graphs, bad, codes = 0, 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        walks = pool.map(lambda seed: walk(tool, maker, folder, seed, given.seconds), read_seeds(given.seeds))
        for seed, lines, ended in walks:
            graphs += 1
            codes += ended
            bad += len(lines)
            for line in lines:
                print(f"seed {seed}: {line}", flush=True)
    print(f"{graphs} graphs, {sum(codes.values())} commands, {bad} violations")
    for command in sorted({command for command, _ in codes}):
        ends = sorted((code, count) for (name, code), count in codes.items() if name == command)
        print(f"  {command}: " + ", ".join(f"exit code {code} {count} times" for code, count in ends))
        if not codes[command, 0]:
            print(f"{command} ended with exit code 0 for no graph: nothing was walked")
            bad += 1
    return 1 if bad or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
