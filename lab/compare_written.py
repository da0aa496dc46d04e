#!/usr/bin/env python3
"""Compare the model files that two builds write: mixed.onnx of plans, copies of fix, parts of extract, quantised.onnx.

    lab/compare_written.py BASE NEW [DATA] [--only NAME]

BASE and NEW are ulpscope programs. The models are those of compare_mixed.py (bodies, functions, external data, overridable weights), each also with
all its tensors in a file of external data, and small networks of DATA/models. Files are equal bytes, or equal messages where only the places of
external data and the order of initializers are others; and ONNX Runtime, where it opens BASE's, opens NEW's and gives the same outputs. Exit code 1: something differs. For
changes that must change no file."""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from compare_mixed import MADE, draw, node, model, info, weight, run_here, helper

NETWORKS = ["cct2_32_opset20", "tinybert_1l", "ultraface_rfb_320", "vit_pgd_2_3_16", "fsanet_1x1", "mnist_8", "silero_vad_16k", "magika_v3_3",
            "self_attention_ezkl", "micro_kws_qdq", "layout_qdq_u8_ln", "gtcrn_simple"]


def mended():
    """What fix edits, also in a body: written-out norms, softmaxes and constants that nothing reads afterwards."""
    def norm(x, y, at):
        return [node("ReduceMean", x, f"{at}m", axes=[-1]), node("Sub", f"{x} {at}m", f"{at}c"), node("Pow", f"{at}c two", f"{at}p"),
                node("ReduceMean", f"{at}p", f"{at}v", axes=[-1]), node("Add", f"{at}v eps", f"{at}e"), node("Sqrt", f"{at}e", f"{at}s"),
                node("Div", f"{at}c {at}s", f"{at}d"), node("Mul", f"{at}d gamma", f"{at}g"), node("Add", f"{at}g beta", y)]
    then = helper.make_graph(norm("n", "t", "then_"), "then", [], [info("t", 4, 8)], [weight("idle", 2)])
    other = helper.make_graph([node("Softmax", "n", "q"), node("Log", "q", "r"), node("MatMul", "r inner", "o")], "else", [], [info("o", 4, 8)],
                              [weight("inner", 8, 8)])
    nodes = [node("MatMul", "x w", "a"), *norm("a", "n", "at_"), node("ReduceSum", "n", "sum", keepdims=0), node("Less", "sum big", "flag"),
             node("If", "flag", "v", then_branch=then, else_branch=other), node("Softmax", "v", "p"), node("Log", "p", "l"),
             node("Mul", "l eight", "z"), node("MatMul", "z w", "y")]
    scalars = [onnx.numpy_helper.from_array(np.float32(v), n) for n, v in [("two", 2), ("eps", 1e-9), ("eight", 0.125)]]
    return model(nodes, [weight("w", 8, 8), weight("gamma", 8), weight("beta", 8), weight("big"), *scalars], [info("y", 4, 8), info("l", 4, 8)])


def products(opset):
    """What quantised.onnx quantises: constants and values of MatMul, Gemm and Conv, along first and last axes, shared and not, around an If."""
    then = helper.make_graph([node("MatMul", "d w", "t")], "then", [], [info("t", 4, 8)])
    other = helper.make_graph([node("MatMul", "d inner", "o")], "else", [], [info("o", 4, 8)], [weight("inner", 8, 8)])
    nodes = [node("MatMul", "x w", "a"), node("Gemm", "a v", "b", transB=1), node("MatMul", "b w", "c"), node("Relu", "c", "d"),
             node("If", "yes", "e", then_branch=then, else_branch=other), node("MatMul", "turned e", "f"), node("Reshape", "f image", "g"), node("Conv", "g kernel", "h", pads=[1, 1, 1, 1]),
             node("MatMul", "h once", "y")]
    return model(nodes, [weight("w", 8, 8), weight("v", 8, 8), weight("turned", 8, 4), weight("kernel", 4, 1, 3, 3),
                         weight("once", 8, 2), onnx.numpy_helper.from_array(np.int64([1, 1, 8, 8]), "image"), onnx.numpy_helper.from_array(np.array(True), "yes")],
                 [info("y", 1, 4, 8, 2), info("d", 4, 8)], opset=opset, ir=10)


def commands(path, inputs, folder, count, names):
    """(words, the file that they write)"""
    given = ["-i", inputs, "-q", "-t", "1"]
    for at, (arithmetic, more) in enumerate([("fp16", []), ("fp16", []), ("bf16", []), ("fp16", ["--lower-io"]), ("ort-cuda:fp16", [])]):
        plan, keep = folder / f"plan{at}.json", draw(count, at)
        kept = '[{"nodes": %s, "arithmetic": "fp32"}]' % str(keep).replace("'", '"') if keep else "[]"
        plan.write_text('{"arithmetic": "%s", "keep": %s}' % (arithmetic, kept))
        yield ["plan", path, *given, "--apply", plan, "-o", "OUT", *more], "mixed.onnx"
    if count < 80:
        yield ["fix", path, *given, "--for", "ort-cuda", "--tolerance", "sqnr_db=60", "-o", "OUT/fix.onnx"], "fix.onnx"
        yield ["quantise", path, *given, "--formats", "nvfp4,mxfp8,bf16", "--tolerance", "sqnr_db=25", "-o", "OUT"], "quantised.onnx"
        yield ["quantise", path, *given, "--formats", "mxfp8,bf16", "--tolerance", "sqnr_db=0", "-o", "OUT"], "quantised.onnx"
        yield ["quantise", path, *given, "--for", "trt", "--formats", "nvfp4,mxfp8,bf16", "--tolerance", "sqnr_db=10", "-o", "OUT"], "quantised.onnx"
    for first, last in [(0, 0), (len(names) // 3, 2 * len(names) // 3), (0, len(names) - 1), (len(names) - 1, len(names) - 1)]:
        yield ["extract", path, f"{names[first]},{names[last]}", *given, "-o", "OUT"], "model.onnx"


def places(message):
    """The message without where its external data is; its elements are in it."""
    for tensor in onnx.external_data_helper._get_all_tensors(message):
        del tensor.external_data[:]
        tensor.ClearField("data_location")
    for graph in [message.graph, *[a.g for n in message.graph.node for a in n.attribute if a.HasField("g")]]:
        tensors = sorted(graph.initializer, key=lambda t: t.name)
        del graph.initializer[:]
        graph.initializer.extend(tensors)
    return message.SerializeToString(deterministic=True)


def outputs(path, inputs):
    try:
        return run_here(path, inputs)
    except Exception as error:
        return str(error)


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a)


def compare(base, new, inputs):
    """(a word for the table, is it wrong)"""
    if not base.exists() or not new.exists():
        return ("none written", False) if base.exists() == new.exists() else ("one build writes none", True)
    data = [p.with_name(p.name + ".data") for p in (base, new)]
    if base.read_bytes() == new.read_bytes() and data[0].exists() == data[1].exists() and (
            not data[0].exists() or data[0].read_bytes() == data[1].read_bytes()):
        return "equal bytes", False
    mine = outputs(new, inputs)
    try:
        before = onnx.load(base)
    except Exception:
        return "BASE's does not open: " + ("NEW's runs" if isinstance(mine, dict) else "nor does NEW's: " + mine[:200]), not isinstance(mine, dict)
    if places(before) != places(onnx.load(new)):
        return "other messages", True
    theirs = outputs(base, inputs)
    if isinstance(theirs, dict) and not (isinstance(mine, dict) and same(theirs, mine)):
        return "other outputs", True
    return "equal messages, external data at other places", False


def run(programs, words, folder, file):
    """The files, and what was said."""
    paths, said = [], []
    for program, name in zip(programs, ("base", "new")):
        out = folder / "run" / name
        out.mkdir(parents=True)
        for old in out.iterdir():
            old.unlink()
        done = subprocess.run([program, *[str(w).replace("OUT", ".") if isinstance(w, str) else str(w) for w in words]], cwd=out,
                              capture_output=True, text=True)
        said.append((done.returncode, done.stderr))
        paths.append(out / file)
    return paths, said


def check(programs, name, path, inputs, table, options):
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        message = onnx.load(path, load_external_data=False)
        names = [n.name or f"{n.op_type}_{i}" for i, n in enumerate(message.graph.node)]
        for at, (words, file) in enumerate(commands(path, inputs, work, len(names), names)):
            folder = work / str(at)
            folder.mkdir()
            paths, said = run(programs, words, folder, file)
            feed = dict(np.load(paths[1].parent / "inputs.npz" if words[0] == "extract" and paths[1].exists() else inputs))
            word, wrong = compare(*paths, feed)
            if said[0] != said[1]:
                word, wrong = f"{word}, says {said[1]} instead of {said[0]}", True
            table[words[0], file, "differs" if wrong else word] += 1
            if options.verbose:
                print(name, *words, word, *said[1], flush=True)
            if wrong:
                failures += 1
                print(f"{name}: {' '.join(map(str, words))}: {word}", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    programs = options.base.resolve(), options.new.resolve()
    table, failures = collections.Counter(), 0
    for name, make in [*MADE.items(), ("mended", mended), ("products", lambda: products(17)), ("products24", lambda: products(24))]:
        for external in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path, inputs = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "in.npz"
                onnx.save(onnx.shape_inference.infer_shapes(make()), path, save_as_external_data=external, location="weights.bin", size_threshold=0, convert_attribute=True)
                np.savez(inputs, x=np.random.default_rng(7).standard_normal((4, 8)).astype(np.float32))
                if options.only in name:
                    failures += check(programs, f"{name}{', external' * external}", path, inputs, table, options)
    for name in NETWORKS if options.data else []:
        folder = options.data / "models" / name
        if options.only in name:
            failures += check(programs, name, folder / "model.onnx", folder / "inputs.npz", table, options)
    for (command, file, word), count in sorted(table.items()):
        print(f"{command} {file}: {word}: {count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
