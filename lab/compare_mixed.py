#!/usr/bin/env python3
"""mixed.onnx as others see it: onnx.checker accepts it, ONNX Runtime loads and runs it, and nothing of the model is lost.

    compare_mixed.py ULPSCOPE [DATA] [--long]

Needs numpy, onnx and onnxruntime. Models with what a graph may hold are made here (bodies of If, Loop and Scan, functions, external data, constants
that two types share, old and new operator sets); with DATA random sets of nodes of the networks in models/ are kept, too. `ulpscope plan --apply`
has compared the bits with the plan's before it wrote; ONNX Runtime, which computes most of FP16 in FP32, must be within the error of FP16."""
import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, BHALF = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
rng = np.random.default_rng(3)


def weight(name, *shape, scale=0.3):
    return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)


def info(name, *shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, name=None, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name or outputs.split()[0], **attributes)


def model(nodes, weights, outputs, opset=17, inputs=None, functions=(), ir=8, values=()):
    graph = helper.make_graph(nodes, "g", inputs or [info("x", 4, 8)], outputs, weights, doc_string="a graph", value_info=values)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in sorted({f.domain for f in functions})]
    made = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=ir, producer_name="tests", doc_string="a model")
    helper.set_model_props(made, {"author": "somebody"})
    return made


def bodies():
    then = helper.make_graph([node("Mul", "h x", "s"), node("MatMul", "s w", "t")], "then", [], [info("t", 4, 8)])
    other = helper.make_graph([node("Exp", "h", "e")], "else", [], [info("e", 4, 8)], [weight("unused", 2)])
    loop = helper.make_graph([node("Mul", "c h", "p"), node("MatMul", "p w", "q"), node("Add", "c q", "u"), node("Relu", "u", "r"),
                              node("Identity", "go", "stop")], "loop", [info("i", kind=TensorProto.INT64), info("go", kind=TensorProto.BOOL),
                             info("c", 4, 8)], [info("stop", kind=TensorProto.BOOL), info("u", 4, 8), info("r", 4, 8)])
    scan = helper.make_graph([node("Add", "a b", "n"), node("Tanh", "n", "m")], "scan", [info("a", 4, 8), info("b", 4, 8)],
                             [info("n", 4, 8), info("m", 4, 8)])
    flag = numpy_helper.from_array(np.array(True), "yes")
    count = numpy_helper.from_array(np.array(3, np.int64), "three")
    nodes = [node("MatMul", "x w", "h"), node("ReduceSum", "h", "sum", keepdims=0), node("Less", "sum big", "flag"),
             node("If", "flag", "v", then_branch=then, else_branch=other), node("Loop", "three yes v", "y rs", body=loop),
             node("Scan", "v rs", "last z", body=scan, num_scan_inputs=1), node("Add", "last y", "f")]
    return model(nodes, [weight("w", 8, 8), weight("big"), flag, count], [info("f", 4, 8), info("z", 3, 4, 8)])


def branches():
    """A branch that is not taken, and which planning does not know so: what is in it has no declared types."""
    inner = [helper.make_graph([node(op, "h", out)], out, [], [info(out, 4, 8)]) for op, out in [("Exp", "a"), ("Tanh", "b")]]
    then = helper.make_graph([node("Relu", "h", "t")], "then", [], [info("t", 4, 8)])
    other = helper.make_graph([node("Less", "sum minus", "f"), node("If", "f", "c", then_branch=inner[0], else_branch=inner[1]), node("Relu", "c", "d"),
                               node("MatMul", "d w", "e")], "else", [], [info("e", 4, 8)])
    nodes = [node("MatMul", "x w", "h"), node("Mul", "h h", "hh"), node("ReduceSum", "hh", "sum", keepdims=0), node("Less", "minus sum", "flag"),
             node("If", "flag", "v", then_branch=then, else_branch=other), node("Add", "v h", "y")]
    return model(nodes, [weight("w", 8, 8), numpy_helper.from_array(np.float32(-1), "minus")], [info("y", 4, 8)])


def functions():
    def make(name, nodes, inputs, outputs, attributes=()):
        return helper.make_function("own", name, inputs.split(), outputs.split(), nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)],
                                    list(attributes))
    half = helper.make_node("Constant", [], ["half"], name="half", value=numpy_helper.from_array(np.float32(0.5), ""))
    act = make("Act", [half, node("Mul", "a half", "b"), node("Tanh", "b", "c"), node("Add", "c a", "d")], "a", "d")
    reference = helper.make_node("Constant", [], ["k"], name="k")
    reference.attribute.append(onnx.AttributeProto(name="value_float", ref_attr_name="scale", type=onnx.AttributeProto.FLOAT))
    layer = make("Layer", [node("MatMul", "a w", "m"), reference, node("Mul", "m k", "n"),
                           helper.make_node("Act", ["n"], ["o"], name="act", domain="own")], "a w", "o", ["scale"])
    nodes = [helper.make_node("Layer", [a, "w"], [b], name=f"layer{i}", domain="own", scale=1.5) for i, (a, b) in enumerate(["xp", "pq", "qr"])]
    return model(nodes + [node("Softmax", "r", "y")], [weight("w", 8, 8)], [info("y", 4, 8)], functions=[act, layer], ir=9)


def shared():
    """Constants read in both types, an output that is read inside, a node without a name, Casts of the model's own."""
    nodes = [helper.make_node("Constant", [], ["two"], name="two", value_float=2.0), node("MatMul", "x w", "a"), node("Mul", "a two", "y"),
             node("MatMul", "y w", "b"), helper.make_node("Mul", ["b", "two"], ["c"]), node("Cast", "c", "d", to=HALF), node("Cast", "d", "e", to=FLOAT),
             node("Add", "e y", "z"), node("Shape", "z", "n"), node("Cast", "n", "nf", to=FLOAT), node("Mul", "nf two", "nn"),
             node("Cast", "nn", "ni", to=TensorProto.INT64), node("ConstantOfShape", "n", "fill", value=numpy_helper.from_array(np.float32([0.1]))),
             node("Add", "fill z", "u"), node("Expand", "u ni1", "v"), node("Div", "ni two_i", "ni1")]
    nodes.insert(-2, nodes.pop())
    return model(nodes, [weight("w", 8, 8), numpy_helper.from_array(np.int64([2, 2]), "two_i")], [info("y", 4, 8), info("v", 4, 8)],
                 values=[info("a", 4, 8), info("b", 4, 8), info("z", 4, 8)])


def old():
    """Opset 11: CumSum has no FLOAT16; initializers are inputs, as IR 3 wants; Resize has parameters."""
    w = weight("w", 8, 8)
    nodes = [node("MatMul", "x w", "a"), node("CumSum", "a axis", "b"), node("Reshape", "b shape", "c"),
             node("Resize", "c roi scales", "d", mode="nearest"), node("Relu", "d", "y")]
    weights = [w, numpy_helper.from_array(np.int64(1), "axis"), numpy_helper.from_array(np.int64([1, 1, 4, 8]), "shape"),
               numpy_helper.from_array(np.float32([]), "roi"), numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales")]
    inputs = [info("x", 4, 8)] + [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in weights]
    return model(nodes, weights, [info("y", 1, 1, 8, 16)], opset=11, inputs=inputs, ir=3)


def wide():
    """FLOAT64 and overflow of constants."""
    nodes = [node("MatMul", "x w", "a"), node("Cast", "a", "b", to=TensorProto.DOUBLE), node("Mul", "b tiny", "c"), node("Add", "c large", "d"),
             node("Cast", "d", "y", to=FLOAT)]
    return model(nodes, [weight("w", 8, 8), numpy_helper.from_array(np.float64(1 / 3), "tiny"),
                         numpy_helper.from_array(np.float64([[1e5] + [2.0] * 7]), "large")], [info("y", 4, 8)])


def norms():
    """LayerNormalizations as nodes, of the kinds that ONNX Runtime joins and passes over Casts of: with one Sub and two, of an input and of a sum,
    a scale that is computed."""
    nodes, x = [], "x"
    for k in range(4):
        mean = [node("ReduceMean", x, f"m{k}", axes=[-1]), node("Sub", f"{x} m{k}", f"c{k}"), node("Sub", f"{x} m{k}", f"d{k}")]
        nodes += mean[:2 + k % 2]
        nodes += [node("Pow", f"c{k} two", f"p{k}"), node("ReduceMean", f"p{k}", f"v{k}", axes=[-1]), node("Add", f"v{k} eps", f"e{k}"),
                  node("Sqrt", f"e{k}", f"s{k}"), node("Div", f"{'cd'[k % 2]}{k} s{k}", f"n{k}")]
        if k == 2:
            nodes += [node("ReduceMean", "x", "g", axes=[0], keepdims=0), node("Add", "g one", "gain")]
        nodes += [node("Mul", f"n{k} {'gain' if k == 2 else 'gamma'}", f"g{k}"), node("Add", f"g{k} beta", f"b{k}"), node("MatMul", f"b{k} w", f"y{k}"),
                  node("Add", f"{x} y{k}", f"x{k}")]
        x = f"x{k}"
    scalars = [numpy_helper.from_array(np.float32(v), n) for n, v in [("two", 2), ("eps", 1e-5), ("one", 1)]]
    return model(nodes, [weight("w", 8, 8), weight("gamma", 8), weight("beta", 8), *scalars], [info("x3", 4, 8)])


def moves():
    """Values that are handed on before anything computes with them, to readers in both types, an output and a body: what narrows them stands behind."""
    then = helper.make_graph([node("MatMul", "s w", "th")], "then", [], [info("th", 2, 2, 8)])
    other = helper.make_graph([node("Identity", "s", "ot")], "else", [], [info("ot", 2, 2, 8)])
    nodes = [node("Reshape", "x shape", "r"), node("Transpose", "r", "s", perm=[1, 0, 2]), node("MatMul", "s w", "a"), node("Exp", "s", "b"),
             node("Transpose", "r", "t", perm=[1, 0, 2]), node("Transpose", "t", "y", perm=[1, 0, 2]), node("MatMul", "y w", "c"),
             node("Transpose", "a", "d", perm=[1, 0, 2]), node("Identity", "d", "i"), node("Relu", "i", "e"), node("Transpose", "e", "f", perm=[1, 0, 2]),
             node("Squeeze", "f", "g"), node("Shape", "g", "n"), node("Reshape", "b n", "h"), node("MatMul", "h w", "j"), node("Add", "c j", "k"),
             node("ReduceSum", "k", "sum", keepdims=0), node("Less", "sum big", "flag"), node("If", "flag", "v", then_branch=then, else_branch=other),
             node("Add", "g v", "l"), node("Add", "k l", "z")]
    return model(nodes, [weight("w", 8, 8), weight("big"), numpy_helper.from_array(np.int64([2, 2, 8]), "shape")],
                 [info("y", 2, 2, 8), info("z", 2, 2, 8)])


def quantised():
    """INT8 that is only moved: ONNX Runtime refuses a DequantizeLinear before what moves elements, unless a QuantizeLinear or a Cast follows it at once."""
    nodes, x = [], "x"
    for k, (op, rest) in enumerate([("Reshape", " shape"), ("Transpose", ""), ("Squeeze", ""), ("Unsqueeze", " axis")]):
        nodes += [node("QuantizeLinear", f"{x} step zero", f"q{k}"), node("DequantizeLinear", f"q{k} step zero", f"d{k}"), node(op, f"d{k}{rest}", f"m{k}")]
        x = f"m{k}"
    nodes += [node("QuantizeLinear", f"{x} step zero", "q"), node("DequantizeLinear", "q step zero", "y")]
    constants = [("step", np.float32(0.02)), ("zero", np.int8(1)), ("shape", np.int64([1, 8, 4])), ("axis", np.int64([0]))]
    return model(nodes, [numpy_helper.from_array(value, name) for name, value in constants], [info("y", 1, 4, 8)], opset=21, ir=10)


def contributed():
    """Operators of com.microsoft that have FLOAT alone, or in an output that is asked for."""
    def quantised(name, *shape):
        return [numpy_helper.from_array(rng.integers(-99, 99, shape).astype(np.int8), name), numpy_helper.from_array(np.float32([0.01]), name + "_scale"),
                numpy_helper.from_array(np.int8([0]), name + "_zero")]
    nodes = [node("Unsqueeze", "x zero", "u"),
             helper.make_node("DynamicQuantizeLSTM", ["u", "w", "r", "", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"], ["l"], name="l",
                              domain="com.microsoft", hidden_size=8),
             node("Reshape", "l shape", "m"), node("MatMul", "m v", "n"),
             helper.make_node("SkipLayerNormalization", ["n", "m", "gamma", "beta"], ["o", "", "", "p"], name="o", domain="com.microsoft"),
             helper.make_node("SkipLayerNormalization", ["p", "m", "gamma", "beta"], ["q", "mean", "deviation"], name="q", domain="com.microsoft"),
             node("Add", "q mean", "f"), node("Add", "f o", "y")]
    made = model(nodes, [weight("v", 8, 8), weight("gamma", 8), weight("beta", 8), *quantised("w", 1, 8, 32), *quantised("r", 1, 8, 32),
                         numpy_helper.from_array(np.int64([0]), "zero"), numpy_helper.from_array(np.int64([1, 4, 8]), "shape")], [info("y", 1, 4, 8)])
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def given():
    """Initializers that are inputs, too, and may be given with other values, of which one is an output; constants of all kinds that are outputs and are
    read."""
    nodes = [node("MatMul", "x w", "a"), node("Add", "a bias", "b"), node("Transpose", "w2", "t", perm=[1, 0]), node("MatMul", "b t", "c"),
             helper.make_node("Constant", [], ["k"], name="k", value=weight("", 8)), node("Mul", "c k", "d"), node("Mul", "k half", "m"),
             node("Identity", "v", "i"), node("MatMul", "d i", "e"), node("Add", "e m", "f"), node("MatMul", "f v", "y")]
    return model(nodes, [weight("w", 8, 8), weight("w2", 8, 8), weight("v", 8, 8), weight("bias", 8), weight("half", 8)],
                 [info("y", 4, 8), info("v", 8, 8), info("k", 8), info("m", 8), info("i", 8, 8), info("bias", 8)],
                 inputs=[info("x", 4, 8), info("bias", 8), info("w2", 8, 8)])


MADE = {"given": given, "moves": moves, "quantised": quantised, "contributed": contributed, "bodies": bodies, "branches": branches, "functions": functions, "shared": shared, "old": old, "wide": wide, "norms": norms}


class Case:
    def __init__(self, program, folder, path, inputs):
        self.program, self.folder, self.path = program, pathlib.Path(folder), pathlib.Path(path)
        self.inputs = inputs
        self.out = self.folder / "out"

    def apply(self, arithmetic, patterns, *options):
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps({"arithmetic": arithmetic, "keep": [{"nodes": patterns, "arithmetic": "fp32"}] if patterns else []}))
        return subprocess.run([self.program, "plan", self.path, "-i", self.inputs, "--apply", plan, "-o", self.out, "--quiet", *options],
                              capture_output=True, text=True)

    def count(self):
        found = re.search(r"has (\d+) nodes", self.apply("fp16", ["#99999999"]).stderr)
        return int(found[1])


def graphs(graph, outer=True):
    yield graph
    for n in graph.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs(a.g)


def all_nodes(m):
    for g in graphs(m.graph):
        yield from g.node
    for f in m.functions:
        yield from f.node


def check_casts(m, where, failures):
    """No Cast reads another Cast that was inserted: no chains, nothing widened to be narrowed again. What was handed on and narrowed may be widened."""
    floats = (FLOAT, HALF, BHALF, TensorProto.DOUBLE)
    handing = {"Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}
    for nodes in [g.node for g in graphs(m.graph)] + [f.node for f in m.functions]:
        casts = {n.output[0]: n for n in nodes if n.op_type == "Cast" and n.attribute[0].i in floats}
        makers = {name: n.op_type for n in nodes for name in n.output}
        for n in casts.values():
            above = casts.get(n.input[0])
            handed = above is not None and n.attribute[0].i == FLOAT and makers.get(above.input[0]) in handing
            if above is not None and not handed and n.name.endswith("_cast") and above.name.endswith("_cast"):
                failures.append(f"{where}: {n.name} casts what {above.name} cast")
        pairs = [(n.input[0], n.attribute[0].i) for n in casts.values() if n.name.endswith("_cast")]
        if len(pairs) != len(set(pairs)):
            failures.append(f"{where}: two Casts of one value to one type")


def check_kept(before, after, where, failures):
    """Names, texts, metadata and types of inputs and outputs are those of the model."""
    for field in ("producer_name", "doc_string", "ir_version", "domain", "model_version"):
        if getattr(before, field) != getattr(after, field):
            failures.append(f"{where}: {field} is another")
    if list(before.metadata_props) != list(after.metadata_props) or before.graph.doc_string != after.graph.doc_string:
        failures.append(f"{where}: metadata is lost")
    kinds = lambda values: [(v.name, v.type.tensor_type.elem_type) for v in values]  # noqa: E731
    weights = {t.name for t in before.graph.initializer}
    free = lambda values: [k for k in kinds(values) if k[0] not in weights]  # noqa: E731
    more = {t.name for t in after.graph.initializer}
    if before.ir_version > 3 and kinds(before.graph.input) != kinds(after.graph.input) or free(before.graph.input) != [k for k in free(after.graph.input) if k[0] not in more] or \
            kinds(before.graph.output) != kinds(after.graph.output):
        failures.append(f"{where}: inputs or outputs have other types")
    names = lambda m: {n.name for n in all_nodes(m) if n.name and n.op_type != "Constant"}  # noqa: E731
    if not names(before) <= names(after):
        failures.append(f"{where}: nodes are gone: {sorted(names(before) - names(after))[:3]}")
    if any(not n.name for n in after.graph.node):
        failures.append(f"{where}: a node has no name")


def run_here(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {v.name: inputs[v.name] for v in session.get_inputs()}
    feed |= {v.name: np.linspace(-1, 2, int(np.prod(v.shape)), dtype=np.float32).reshape(v.shape) for v in session.get_overridable_initializers()
             if v.type == "tensor(float)"}
    return dict(zip([v.name for v in session.get_outputs()], session.run(None, feed)))


def run_runtime(path, inputs):
    """In a process of its own: ONNX Runtime 1.31 and 1.32 end in a segmentation fault where a Transpose moves the batch of a value that is FLOAT16, by a
    Cast or by its table as in t5_random_encoder, before a MatMul with weights. No file has that."""
    try:
        return run_runtime.pool.submit(run_here, path, inputs).result()
    except concurrent.futures.process.BrokenProcessPool:
        raise SystemExit(f"{path}: ONNX Runtime crashes") from None


run_runtime.pool = concurrent.futures.ProcessPoolExecutor(1)


def distance(a, b):
    worst = 0.0
    for name, value in a.items():
        if value.dtype.kind == "f" and value.size:
            x, y = np.float64(value), np.float64(b[name])
            good = np.isfinite(x) & np.isfinite(y)
            rms = np.sqrt(np.mean(np.square(x[good]))) if good.any() else 0
            worst = max(worst, np.sqrt(np.mean(np.square((x - y)[good]))) / rms if rms else 0)
    return worst


def check(case, arithmetic, patterns, failures, tolerance, runs=True):
    where = f"{case.path.parent.name}/{case.path.name}, {arithmetic}, {len(patterns)} patterns"
    done = case.apply(arithmetic, patterns)
    if done.returncode == 4 and "keeps every node in FLOAT" in done.stdout:
        return None
    if done.returncode:
        failures.append(f"{where}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
        return None
    path = case.out / "mixed.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    before, after = onnx.load(case.path), onnx.load(path)
    check_casts(after, where, failures)
    check_kept(before, after, where, failures)
    linted = subprocess.run([case.program, "lint", path, "--json", case.folder / "lint.json"], capture_output=True, text=True)
    if linted.returncode not in (0, 1):
        failures.append(f"{where}: lint: {linted.stderr}")
        return after
    # a random plan may itself leave a node that only moves, or a Cast, in FP16 between kept ones
    found = {f["rule"] for f in json.loads((case.folder / "lint.json").read_text())["findings"] if f["rule"].startswith(("cast-", "type-"))}
    if found - {"cast-to-integer", "cast-down-up", "cast-constant-up"}:
        failures.append(f"{where}: lint finds {sorted(found)}")
    if runs:
        inputs = dict(np.load(case.inputs))
        gap = distance(run_runtime(case.path, inputs), run_runtime(path, inputs))
        if not gap <= tolerance:
            failures.append(f"{where}: ONNX Runtime's outputs are {gap:.2g} from the model's in FP32")
    return after


def draw(count, seed):
    chance, at, patterns = random.Random(seed), 0, []
    while at < count:
        size = chance.choice([1, 1, 2, 3, 5])
        if chance.random() < 0.25 + 0.15 * (seed % 3):
            patterns.append(f"#{at}-{min(at + size, count) - 1}")
        at += size
    return patterns


def check_made(options, failures):
    for name, make in MADE.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            onnx.save(make(), path)
            np.savez(pathlib.Path(folder) / "in.npz", x=rng.standard_normal((4, 8)).astype(np.float32))
            case = Case(options.program, folder, path, pathlib.Path(folder) / "in.npz")
            count = case.count()
            for seed in range(12 if options.long else 6):
                # 1e5 is not in FP16: 65504 stands for it
                check(case, "fp16", draw(count, seed), failures, 1 if name == "wide" else 2e-2)
            check(case, "fp16", [], failures, 1 if name == "wide" else 2e-2)


def check_external(options, failures):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = model([node("MatMul", "x w", "a"), node("MatMul", "a v", "b"), node("Add", "b w", "c"), node("Gather", "c ids", "y")],
                     [weight("w", 8, 8), weight("v", 8, 8), numpy_helper.from_array(np.int64([0, 3]), "ids")], [info("y", 2, 8)],
                     inputs=[info("x", 8, 8)])
        onnx.save(made, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        w, v = (numpy_helper.to_array(t) for t in onnx.load(folder / "model.onnx").graph.initializer[:2])
        np.savez(folder / "in.npz", x=rng.standard_normal((8, 8)).astype(np.float32))
        case = Case(options.program, folder, folder / "model.onnx", folder / "in.npz")
        check(case, "fp16", ["c"], failures, 2e-2)
        raw = onnx.load(case.out / "mixed.onnx", load_external_data=False)
        if any(t.data_location != TensorProto.EXTERNAL for t in raw.graph.initializer) or \
                {e.value for t in raw.graph.initializer for e in t.external_data if e.key == "location"} != {"mixed.onnx.data"}:
            failures.append("external data is external no more")
        after = onnx.load(case.out / "mixed.onnx")
        values = {t.name: numpy_helper.to_array(t) for t in after.graph.initializer}
        if not (np.array_equal(values["w"], w) and np.array_equal(values["w_fp16"], w.astype(np.float16)) and
                np.array_equal(values["v"], v.astype(np.float16))):
            failures.append("external weights have other values than numpy's conversion")
        if sorted(p.name for p in case.out.iterdir()) != ["mixed.onnx", "mixed.onnx.data"]:
            failures.append("more was left behind than mixed.onnx and its data")
    with tempfile.TemporaryDirectory() as folder:  # tensors of bodies go to the new file's data, too, where factors alone are quantised
        folder = pathlib.Path(folder)
        onnx.save(bodies(), folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0, convert_attribute=True)
        np.savez(folder / "in.npz", x=rng.standard_normal((4, 8)).astype(np.float32))
        done = subprocess.run([options.program, "quantise", folder / "model.onnx", "-i", folder / "in.npz", "--formats", "mxfp8,bf16", "--tolerance",
                               "sqnr_db=0", "-o", folder / "out", "-q"], capture_output=True, text=True)
        if done.returncode or b"weights.bin" in (folder / "out" / "quantised.onnx").read_bytes():
            failures.append(f"quantised.onnx reads the model's external data: {done.stderr}")
        done = subprocess.run([options.program, "extract", folder / "model.onnx", "v,f", "-i", folder / "in.npz", "-o", folder / "part", "-q"],
                              capture_output=True, text=True)  # behind an If that the inputs decide no shape is known without a run
        made = {} if done.returncode else run_runtime(folder / "part" / "model.onnx", dict(np.load(folder / "part" / "inputs.npz")))
        if done.returncode or not distance(dict(np.load(folder / "part" / "outputs.npz")), made) <= 1e-5:
            failures.append(f"a part with bodies is another in ONNX Runtime, or is not written: {done.stderr}")


def check_types(options, failures):
    """BF16, lowered inputs and outputs, what ONNX does not have, and TF32."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.savez(folder / "in.npz", x=rng.standard_normal((4, 8)).astype(np.float32))
        onnx.save(shared(), folder / "model.onnx")
        case = Case(options.program, folder, folder / "model.onnx", folder / "in.npz")
        after = check(case, "bf16", ["y"], failures, 0.2, runs=False)
        if after and not any(t.data_type == BHALF for t in after.graph.initializer):
            failures.append("no weight is BFLOAT16")
        if case.apply("fp16", ["a"], "--lower-io").returncode:
            failures.append("--lower-io fails")
        after = onnx.load(case.out / "mixed.onnx")
        onnx.checker.check_model(after, full_check=True)
        if {v.type.tensor_type.elem_type for v in [*after.graph.input, *after.graph.output]} != {HALF}:
            failures.append("--lower-io leaves an input or output in FLOAT")
        done = case.apply("tf32", [])
        if done.returncode != 4 or "tf32 is stored in FLOAT" not in done.stdout:
            failures.append(f"tf32: exit {done.returncode}: {done.stdout}")
        onnx.save(old(), folder / "model.onnx")
        done = case.apply("fp16", ["a"])
        if "no operator" not in done.stdout or "(CumSum)" not in done.stdout:
            failures.append(f"CumSum of opset 11 is not named: {done.stdout}")


def check_networks(options, failures):
    names = ["magika_v3_3", "tinybert_1l", "ultraface_rfb_320", "vit_pgd_2_3_16", "fsanet_1x1", "mnist_8", "silero_vad_16k", "t5_random_encoder"]
    if options.long:
        names = sorted(p.name for p in (options.data / "models").iterdir() if (p / "model.onnx").exists() and (p / "inputs.npz").exists())
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = options.data / "models" / name
            case = Case(options.program, folder, path / "model.onnx", path / "inputs.npz")
            count = case.count()
            # what FP16 does to a network is its own; here only that it runs
            check(case, "fp16", draw(count, 1), failures, float("inf"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", nargs="?", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    failures = []
    check_made(options, failures)
    check_external(options, failures)
    check_types(options, failures)
    if options.data:
        check_networks(options, failures)
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
