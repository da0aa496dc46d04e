#!/usr/bin/env python3
"""The reference in pairs beside MPFR: the figures of audits, their time and memory.

    compare_pairs.py PROGRAM DATA [--arithmetics fp16,bf16,tf32,fp32,fp64] [--judge mpfr:2048] [--no-attribute] [--disable avx512] [--most 5] [MODEL...]

For each network of DATA/models (MODEL: some of them) `audit` runs with the judge's reference and with mpfr:512, mpfr:128 and pair, one thread. Of the last
three it prints processor seconds, peak memory, how many figures of report.json lie further than 1e-9 of themselves from the judge's (a mean is measured by
its rms, what sums shares up by 1), how many verdicts, names, orders or counts differ, and the largest distances. --disable: instruction sets that the
processor does as if it did not have. Exit code: 1 where pair has more of either than mpfr:512 and mpfr:128 both."""
import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

LEFT_OUT = {"seconds", "reference", "peak_bytes", "costs", "reference_digits"}
BY_ONE = {"missing", "residual", "worst", "inside"}
REFERENCES = ("mpfr:512", "mpfr:128", "pair")


def differences(a, b, path="", scale=0.0):
    """(distance, path, a, b) of every leaf that differs."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in (set(a) | set(b)) - LEFT_OUT:
            by = a.get("rms") if key == "mean" else 1.0 if key in BY_ONE else 0.0
            yield from differences(a.get(key, "none"), b.get(key, "none"), f"{path}/{key}", by or 0.0)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            yield from differences(*pair, f"{path}/{i}")
    elif type(a) in (int, float) and type(b) in (int, float):
        if a != b and not (math.isnan(a) and math.isnan(b)):
            yield abs(a - b) / max(abs(a), abs(b), scale), path, a, b
    elif a != b:
        yield math.inf, path, a, b


def audit(given, folder, reference):
    """report.json, processor seconds, bytes of tensors at the most."""
    out, before = tempfile.mkdtemp(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([given.program, "audit", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", given.arithmetics, "--reference", reference, "-t", "1", "-q", "-o", out]
                   + ["--no-attribute"] * given.no_attribute, stdout=subprocess.DEVNULL, check=True, env=os.environ | ({"ULPSCOPE_DISABLE_CPU": given.disable} if given.disable else {}))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    return report, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, report["peak_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--arithmetics", default="fp16,bf16,tf32,fp32,fp64")
    parser.add_argument("--judge", default="mpfr:2048")
    parser.add_argument("--no-attribute", action="store_true")
    parser.add_argument("--disable")
    parser.add_argument("--most", type=int, default=5)
    given = parser.parse_intermixed_args()
    worse = False
    for folder in sorted(path.parent for path in (given.data / "models").glob("*/inputs.npz")):
        if given.models and folder.name not in given.models:
            continue
        judge, seconds, most = audit(given, folder, given.judge)
        print(f"{folder.name:24} {given.judge:9} {seconds:8.2f} s {most / 2**20:8.1f} MiB")
        beyond = {}
        for reference in REFERENCES:
            report, seconds, most = audit(given, folder, reference)
            rows = sorted((row for row in differences(judge, report) if not row[0] <= 1e-9), key=lambda row: -row[0])
            others = sum(row[0] == math.inf for row in rows)
            beyond[reference] = len(rows)
            print(f"{folder.name:24} {reference:9} {seconds:8.2f} s {most / 2**20:8.1f} MiB {len(rows) - others:6} figures beyond 1e-9, {others} others differ")
            for row in rows[:given.most]:
                print("    %.1e %s %r %r" % row)
            sys.stdout.flush()
        worse |= beyond["pair"] > max(beyond["mpfr:512"], beyond["mpfr:128"])
    return worse


if __name__ == "__main__":
    sys.exit(main())
