#!/usr/bin/env python3
"""The table of twins: what a user expects of an output, and what ulpscope doctor says of it in FP16.

    twin_table.py WRITER PROGRAM FOLDER [--only WORD]

Ends with 1 where a right twin is called broken or borderline (a false alarm), a lost one fine (false peace), or a group that is fine at one size is worse at a smaller one."""
import json
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
from twin_cases import CASES, off  # noqa: E402
from twin_net import Net  # noqa: E402
from twin_sweeps import RATIOS, SWEEPS  # noqa: E402

PROGRAM, FOLDER = sys.argv[2], pathlib.Path(sys.argv[3])
ONLY = sys.argv[5] if len(sys.argv) > 5 else ""
WORSE = {"fine": 0, "borderline": 1, "not judged": 2, "broken": 3}
counts = {"false alarm": 0, "false peace": 0, "crash": 0, "not monotone": 0, "twin is none": 0}
ran = 0


def said(net):
    """The doctor's grade, and the text beside it."""
    net.write(FOLDER / "twin.onnx")
    np.savez(FOLDER / "twin.npz", **net.data)
    report = FOLDER / "twin.json"
    report.unlink(missing_ok=True)
    run = subprocess.run([PROGRAM, "doctor", FOLDER / "twin.onnx", "-i", FOLDER / "twin.npz", "-a", "fp16", "--no-plan", "-q", "-t", "1", "--json", report],
                         capture_output=True, text=True)
    if run.returncode not in (0, 1) or not report.exists():
        return "crash", f"exit {run.returncode}: {run.stderr.strip()[:200]}"
    said = json.loads(report.read_text())
    return said["grade"], said["headline"]


def judge(name, expected, why, net):
    """One line of the table."""
    global ran
    ran += 1
    got, text = said(net)
    wrong = "crash" if got not in WORSE else "false alarm" if expected == "fine" and got != "fine" else "false peace" if expected == "lost" and got == "fine" else ""
    if wrong:
        counts[wrong] += 1
    print(f"{name:66.66} {expected:8} {got:11} {wrong or '-':12} {why}" + (f"\n    says: {text}" if wrong else ""), flush=True)
    return got


def none(name, text):
    counts["twin is none"] += 1
    print(f"{name}: the twin is none: {text}")


def main():
    print(f"{'case':66} {'expected':8} {'got':11} {'':12} why")
    for name, right, wrong, lost, build in CASES:
        for is_wrong in (False, True):
            if ONLY not in name:
                continue
            net = Net(name)
            build(net, is_wrong)
            with np.errstate(all="ignore"):
                is_lost = any(not np.isfinite(got).all() or lost(exact, got) for _, exact, got in net.results)
            if is_lost != is_wrong or not all(np.isfinite(exact).all() for _, exact, _ in net.results):
                none(name, f"numpy's FP16 {'loses' if is_lost else 'keeps'} what the {'wrong' if is_wrong else 'right'} one should not")
            judge(f"{name}: {'wrong' if is_wrong else 'right'}", "lost" if is_wrong else "fine", wrong if is_wrong else right, net)
    for name, minded, unminded, build in SWEEPS:
        for is_wrong in (False, True):
            best = "broken"
            for ratio in RATIOS if ONLY in name else []:
                net = Net(name)
                at = build(net, ratio, is_wrong)
                _, exact, got = net.results[0]
                error = off(got[at], exact[at])
                if is_wrong and error < 0.5:
                    none(name, f"at {ratio:.0e} the group is off by {error:.2g} only")
                expected = "fine" if ratio <= unminded * 1.001 or error < 0.02 else "lost" if is_wrong and ratio >= minded * 0.999 else "any"
                size = judge(f"{name}, {ratio:.0e} of the rest: {'lost' if is_wrong else 'right'}", expected, f"the group is off by {min(error, 9.99):.2g} of itself", net)
                if WORSE.get(size, 3) > WORSE.get(best, 3):
                    counts["not monotone"] += 1
                    print(f"    says: {size} where a larger group was {best}")
                best = size
    print(f"{ran} outputs: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return any(counts.values())


sys.exit(main())
