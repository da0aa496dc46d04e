#!/usr/bin/env python3
"""Plans on real networks: how many nodes ulpscope plan keeps, and how many other rules need for the same tolerance.

    measure_plan.py ULPSCOPE DATA [--only NAME ...] [--threads 1]

Needs numpy and onnx. DATA holds models/NAME/{model.onnx,inputs.npz} and generated/NAME. Each set of nodes is judged by `ulpscope run --plan`
against `ulpscope run -a mpfr:128`, in numpy: the least sqnr_db of the outputs; integers must be equal. The rules:

  AutoCast    max |x| of a node's inputs and outputs, largest first (ModelOpt's AutoCast keeps those above --data_max, 512)
  introduced  the error that the node introduces over its result's rms, largest first
  prefix      the first N nodes, as Polygraphy's debug precision

Of each the least N that meets the tolerance is found by trying every N up to 60, then by bisection, which can only favour the rule. That no node
of the plan can be released is shown by releasing each. A network whose decisions FP32 takes otherwise than the reference, too, is judged by
audits with the reference's decisions, by bisection alone, without that. Prints rows for lab/plans.md."""
import argparse
import csv
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy
import onnx

NETWORKS = [  # name, arithmetic, tolerance in dB, or by how many times the error must fall
    ("models/magika_v3_3", "fp16", 60, None),
    ("models/tinybert_1l", "fp16", None, 2),
    ("models/ultraface_rfb_320", "fp16", None, 2),
    ("models/vit_pgd_2_3_16", "fp16", None, 2),
    ("models/fsanet_1x1", "fp16", None, 2),
    ("models/deimv2_atto_coco", "fp16", 60, None),
    ("generated/resnet101_slim_op13", "tf32", None, 2),
]
EVERY = 60


class Network:
    def __init__(self, options, name, arithmetic, folder):
        path = options.data / name
        self.options, self.arithmetic, self.folder = options, arithmetic, folder
        self.model = path / "model.onnx"
        self.inputs = path / "inputs.npz"
        if not self.inputs.exists():
            self.inputs = path / "test_data_set_0"
        self.decided = False  # are figures with the reference's decisions?
        self.truth = self.run("mpfr:128")

    def call(self, command, *more):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([self.options.program, command, self.model, "-i", self.inputs, "--quiet", "--threads", str(self.options.threads), *more],
                              capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(f"{self.model}: {done.stderr}")
        return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def run(self, arithmetic):
        out = self.folder / "out.npz"
        self.call("run", "-a", arithmetic, "-o", out)
        return dict(numpy.load(out))

    def judge_decided(self, plan):
        """With the reference's decisions, which an audit gives beside its own."""
        out = self.folder / "decided"
        self.call("audit", "--plan", plan, "--reference", "fp64", "--no-attribute", "--out", out)
        worst = math.inf
        for output in json.loads((out / "report.json").read_text())["lanes"][0]["outputs"]:
            figures = output.get("divergence", {}).get("followed") or output["entire"]
            if output["type"].startswith("FLOAT"):
                worst = min(worst, -math.inf if figures["nonfinite"] or figures["sqnr_db"] is None else figures["sqnr_db"])
        return worst

    def judge(self, nodes):
        """The least sqnr_db with these nodes kept, by index."""
        plan, out = self.folder / "set.json", self.folder / "set.npz"
        keep = [{"nodes": [f"#{n}" for n in sorted(nodes)], "arithmetic": "fp32"}] if nodes else []
        plan.write_text(json.dumps({"arithmetic": self.arithmetic, "keep": keep}))
        if self.decided:
            return self.judge_decided(plan)
        self.call("run", "--plan", plan, "-o", out)
        worst = math.inf
        for name, value in numpy.load(out).items():
            truth = self.truth[name]
            if truth.dtype.kind != "f":
                worst = worst if (truth == value).all() else -math.inf
                continue
            truth, value = truth.astype(numpy.float64), value.astype(numpy.float64)
            if not numpy.isfinite(value).all():
                return -math.inf
            error = ((value - truth) ** 2).sum()
            worst = min(worst, 10 * math.log10((truth ** 2).sum() / error) if error else math.inf)
        return worst

    def least(self, ranking, target):
        """The least number of the ranking's first that meets the target, and its sqnr_db."""
        for count in range(0, min(EVERY, len(ranking)) + 1) if not self.decided else []:
            db = self.judge(ranking[:count])
            if db >= target:
                return count, db
        low, high, best = 0 if self.decided else EVERY, len(ranking), self.judge(ranking)
        if best < target:
            return None, best
        while high - low > 1:
            middle = (low + high) // 2
            db = self.judge(ranking[:middle])
            if db >= target:
                high, best = middle, db
            else:
                low = middle
        return high, best


def read_nodes(network):
    """Of each node of the audit: index, introduced error, largest magnitude around it."""
    out = network.folder / "audit"
    _, seconds = network.call("audit", "-a", network.arithmetic, "--out", out)
    largest, introduced, producer = {}, {}, {}
    with open(out / "layers.csv", newline="") as file:
        for row in csv.DictReader(file):
            number = int(row["index"])
            largest[row["output"]] = float(row["ref_max"] or 0)
            relative = float(row["introduced_rms"] or 0) / (float(row["ref_rms"] or 0) or 1)
            introduced[number] = max(introduced.get(number, 0), relative if math.isfinite(relative) else math.inf)
            producer[row["output"]] = number
    if network.inputs.is_file():
        for name, value in numpy.load(network.inputs).items():
            if value.dtype.kind == "f":
                largest[name] = float(numpy.abs(value).max())
    magnitude = dict.fromkeys(introduced, 0.0)
    for node in onnx.load(str(network.model), load_external_data=False).graph.node:
        numbers = {producer[o] for o in node.output if o in producer}
        for number in numbers:
            around = [largest.get(v, 0.0) for v in list(node.input) + list(node.output)]
            magnitude[number] = max([magnitude[number], *around])
    return sorted(introduced), introduced, magnitude, seconds


def measure(options, name, arithmetic, target, factor):
    with tempfile.TemporaryDirectory() as folder:
        network = Network(options, name, arithmetic, pathlib.Path(folder))
        alone = network.judge([])
        target = target or alone + 20 * math.log10(factor)
        order, introduced, magnitude, audit_seconds = read_nodes(network)
        out = pathlib.Path(folder) / "plan"
        network.call("plan", "-a", arithmetic, "--tolerance", "sqnr_db=100000", "--out", out)  # cannot be met: every node that computes
        computes = {node["index"] for node in json.loads((out / "plan.json").read_text())["kept"]}
        order = [n for n in order if n in computes]
        _, plan_seconds = network.call("plan", "-a", arithmetic, "--tolerance", f"sqnr_db={target!r}", "--out", out)
        plan = json.loads((out / "plan.json").read_text())
        kept = [node["index"] for node in plan["kept"]]
        network.decided = plan.get("follows", False)
        alone = network.judge([]) if network.decided else alone
        db = network.judge(kept)
        released = [n for n in kept if not network.decided and network.judge([k for k in kept if k != n]) >= target]
        by_magnitude = sorted(order, key=lambda n: -magnitude[n])
        rules = {"AutoCast": by_magnitude, "introduced": sorted(order, key=lambda n: -introduced[n]), "prefix": order}
        above = [n for n in order if magnitude[n] > 512]
        cells = [f"`{pathlib.Path(name).name}`", f"`{arithmetic}`", f"{alone:.1f}", f"{target:.1f}", str(plan["node_count"]), f"**{len(kept)}** ({db:.1f})"]
        for rule in rules.values():
            count, found = network.least(rule, target)
            cells.append(f"{count} ({found:.1f})" if count is not None else f"never ({found:.1f})")
        cells += [f"{len(above)} ({network.judge(above):.1f})", str(plan["runs"]), f"{plan_seconds / audit_seconds:.1f}"]
        print("| " + " | ".join(cells) + " |" + ("" if not released and plan["minimal"] else f" NOT MINIMAL: {released}"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("| network | in | alone, dB | tolerance, dB | nodes | plan | AutoCast's rule | introduced | prefix | AutoCast at 512 | runs | time / audit |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, arithmetic, target, factor in NETWORKS:
        if not options.only or pathlib.Path(name).name in options.only:
            measure(options, name, arithmetic, target, factor)


main()
