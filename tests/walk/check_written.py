#!/usr/bin/env python3
"""Files that fix, plan and quantise write, of parts of real networks, held against the originals in ONNX Runtime.

usage: check_written.py [-j JOBS] [--seconds SECONDS] [--files N] [--every N] ULPSCOPE DATA FOLDER FIRST-LAST
Each written file must have the original's interface, load where the original loads, optimised and not, and give its results at three sizes. Prints
a line for each violation, and their counts by kind; exits with 1 for any. The folders of parts without one are removed."""
import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cut_networks  # noqa: E402

TARGETS = ["ort", "trt8", "trt10", "trt11", "trt-rtx", "torch", "torch-compile", "ort-cuda", "ort-webgpu", "ort-dml", "openvino-cpu", "openvino-gpu",
           "coreml-ane", "coreml-gpu", "ort-coreml", "qnn", "rknn", "tflite"]
OPSETS = [None, 20, 23]
RULES = ["decomposed-layernorm", "decomposed-rmsnorm", "decomposed-gelu,decomposed-softmax", "decomposed-attention", "scale-after-product",
         "batchnorm-apart,constant-beyond-fp16,eps-zero", "length-in-float,square-in-half", "out-of-range"]
FLOATS = [onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16]


# ---- ONNX Runtime, in a process that may die ----

def serve(pipe):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    while True:
        model, feeds, optimised = pipe.recv()
        try:
            options = ort.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL if optimised else \
                ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            pipe.send(("load", str(error)))
            continue
        made = []
        for feed in feeds:
            try:
                made.append(dict(zip([o.name for o in session.get_outputs()], session.run(None, feed))))
            except Exception as error:
                made.append(str(error))
        pipe.send(("ok", made))


class Runtime:
    def __init__(self):
        self.process = None

    def close(self):
        if self.process:
            self.process.kill()
            self.process.join()

    def run(self, model, feeds, optimised):
        """("ok", a dictionary or an error's text for each feed), or ("load", text), or ("crash", "")."""
        if not self.process:
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.get_context("fork").Process(target=serve, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((model, feeds, optimised))
            if not self.pipe.poll(120):
                self.process.kill()
                raise EOFError
            return self.pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.process.join()
            code, self.process = self.process.exitcode, None
            return "crash", f"the process ended with {code}"


# ---- what is asked of ulpscope ----

SAMPLES = ["sample.npz", "other.npz", "third.npz", "fourth.npz"]


def commands(dice, stem, samples):
    """(words, the file that they write, the decibels that they promise or None, the result's JSON)."""
    other = ["-i", "other.npz"] if samples > 1 and dice.random() < 0.3 else []
    wanted = dice.choice([None, 40, 60, 70, 80])
    goal = ["--tolerance", f"sqnr_db={wanted}"] if wanted else []
    rows = []
    for target in dice.sample(TARGETS, 2):
        rows.append((["fix", stem, "-i", "sample.npz", *other, "--for", target, *goal, "-o", f"fix_{target}.onnx", "--json",
                      f"fix_{target}.json", "-q", "-t", "1"], f"fix_{target}.onnx", wanted or 0))
    for rules in dice.sample(RULES, 2):  # these edits alone, and a plan for the rest
        target = dice.choice(TARGETS)
        rows.append((["fix", stem, "-i", "sample.npz", *other, "--for", target, *goal, "--best", "--only", rules, "-o", f"only_{rules[:20]}.onnx",
                      "-q", "-t", "1"], f"only_{rules[:20]}.onnx", wanted or 0))
    target, most = dice.choice(TARGETS), dice.choice([40, 60, 70])
    rows.append((["plan", stem, "-i", "sample.npz", *other, "--for", target, "--tolerance", f"sqnr_db={most}", "-o", "plan", "-q", "-t", "1"],
                 "plan/mixed.onnx", most))
    integers = dice.choice([[], ["--formats", "int8,fp32"], ["--formats", "uint8,fp32"]])
    ranges = [word for name in SAMPLES[:samples] for word in ("-i", name)]  # static ones hold for what they were made of
    rows.append((["quantise", stem, *ranges, "--for", "ort", *integers, "--tolerance", "sqnr_db=20", "-o", "quantised", "-q", "-t", "1"],
                 "quantised/quantised.onnx", 20))
    return rows


# ---- one written file ----

def interface(model):
    def row(value):
        tensor = value.type.tensor_type
        return (value.name, tensor.elem_type, [d.dim_param or (d.dim_value if d.HasField("dim_value") else "?") for d in tensor.shape.dim])
    return [[row(v) for v in model.graph.input], [row(v) for v in model.graph.output]]


def graphs_of(graph):
    """The graph, and all bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def types_of(model):
    """How many constants and Casts the graphs have of each type."""
    kinds = []
    for graph in graphs_of(model.graph):
        kinds += [t.data_type for t in graph.initializer]
        kinds += [a.i for n in graph.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"]
        kinds += [a.t.data_type for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]
    return collections.Counter(kinds)


def has_own(model):
    """Nodes whose kernels of this processor compute in a precision of their own: scores of a half Attention, integers inside MatMulNBits."""
    return any(n.op_type == "Attention" or any(a.name == "accuracy_level" and a.i == 4 for a in n.attribute) for n in model.graph.node)


def check(model):
    """What onnx has against it, or None."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error)
    return None


def rms(values):
    values = np.asarray(values, np.float64)
    return float(np.sqrt(np.mean(values * values))) if values.size else 0.0


class Judge:
    """Of one part: what the original gives, and what FP32's roundings make of it."""

    def __init__(self, part, runtime, dice):
        self.part, self.runtime = part, runtime
        self.feeds = [part.feeds(v) for v in part.vectors]
        noise = np.random.default_rng(dice.randrange(1 << 30))
        moved = [{k: v * (1 + np.float32(2**-23) * noise.choice(np.float32([-1, 0, 1]), v.shape)) if v.dtype == np.float32 else v
                  for k, v in f.items()} for f in self.feeds]
        model = part.model.SerializeToString()
        self.truth = {o: runtime.run(model, [*self.feeds, *moved], o) for o in (False, True)}

    def noise(self, at, name):
        """The output's difference by inputs that are one bit off, and by optimisation."""
        runs = [self.truth[o][1][i] for o in (False, True) if self.truth[o][0] == "ok" for i in (at, at + len(self.feeds))]
        values = [r[name].astype(np.float64) for r in runs if not isinstance(r, str)]
        with np.errstate(all="ignore"):
            return max([rms(v - values[0]) for v in values[1:] if v.shape == values[0].shape], default=0.0)

    def values(self, at, wanted, got, promised, typed):
        """(kind, text) of what is wrong, or None."""
        for name, truth in wanted.items():
            value = got.get(name)
            if value is None or value.shape != truth.shape or value.dtype != truth.dtype:
                return "shape", f"{name}: {None if value is None else (value.shape, value.dtype)} instead of {truth.shape, truth.dtype}"
            if truth.dtype not in (np.float32, np.float64, np.float16) or not truth.size:
                if not typed and not np.array_equal(value, truth):
                    return "integers", f"{name}: {np.sum(value != truth)} of {truth.size} differ"
                continue
            finite = np.isfinite(truth)
            if not finite.any():
                continue
            if not np.isfinite(value[finite]).all() and (promised or not typed):
                if at and typed:  # larger sums than the sample's may leave the format
                    continue
                return "nonfinite", f"{name}: not finite"
            error = rms(value[finite].astype(np.float64) - truth[finite])
            size = rms(truth[finite])
            if not typed:
                # Each of at most 60 nodes rounds once, as the inputs' last bit did; a part may add in another order.
                allowed = 64 * self.noise(at, name) + size * 2.0**-18
                if not error <= allowed:
                    return "values", f"{name}: off by {error:.3g}, rms {size:.3g}, allowed {allowed:.3g}"
            elif promised and size:
                error = max(error - 4 * self.noise(at, name), 0)
                decibels = 20 * np.log10(size / error) if error else 999
                least = promised - 6 if at == 0 else 8  # at other sizes nothing is promised, but a blunder is none of FP16's roundings
                if decibels < least:
                    return ("decibels" if at == 0 else "decibels elsewhere"), f"{name}: {decibels:.1f} dB, promised {promised}"
        return None

    def file(self, path, promised):
        """(kind, text) of each violation."""
        found = []
        model = onnx.load(str(path))
        ours, theirs = interface(self.part.model), interface(model)
        if ours != theirs:
            found.append(("interface", f"{[a for a, b in zip(sum(ours, []), sum(theirs, [])) if a != b]} is {[b for a, b in zip(sum(ours, []), sum(theirs, [])) if a != b]}"))
        domains = {o.domain: o.version for o in model.opset_import}
        if any(domains.get(o.domain, -1) < o.version for o in self.part.model.opset_import):
            found.append(("opsets", str(domains)))
        promised = None if has_own(model) else promised
        typed = any(types_of(model)[kind] > types_of(self.part.model)[kind] for kind in FLOATS)
        for optimised in (False, True):
            status, wanted = self.truth[optimised]
            if status != "ok":
                continue
            status, got = self.runtime.run(path.read_bytes() if not path.with_suffix(".onnx.data").exists() else str(path), self.feeds, optimised)
            if status == "load" and "NOT_IMPLEMENTED" in got and onnx.TensorProto.BFLOAT16 in types_of(model):
                wrong = check(model)  # this processor has no kernels of it
                if wrong and not check(self.part.model):
                    found.append(("checker", wrong))
                continue
            if status != "ok":
                found.append((status, f"optimised {optimised}: {got}"))
                continue
            for at, (w, g) in enumerate(zip(wanted, got)):
                if isinstance(w, str):
                    continue
                wrong = ("run", g) if isinstance(g, str) else self.values(at, w, g, promised, typed)
                if wrong:
                    found.append((wrong[0], f"optimised {optimised}, {self.part.vectors[at]}{' (sample)' if at == 0 else ''}: {wrong[1]}"))
        return found, typed


# ---- one part ----

def walk(network, seed, options, runtime):
    """Lines of violations [(command, kind, text)], and how many files there were: by (command, typed)."""
    part = cut_networks.make_part(network, seed, runtime.run)
    files, found, refused = collections.Counter(), [], collections.Counter()
    if not part:
        return found, files, refused
    dice = random.Random(f"asked {network.name} {seed}")
    folder = pathlib.Path(options.folder) / f"{network.name}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    onnx.save(part.model, str(folder / "model.onnx"))
    for name, vector in zip(SAMPLES, part.vectors):
        np.savez(folder / name, **part.feeds(vector))
    judge = Judge(part, runtime, dice)
    for words, file, promised in commands(dice, "model.onnx", len(part.vectors)):
        started = time.monotonic()
        try:
            done = subprocess.run([options.program, *words], cwd=folder, capture_output=True, text=True, timeout=options.seconds)
        except subprocess.TimeoutExpired:
            refused[f"{words[0]}: not within {options.seconds} s"] += 1
            continue
        if done.returncode not in (0, 1):
            if done.returncode < 0 or done.returncode > 6:
                found.append((" ".join(words), "signal", f"code {done.returncode}"))
            why = re.sub(r"'[^']*'|\d+|\S*/\S*", "#", done.stderr.strip().split("\n")[-1])[:130]
            refused[f"{words[0]}: exit {done.returncode}: {why}"] += 1
        path = folder / file
        if not path.exists():
            continue
        unmet = done.returncode == 1
        wrong, typed = judge.file(path, None if unmet else promised)
        files[words[0], "types" if typed else "edits"] += 1
        if options.verbose:
            print(f"  {folder.name} {file} {time.monotonic() - started:.1f} s", flush=True)
        found += [(" ".join(words), kind, text) for kind, text in wrong]
    if not found and not options.keep:
        shutil.rmtree(folder)
    return found, files, refused


def walk_network(folder, seeds, options, until):
    runtime = Runtime()
    lines, files, refused = [], collections.Counter(), collections.Counter()
    networks = []
    for opset in OPSETS:
        try:
            networks.append(cut_networks.Network(folder, runtime.run, opset))
        except Exception as error:  # the converter has many
            refused[f"network of opset {opset}: {type(error).__name__}"] += 1
    for seed in seeds if networks else []:
        if sum(files.values()) >= until:
            break
        network = networks[seed % len(networks)]
        try:
            found, some, no = walk(network, seed, options, runtime)
        except Exception as error:  # the walk's own mistake: it is seen, and goes on
            found, some, no = [("walk", "error", repr(error))], {}, {}
        files.update(some)
        refused.update(no)
        for command, kind, text in found:
            lines.append((network.name, seed, kind))
            print(f"{network.name}-{seed}: {kind}: {command}: {text[:260]}".replace("\n", " "), flush=True)
    runtime.close()
    return lines, files, refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--files", type=int, default=10**9, help="of each network at most")
    parser.add_argument("--every", type=int, default=1, help="of so many networks one")
    parser.add_argument("--only", help="networks whose names have this")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("folder")
    parser.add_argument("seeds")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    folders = [f for f in cut_networks.networks(options.data) if not options.only or options.only in f.name][::options.every]
    lines, files, refused = [], collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for some, made, no in pool.map(lambda f: walk_network(f, seeds, options, options.files), folders):
            lines += some
            files.update(made)
            refused.update(no)
    for reason, count in sorted(refused.items()):
        print(f"refused {count}: {reason}")
    print("files:", ", ".join(f"{command} {kind} {count}" for (command, kind), count in sorted(files.items())) or "none")
    kinds = collections.Counter(kind for _, _, kind in lines)
    print(f"{sum(files.values())} written files, {len({l[:2] for l in lines})} parts with violations:",
          ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none")
    return 1 if lines or not files else 0


if __name__ == "__main__":
    sys.exit(main())
