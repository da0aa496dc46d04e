#!/usr/bin/env python3
"""Shares of the output error on real networks: how near their sum is to 1, and what they cost.

    measure_attribution.py ULPSCOPE DATA [--arith fp16,tf32] [--only NAME] [--seconds 120] [--verify K] [--cost]

DATA holds models/NAME/{model.onnx,inputs.npz} and generated/NAME. Prints a row for each network and
arithmetic: the sum, what overflows kept (in FP32), the first node, which part of the magnitude of
all causes was not taken apart; how many have |1 - sum| <= 2 %; with --verify for how many nodes with
a share above 1 % the share was within 10 % of what a run without the node's error shows."""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time


def find_networks(data, only):
    for folder in sorted(p for kind in ("models", "generated") for p in (data / kind).iterdir() if p.is_dir()):
        inputs = folder / "inputs.npz"
        if not inputs.exists():
            inputs = folder / "test_data_set_0"
        if (folder / "model.onnx").exists() and inputs.exists() and (not only or folder.name in only):
            yield folder.name, folder / "model.onnx", inputs


def audit(program, model, inputs, arith, seconds, *more):
    with tempfile.TemporaryDirectory() as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        started = time.time()
        try:
            done = subprocess.run([program, "audit", model, "-i", inputs, "--arith", arith, "--quiet", "--out", out, *more],
                                  capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, f"more than {seconds} s"
        if done.returncode:
            return None, done.stderr.strip().splitlines()[-1] if done.stderr else str(done.returncode)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        report = json.loads((pathlib.Path(out) / "report.json").read_text())
        return report, (time.time() - started, used)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--arith", default="fp16,tf32")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--verify", type=int, default=0)
    parser.add_argument("--cost", action="store_true", help="also without shares, and the reference alone, for the cost")
    options = parser.parse_args()
    good = total = right = verified = 0
    more = ["--attribute"] + (["--verify", str(options.verify)] if options.verify else [])
    for name, model, inputs in find_networks(options.data, options.only):
        report, cost = audit(options.program, model, inputs, options.arith, options.seconds, *more)
        if report is None:
            print(f"{name:28} {cost}", flush=True)
            continue
        text = f"{cost[1]:7.1f} s"
        if options.cost:
            _, plain = audit(options.program, model, inputs, options.arith, options.seconds, "--no-attribute")
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run([options.program, "run", model, "-i", inputs, "--arith", "mpfr:128", "--quiet"], capture_output=True)
            alone = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            if isinstance(plain, tuple) and alone >= 0.05:  # below that it is the start of the program
                count = len(report["lanes"])
                text += f" without {plain[1]:.1f}, reference {alone:.1f}: {(cost[1] - plain[1]) / count / alone:.2f} x a lane"
        for lane in report["lanes"]:
            a = lane.get("attribution")
            if not a:
                print(f"{name:28} {lane['name']:6} {lane['no_attribution'][:60]}", flush=True)
                continue
            total += 1
            good += abs(1 - a["sum"]) <= 0.02
            stops = [n["op"] for n in lane["nodes"] if n.get("derivative_stops")]
            best = max(lane["nodes"], key=lambda n: abs(n["share"] or 0))
            causes = [part for node in lane["nodes"] for part in node.get("causes", {}).items()]
            inside = sum(abs(part) for cause, part in causes if cause == "inside") / (sum(abs(part) for _, part in causes) or 1)
            above = [v for v in a.get("verified", []) if abs(v["share"]) >= 0.01]
            held = sum(abs(v["held"] - v["share"]) <= 0.1 * abs(v["share"]) for v in above)
            right, verified = right + held, verified + len(above)
            kept = f"kept {len(a['kept'])} " if a["kept"] else ""
            print(f"{name:28} {lane['name']:6} sum {a['sum']:9.5f} decisions {a['decisions']:8.4f} {kept} first {best['share']:7.3f} "
                  f"{best['op']} {best['name'][-30:]}  inside {inside:.3f} held {held} of {len(above)} {text}  stops {len(stops)} {','.join(sorted(set(stops)))[:40]}",
                  flush=True)
            text = ""
    print(f"|1 - sum| <= 2 %: {good} of {total}")
    if verified:
        print(f"verified shares above 1 % within 10 %: {right} of {verified}")


main()
