#!/usr/bin/env python3
"""Whole networks beside ONNX Runtime, in one run.

    networks.py [--ulpscope PROGRAM] [--repeat N] [--no-audit] [MODEL.onnx [INPUTS]]...     as JSON

Without models: those found in $ULPSCOPE_TEST_DATA (ResNet-50 of onnx/light.tar.xz, and models/NAME). For each: milliseconds of one
inference by ONNX Runtime with one and two threads (session creation excluded) and by ulpscope in each arithmetic (loading and planning
excluded), seconds of an audit and its peak resident memory. The programs take turns of about a second, 100 inferences at most, after one that
does not count; and an audit in each. Of all the fastest counts, so that other work on the machine counts least.
"""
import argparse
import itertools
import json
import os
import re
import sys
import tarfile
import tempfile
import time

import process

NAMES = "tinybert_1l", "nanogpt_4l", "deimv2_atto_coco", "ultraface_rfb_320"
ARITHMETICS = "fp32", "fp16", "pair"
THREADS = 1, 2
AUDITED = "fp16,tf32,fp32"
TURN_SECONDS = 1.0
SLOW_SECONDS = 5.0
INFERENCES_MAX = 100


def find_models(folder):
    """(name, model, inputs or None) of what the data folder has; ResNet-50 is unpacked into `folder`."""
    data = os.environ.get("ULPSCOPE_TEST_DATA", "")
    archive = os.path.join(data, "onnx", "light.tar.xz")
    if os.path.exists(archive):
        with tarfile.open(archive) as tar:
            member = next((m for m in tar if m.name.endswith("light_resnet50.onnx")), None)
            if member:
                member.name = "light_resnet50.onnx"
                tar.extract(member, folder)
                yield "light_resnet50", os.path.join(folder, member.name), None
    for name in NAMES:
        model = os.path.join(data, "models", name, "model.onnx")
        inputs = os.path.join(data, "models", name, "inputs.npz")
        if os.path.exists(model):
            yield name, model, inputs if os.path.exists(inputs) else None


def random_inputs(model, folder):
    """One random sample for both programs; symbolic dimensions take 1."""
    import numpy
    import onnxruntime
    kinds = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(1)
    arrays = {}
    for item in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in item.shape]
        arrays[item.name] = generator.random(shape).astype(kinds[item.type])
    path = os.path.join(folder, "inputs.npz")
    numpy.savez(path, **arrays)
    return path


class OnnxRuntime:
    def __init__(self, model, inputs, threads):
        import numpy
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        wanted = {item.name for item in self.session.get_inputs()}
        self.inputs = {name: value for name, value in numpy.load(inputs).items() if name in wanted}

    def seconds(self, count):
        best = float("inf")
        for _ in range(count):
            begun = time.perf_counter()
            self.session.run(None, self.inputs)
            best = min(best, time.perf_counter() - begun)
        return best


def run_ulpscope(program, model, inputs, arithmetic, threads, repeat):
    cost = process.run([program, "run", model, "--inputs", inputs, "--arith", arithmetic, "--threads", str(threads),
                        "--repeat", str(repeat)])
    return min(float(seconds) for seconds in re.findall(r"^run (\S+) s", cost.stderr, re.M))


def inferences(seconds):
    """How many make a turn when one takes that long."""
    return max(1, min(INFERENCES_MAX, round(TURN_SECONDS / seconds)))


def run_audit(program, model, inputs, threads, output):
    return process.run([program, "audit", model, "--inputs", inputs, "--arith", AUDITED, "--threads", str(threads), "--quiet", "--out", output])


def start_peers(name, model, inputs):
    try:
        return {threads: OnnxRuntime(model, inputs, threads) for threads in THREADS}
    except Exception as refusal:  # its classes are not public
        print(f"networks: ONNX Runtime refuses {name}: {str(refusal).splitlines()[0][:200]}", file=sys.stderr)
        return {}


def measure(name, model, inputs, options, folder):
    inputs = inputs or random_inputs(model, folder)
    peers = start_peers(name, model, inputs)
    output = os.path.join(folder, "audit")
    turns, peak = {}, 0

    def take(what, threads, seconds):
        """One more turn; seconds(how many inferences) measures it. What is slow has one."""
        taken = turns.setdefault(f"{what}.{threads}", [])
        if not taken or taken[0] <= SLOW_SECONDS:
            taken.append(seconds(inferences(min(taken) if taken else seconds(1))))

    for _ in range(options.repeat):
        for threads, peer in peers.items():
            take("onnxruntime", threads, peer.seconds)
        for arithmetic, threads in itertools.product(ARITHMETICS, THREADS):
            take(arithmetic, threads, lambda count: run_ulpscope(options.ulpscope, model, inputs, arithmetic, threads, count))
        for threads in () if options.no_audit else THREADS:
            cost = run_audit(options.ulpscope, model, inputs, threads, output)
            turns.setdefault(f"audit.{threads}", []).append(cost.seconds)
            peak = cost.peak_bytes
    row = {"model": name, "audited": AUDITED, **{key: min(taken) for key, taken in turns.items()}}
    if peak:
        row["audit.peak_bytes"] = peak
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx [INPUTS.npz]")
    parser.add_argument("--ulpscope", default="./ulpscope")
    parser.add_argument("--repeat", type=int, default=3, help="turns (default 3)")
    parser.add_argument("--no-audit", action="store_true")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error(f"--repeat {options.repeat}: expected 1 or more")
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as missing:
        print(f"networks: not measured: {missing} (pip install onnxruntime numpy)", file=sys.stderr)
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for path in options.models:
            if path.endswith(".npz") and models:
                models[-1] = models[-1][:2] + (path,)
            else:
                models.append((os.path.splitext(os.path.basename(path))[0], path, None))
        models = models or list(find_models(folder))
        if not models:
            print("networks: not measured: no model was given, and ULPSCOPE_TEST_DATA has none", file=sys.stderr)
            return 0
        for model in models:
            rows.append(measure(*model, options, folder))
            print(f"networks: {model[0]} measured", file=sys.stderr)
    print(json.dumps({"networks": rows}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
