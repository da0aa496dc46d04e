"""Nodes that a runtime reads otherwise: `compare` names the node and the reading from outputs alone; of what is no reading it names none.

    planted_readings.py PROGRAM

The recording is what the program gives (equal bits to ONNX Runtime and numpy: tests of run) for a graph with the other reading written out.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
from onnx_writer import INT64, node, write_model  # noqa: E402

random = np.random.default_rng(57)
CONV = dict(kernel_shape=[3, 3], pads=[1] * 4)


def drawn(*shape, scale=1):
    return (scale * random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype("f4")


def image(*middle):
    """A convolution of a picture, nodes from a to b, a convolution."""
    return [node("Conv", "x stem.w", "s", "stem", **CONV), node("Relu", "s", "a"), *middle, node("Conv", "b last.w", "y", "last", **CONV)]


def attend(sink):
    """Two layers of attention with a sink, behind a Concat of another kind."""
    nodes, reads = [node("Concat", "x x", "xx", axis=-1), node("MatMul", "xx half", "h")], "h"
    for i in "01":
        nodes += [node("MatMul", f"{reads} k{i}", f"s{i}")] + [node("Concat", f"s{i} sink", f"c{i}", f"sinks{i}", axis=-1)] * sink
        nodes += [node("Softmax", f"{'c' if sink else 's'}{i}", f"p{i}", axis=-1)] + [node("Slice", f"p{i} from to last", f"q{i}")] * sink
        nodes += [node("MatMul", f"{'q' if sink else 'p'}{i} v{i}", f"o{i}"), node("Add", f"{reads} o{i}", f"h{i}")]
        reads = f"h{i}"
    return [*nodes, node("Identity", reads, "y")]


def mask(window):
    apart = np.arange(12)[:, None] - np.arange(12)
    return {"mask": np.where((apart >= 0) & (apart < window), 0, -1e4).astype("f4")[None]}


def turned(data, order):
    """Cells' weights with their gates of 8 in another order."""
    def turn(a):
        blocks = a.reshape(-1, len(order), 8 * a[0, 0].size)
        return blocks[:, order].reshape(a.shape)
    return {k: turn(data[k]) for k in "wrb"}


def cell(op, **attributes):
    return [node(op, "x w r b", "h", "cell", hidden_size=8, **attributes), node("MatMul", "h out", "y")]


def cases():
    """Name, nodes, data and inputs of the graph, what the runtime has otherwise of these three, the node and words of the answer."""
    pool, resize = dict(kernel_shape=[3, 3], strides=[2, 2]), dict(mode="linear")
    picture, steps, tokens = {"x": drawn(1, 3, 14, 14, scale=8)}, {"x": drawn(12, 1, 16, scale=4)}, {"x": drawn(1, 12, 16, scale=4)}
    convs = {"stem.w": drawn(6, 3, 3, 3), "last.w": drawn(5, 6, 3, 3)}
    lstm, gru = ({"w": drawn(1, g * 8, 16), "r": drawn(1, g * 8, 8), "b": drawn(1, 2 * g * 8), "out": drawn(8, 4)} for g in (4, 3))
    flat = {**convs, "w": drawn(14 * 14 * 6, 4)}
    scores = {"k0": drawn(16, 12, scale=3), "k1": drawn(16, 12, scale=3), "v0": drawn(12, 16), "v1": drawn(12, 16), "sink": np.full((1, 12, 1), 1.5, "f4"), "half": drawn(32, 16),
              "from": np.array([0]), "to": np.array([12]), "last": np.array([-1])}
    angles = np.outer(np.arange(12), 10.0 ** -np.arange(8)).astype("f4")
    out, place = {"out": drawn(16, 4)}, np.maximum(np.arange(12) - 4, 0)[None]
    windowed = [node("MatMul", "x k0", "s"), node("Add", "s mask", "m", "masked"), node("Softmax", "m", "p", axis=-1), node("MatMul", "p v0", "y")]
    placed = [node("Gather", "table place", "p", "positions"), node("Add", "x p", "s"), node("MatMul", "s out", "y")]
    flatten = [*image()[:1], node("Flatten", "s", "f", "flat"), node("MatMul", "f w", "y")]
    last = [*image()[:1], node("Transpose", "s", "t", perm=[0, 2, 3, 1]), node("Flatten", "t", "f", "flat"), node("MatMul", "f w", "y")]
    up = {**convs, "scales": np.float32([1, 1, 1.4, 1.4]), "sizes": np.array([1, 6, 19, 19])}
    pooled = image(node("AveragePool", "a", "b", "pool", ceil_mode=1, **pool))
    yield "gru", cell("GRU"), gru, steps, cell("GRU", linear_before_reset=1), {}, {}, "cell", "linear_before_reset=1"
    yield "lstm", cell("LSTM"), lstm, steps, None, turned(lstm, [0, 2, 3, 1]), {}, "cell", "in the order i, f, c, o"
    yield ("resize", image(node("Resize", "a - scales", "b", "up", **resize)), up, picture, image(node("Resize", "a - - sizes", "b", "up", **resize)), {}, {}, "up",
           "by the ratio of sizes")
    yield ("pool", pooled, convs, picture, image(node("AveragePool", "a", "b", "pool", count_include_pad=1, pads=[0, 0, 1, 1], **pool)), {}, {}, "pool", "the whole window beyond")
    yield "layout", flatten, flat, picture, last, {}, {}, "flat", "channels last"
    yield "sinks", attend(True), scores, tokens, attend(False), {}, {}, "sinks0", "1 more at like places were computed by handing on its input 0"
    yield "window", windowed, {**scores, **mask(4)}, tokens, None, mask(5), {}, "masked", "one wider"
    yield ("pairs", [node("Mul", "x cos", "r", "rope"), node("MatMul", "r out", "y")], {**out, "cos": np.cos(np.concatenate([angles, angles], -1))}, tokens, None,
           {"cos": np.cos(np.repeat(angles, 2, -1))}, {}, "rope", "in the order of pairs")
    yield "positions", placed, {**out, "table": drawn(16, 16, scale=4)}, {**tokens, "place": place}, None, {}, {"place": np.arange(12)[None]}, "positions", "counted from 0"
    yield ("scale", [node("MatMul", "x k0", "s", "product"), node("Softmax", "s", "p", axis=-1), node("MatMul", "p v0", "y")], scores, tokens,
           [node("MatMul", "x k0", "t"), node("Mul", "t quarter", "s"), node("Softmax", "s", "p", axis=-1), node("MatMul", "p v0", "y")], {"quarter": np.float32(0.25)}, {},
           "product", "scaled by 1 / sqrt(k)")
    halves = [*image()[:2], node("Split", "a", "l r", axis=1), node("Conv", "r mid.w", "m", **CONV), node("Add", "r m", "t", "shortcut"), node("Concat", "t l", "b", axis=1), image()[-1]]
    wrong = [*halves[:4], node("Add", "l m", "t", "shortcut"), *halves[5:]]
    gelu = [*image()[:2], node("Div", "a root", "z"), node("Erf", "z", "e", "erf"), node("Add", "e one", "f"), node("Mul", "a f", "g"), node("Mul", "g half", "b", "gelu"), image()[-1]]
    tanh = [*image()[:2], node("Mul", "a a", "q"), node("Mul", "q cubic", "r"), node("Add", "r one", "t"), node("Mul", "a t", "u"), node("Mul", "u linear", "z"),
            node("Tanh", "z", "e"), *gelu[4:]]
    numbers = {"root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5), "cubic": np.float32(0.044715), "linear": np.float32((2 / np.pi) ** 0.5)}
    yield "gelu", gelu, {**convs, **numbers}, picture, tanh, {}, {}, "gelu", "by tanh"
    yield "another half", halves, {**convs, "mid.w": drawn(3, 3, 3, 3)}, picture, wrong, {}, {}, "shortcut", "with 'l' in place of its input 'r'"
    clip, bounds = image(node("Clip", "s low high", "b", "clip")), {**convs, "low": np.float32(-1), "high": np.float32(1.5)}
    yield "clip", clip, bounds, picture, image(node("Relu", "s", "b")), {}, {}, "clip", "as Relu"
    yield "pool of another kind", image(node("MaxPool", "a", "b", "pool", **pool)), convs, picture, image(node("AveragePool", "a", "b", "pool", **pool)), {}, {}, "pool", "as AveragePool"
    # classes: what nobody listed by its operator
    hard = image(node("HardSwish", "s", "b", "hard"))
    yield ("silu", hard, convs, picture, image(node("Sigmoid", "s", "e"), node("Mul", "s e", "b")), {}, {}, "hard", "as SiLU")
    yield "gelu by erf", [*tanh[:-2], node("Mul", "g half", "b", "gelu"), tanh[-1]], {**convs, **numbers}, picture, gelu, {}, {}, "gelu", "by erf"
    spread, near = (image(node("Conv", "a mid.w", "b", "wide", kernel_shape=[3, 3], pads=[p] * 4, dilations=[p] * 2)) for p in (2, 1))
    yield "dilations", spread, {**convs, "mid.w": drawn(6, 6, 3, 3)}, picture, near, {}, {}, "wide", "without dilations"
    yield "a place further", near, {**convs, "mid.w": drawn(6, 6, 3, 3)}, picture, image(node("Conv", "a mid.w", "b", kernel_shape=[3, 3], pads=[0, 0, 2, 2])), {}, {}, "wide", "windows moved"
    scored = windowed[:1] + [node("Softmax", "s", "p", "attend", axis=-1)] + windowed[3:]
    yield "causal", scored, scores, tokens, windowed, mask(12), {}, "attend", "a causal mask"
    yield "twice", [placed[0], node("Add", "x p", "s", "sum"), placed[2]], {**out, "table": drawn(16, 16, scale=4)}, {**tokens, "place": place}, [*placed[:2], node("Add", "s p", "s2"), node("MatMul", "s2 out", "y")], {}, {}, "sum", "twice"
    square = [node("MatMul", "x k0", "s"), node("Softmax", "s", "p", axis=-1), node("MatMul", "p v0", "y", "gathers")]
    yield "turned", square, scores, tokens, [*square[:2], node("Transpose", "p", "q", perm=[0, 2, 1]), node("MatMul", "q v0", "y")], {}, {}, "gathers", "turned"
    yield "the next", placed, {**out, "table": drawn(16, 16, scale=4)}, {**tokens, "place": place}, None, {}, {"place": place + 1}, "positions", "1 more"
    apart = [node("MatMul", "x k0", "s"), node("Sub", "s one", "d", "less"), node("Tanh", "d", "t"), node("MatMul", "t v0", "y")]
    yield "operands", apart, {**scores, "one": np.float32(0.7)}, tokens, [apart[0], node("Sub", "one s", "d"), *apart[2:]], {}, {}, "less", "exchanged"
    kept, dropped = ([node("MatMul", "x k0", "s"), node("ReduceMax", "s", "m", "most", axes=[1], keepdims=k), node("Sub", "s m", "d"), node("MatMul", "d v0", "y")] for k in (1, 0))
    square = {"k0": drawn(12, 12), "v0": scores["v0"]}, {"x": drawn(12, 12, 12)}
    yield "dropped axes", dropped, *square, kept, {}, {}, "most", "with its keepdims ignored"
    # said once, and not beside what gives the same: axis=2, or the default
    down, across = ([node("MatMul", "x k0", "s"), node("Softmax", "s", "p", "attend", axis=a), node("MatMul", "p v0", "y")] for a in (1, -1))
    yield "an axis", down, *square, across, {}, {}, "attend", "attend (Softmax) was computed with axis=-1"
    wide, narrow = ([node("MatMul", "x k0", "s"), node("InstanceNormalization", "s one none", "n", "norm", epsilon=e), node("MatMul", "n v0", "y")] for e in (0.1, 1e-5))
    ones = {**square[0], "one": np.ones(12, "f4"), "none": np.zeros(12, "f4")}
    yield "an epsilon", wide, ones, square[1], narrow, {}, {}, "norm", "norm (InstanceNormalization) was computed with epsilon=0.00001"
    # what is before the graph, and decisions
    halved = [node("Greater", "s less", "c", "decides"), node("Where", "c s quarter", "b")]
    opposed = [node("LessOrEqual", "s less", "c"), halved[1]]
    limits = {**convs, "less": np.float32(0.3), "quarter": np.float32(0.25)}
    yield "inverted", image(*halved), limits, picture, image(*opposed), {}, {}, "decides", "inverted"
    same = [node("Equal", "t place", "c", "equal"), node("Where", "c x shift", "b", "chosen"), node("MatMul", "b k0", "y")]
    shifted, otherwise = {**scores, "t": np.arange(16) % 2, "place": np.array(1), "shift": drawn(16)}, [same[0], node("Not", "c", "d"), node("Where", "d x shift", "b"), same[2]]
    yield "a condition", same, shifted, tokens, otherwise, {}, {}, "chosen", "inverted"
    two = [node("MatMul", "x k0", "s"), node("MatMul", "z k1", "t"), node("Sub", "s t", "d"), node("MatMul", "d v0", "y")]
    rows = {"x": drawn(12, 16, scale=4)}
    both = {"x": drawn(1, 12, 16, scale=4), "z": drawn(1, 12, 16, scale=4)}
    yield "two inputs", two, scores, both, None, {}, {"x": both["z"], "z": both["x"]}, "x", "it was exchanged with 'z'"
    yield "a reversed input", windowed, {**scores, **mask(4)}, rows, None, {}, {"x": rows["x"][:, ::-1]}, "x", "in reverse along axis 1"
    # numbers that nobody listed: of all that had the same one, and of one of them
    def capped(*rest):
        return [node("MatMul", "x k0", "s"), node("Div", "s cap", "d", "divide"), node("Tanh", "d", "t", "bend"), node("MatMul", "t v0", "u"), *rest]
    both, number = capped(node("Div", "u cap", "y", "again")), {**scores, "cap": np.float32(2.5)}
    yield "a number", both, number, tokens, None, {"cap": np.float32(0.43)}, {}, "divide", "and 1 more of its kind were computed with 0.43 in place of 2.5"
    yield ("one of two numbers", both, number, tokens, capped(node("Div", "u other", "y")), {"other": np.float32(71)}, {}, "again", "with 71 in place of 2.5")
    first, second = np.cos(angles), np.cos(angles[:, ::-1])
    yield ("a half for both", [node("Mul", "x cos", "r", "rope"), node("MatMul", "r out", "y")], {**out, "cos": np.concatenate([first, second], -1)}, tokens, None,
           {"cos": np.concatenate([first, first], -1)}, {}, "rope", "the first half of its constant for the second")
    # in both layers, of which the first is an output, too
    def biased(*order):
        nodes, reads = [], "x"
        for i in "01":
            nodes += [node("MatMul", f"{reads} k{i}", f"a{i}")]
            nodes += [node(op, f"{'abc'[j]}{i}" + (" bias" if op == "Add" else ""), f"{'bcd'[j]}{i}", f"{op}{i}") for j, op in enumerate(order)]
            nodes, reads = [*nodes, node("MatMul", f"d{i} v{i}", f"h{i}")], f"h{i}"
        return [*nodes, node("Identity", "h0", "inner"), node("Identity", reads, "y")]
    yield ("another order", biased("Add", "Tanh", "Relu"), {**scores, "bias": drawn(12)}, tokens, biased("Tanh", "Relu", "Add"), {}, {}, "Add0",
           "and 1 more of its kind were computed behind the next two nodes")
    chosen = [node("MatMul", "x k0", "s"), node("Softmax", "s", "p", axis=-1), node("TopK", "p two", "v i", axis=-1), node("Mul", "v cap", "w", "weights"), node("MatMul", "w out2", "y")]
    yield ("the sum of what was chosen", chosen, {**scores, "two": np.array([2]), "cap": np.float32(2.5), "out2": drawn(2, 4)}, tokens,
           [*chosen[:3], node("ReduceSum", "v last", "sum"), node("Div", "v sum", "n"), node("Mul", "n cap", "w"), chosen[4]], {}, {}, "weights", "divided by its sum along the last axis")
    yield "no reading", pooled, convs, picture, None, {"last.w": convs["last.w"] * np.float32(1.37)}, {}, None, None
    # all of one operator, before each of which a reading puts several nodes
    yield "a chain", [node("Erf", f"c{i}" if i else "x", f"c{i + 1}" if i < 399 else "y", f"e{i}") for i in range(400)], {}, {"x": drawn(1, 64)}, [node("Neg", "x", "y")], {}, {}, None, None
    # codes that wrap, of a quantiser and of weights by channel, and codes that are cut
    step, codes = np.float32(0.004), np.random.default_rng(58).integers(-128, 128, (6, 6, 3, 3)).astype("i1")
    steps, middles = (np.arange(1, 7) / 1500).astype("f4"), (np.arange(6) * 5 - 12).astype("i1")
    quantised = image(node("QuantizeLinear", "a step zero", "q", "quantise"), node("DequantizeLinear", "q step zero", "b"))
    written = [node("Div", "a range", "d"), node("Add", "d rounds", "e"), node("Floor", "e", "f"), node("Mul", "f range", "g"), node("Sub", "a g", "u"),
               node("QuantizeLinear", "u step zero", "q"), quantised[3]]
    dequantised = image(node("DequantizeLinear", "codes steps middles", "w", "weights", axis=0), node("Conv", "a w", "b", **CONV))
    taken_off = codes.astype(int) - middles[:, None, None, None]
    numbers = {"step": step, "zero": np.uint8(0), "range": 256 * step, "rounds": np.float32(0.5 / 256)}
    yield "wrapped codes", quantised, {**convs, **numbers}, picture, image(*written), {}, {}, "quantise", "keeping their lower bits"
    for bits in (8, 32):
        yield (f"wrapped in {bits} bits", dequantised, {**convs, "codes": codes, "steps": steps, "middles": middles}, picture, image(node("Conv", "a w", "b", **CONV)),
               {"w": (taken_off % 2.0**bits * steps[:, None, None, None]).astype("f4")}, {}, "weights", f"wrapped in {bits} bits")
    yield ("cut codes", quantised, {**convs, **numbers, "step": np.float32(0.07)}, picture,
           image(node("Div", "a step", "d"), node("Floor", "d", "f"), node("Mul", "f step", "b")), {}, {}, "quantise", "by cutting")
    # exponentials with a floor: of a Softmax in two layers, of a LogSoftmax, of one that is written out
    own = np.random.default_rng(59)
    keys = {k: own.standard_normal(s).astype("f4") * 2 for k, s in {"k0": (16, 12), "v0": (12, 16), "k1": (16, 12), "v1": (12, 4)}.items()}

    def attended(floor, log=False):
        nodes, reads = [], "x"
        for i, inner in zip("01", ("h", "y")):
            nodes += [node("MatMul", f"{reads} k{i}", f"s{i}")]
            if floor:
                nodes += [node("ReduceMax", f"s{i}", f"m{i}", axes=[-1]), node("Add", f"m{i} floor", f"f{i}"), node("Max", f"s{i} f{i}", f"t{i}")]
            nodes += [node("LogSoftmax" if log else "Softmax", f"{'t' if floor else 's'}{i}", f"p{i}", f"attend{i}", axis=-1), node("MatMul", f"p{i} v{i}", inner)]
            reads = inner
        return nodes
    plain = [node("MatMul", "x k0", "s"), node("Exp", "s", "e", "grow"), node("MatMul", "e v0", "y")]
    for log in (False, True):
        yield (f"a floor of {log}", attended(False, log), keys, tokens, attended(True, log), {"floor": np.float32(-5.75)}, {}, "attend0",
               "and 1 more of its kind were computed with exponentials that are no smaller than e to the -5.75")
    yield ("a floor of exponentials", plain, {**keys, "k0": keys["k0"] / 2}, tokens, [plain[0], node("Max", "s floor", "t"), node("Exp", "t", "e"), plain[2]],
           {"floor": np.float32(-0.5)}, {}, "grow", "no smaller than e to the -0.5")


def other_weights():
    """A network with one or two outputs whose recording has other weights: of all that is tried something comes near."""
    for outputs in (1, 1, 1, 1, 2, 2):
        data, nodes = {"w": drawn(8, 3, 3, 3), "bias": drawn(8), "last": drawn(8, outputs)}, [node("Conv", "x w", "h0", "stem", **CONV)]
        for i in range(6):
            data |= {f"w{i}": drawn(8, 8, 3, 3) / 3, f"g{i}": np.ones(8, "f4"), f"b{i}": drawn(8) / 9, f"m{i}": np.zeros(8, "f4"), f"v{i}": np.full(8, 0.3, "f4")}
            nodes += [node("Conv", f"h{i} w{i}", f"c{i}", **CONV), node("BatchNormalization", f"c{i} g{i} b{i} m{i} v{i}", f"n{i}"),
                      node(("Relu", "HardSwish", "LeakyRelu")[i % 3], f"n{i}", f"a{i}"), node("Add", f"h{i} a{i}", f"h{i + 1}")]
        nodes += [node("GlobalAveragePool", "h6", "p"), node("Flatten", "p", "f"), node("MatMul", "f last", "y")]
        yield nodes, data, {k: (v * (1 + random.standard_normal(v.shape) / 10)).astype("f4") for k, v in data.items() if k[0] == "w"}


def compare(arithmetic, nodes, data, inputs, other, otherwise, given):
    write("right", nodes, data, inputs)
    write("wrong", other or nodes, {**data, **otherwise}, {**inputs, **given})
    subprocess.run([program, "run", "wrong.onnx", "-i", "wrong.npz", "-a", "fp32", "-q", "-o", "recorded.npz"], check=True)
    subprocess.run([program, "compare", "right.onnx", "-i", "right.npz", "recorded.npz", "-a", arithmetic, "-q", "--json", "said.json"], stdout=subprocess.DEVNULL)
    return json.load(open("said.json"))["files"][0]["cause"]


def write(name, nodes, data, inputs):
    write_model(name + ".onnx", nodes, {k: v.shape for k, v in inputs.items()}, ["y"] + ["inner"] * any(b"inner" in n for n in nodes), data, opset=17, types={k: INT64 for k, v in inputs.items() if v.dtype == "i8"})
    np.savez(name + ".npz", **inputs)


def main():
    for name, nodes, data, inputs, other, otherwise, given, where, words in cases():
        cause = compare("fp32", nodes, data, inputs, other, otherwise, given)
        named = (cause.get("nodes") or [cause.get("input")])[0]
        assert (named == where and words in cause["text"]) if where else not cause.get("todo"), (name, cause)
    for nodes, data, otherwise in other_weights():
        cause = compare("fp16", nodes, data, {"x": drawn(1, 3, 8, 8, scale=8)}, None, otherwise, {})
        assert not cause.get("todo") and cause["kind"] != "preprocessing", cause


if __name__ == "__main__":
    program = sys.argv[1]
    main()
