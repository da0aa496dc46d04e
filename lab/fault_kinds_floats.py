"""Kinds of faults that FP32 and TF32 have as well as FP16: plant_faults.py plants each for several arithmetics, as NAME_ARITHMETIC.

What the fault does in storage follows from e.unit, the unit roundoff of what rounds: of FP16 and TF32 2^-11, of FP32 2^-24; in TF32 factors of products round, all else is FP32.
The twin computes the same numbers in the stable form.
"""
import numpy as np
from fault_kinds import KINDS
from onnx import TensorProto, helper, numpy_helper

FLOATS = "doctor {model} -i inputs.npz -a %s --task signal"
NAMES = set()  # of kinds
UNITS = {"fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11}


def floats(reason, *arithmetics, late=False):
    def keep(function):
        for arithmetic in arithmetics:

            def planted(e, arithmetic=arithmetic):
                e.arithmetic, e.unit = arithmetic, UNITS[arithmetic]
                return function(e)

            KINDS[f"{function.__name__}_{arithmetic}"] = (planted, reason, late, FLOATS % arithmetic)
            NAMES.add(f"{function.__name__}_{arithmetic}")
        return function

    return keep


def normed(e, scale=1.0):
    return e.op("Mul", e.at, scale / e.rms)


def mean_of(e, read, right):
    """In TF32 only products round: there a mean is a product with ones, as a graph for such a unit writes it."""
    if not right or e.arithmetic != "tf32":
        return e.mean(read, right=right)
    return e.op("Mul", e.op("MatMul", read, np.ones((e.n, 1)), right=True), 1 / e.n, right=True)


@floats("cancellation", "fp32", "tf32", "fp16")
def raw_variance(e):
    """E[x^2] - E[x]^2 of rows whose mean is far above their spread."""
    e.need(e.n >= 8)
    spread = np.std(e.x / e.rms, axis=-1)
    e.need(spread.min() > 0.05)
    x = e.op("Add", normed(e), 0.9 * float(np.mean(spread)) * e.unit**-0.5)
    d = e.op("Sub", x, e.mean(x, right=e.bad))
    if e.bad:
        m = mean_of(e, x, True)
        v = e.op("Sub", mean_of(e, e.op("Mul", x, x, right=True), True), e.op("Mul", m, m, right=True), right=True)
        v = e.op("Max", v, 1e-3)
    else:
        v = e.mean(e.op("Mul", d, d))
    return e.op("Mul", e.op("Div", d, e.op("Sqrt", e.op("Add", v, 1e-2))), e.rms)


@floats("cancellation", "fp32", "tf32", "fp16")
def offset_carried(e):
    """A large offset is added, the sum is worked with (mixed by a matrix of signs, or scaled), and the offset is taken off at the end."""
    e.need(4 <= e.n <= 512)
    high = float(np.floor(0.12 / e.unit))
    signs = np.random.default_rng(e.n).choice([-1.0, 1.0], (e.n, e.n)) / 2.0 ** np.ceil(np.log2(e.n) / 2)
    x = normed(e)
    if e.bad:
        x = e.op("Add", x, high, right=True)
    mixed = e.op("MatMul", x, signs, right=e.bad)
    if e.bad:
        mixed = e.op("Sub", mixed, high * signs.sum(axis=0), right=True)
    return e.op("Add", e.at, e.op("Mul", mixed, 4 * e.rms))


@floats("rounding", "fp32", "tf32", "fp16")
def far_coordinates(e):
    """Places in a large picture or a long text: what counts is what is behind the point, or an angle of many turns."""
    e.need(4 <= e.n <= 900)
    far = float(np.floor(0.25 / e.unit))
    if e.arithmetic == "tf32":  # a product of place and frequency, as rotary embeddings have it
        place = e.op("Add", e.op("Mul", e.op("ReduceMean", e.at, axes=[-1], keepdims=1), 0.2 / e.rms), far if e.bad else 0.0, right=e.bad)
        angle = e.op("MatMul", place, 2.0 ** -(np.arange(e.n) % 6).reshape(1, -1), right=e.bad)
        turns = e.op("Mul", angle, 2 * np.pi, right=e.bad)
        e.need(far % 32 == 0)  # whole turns at each frequency, which the twin leaves out
        return e.op("Mul", e.op("Add", e.op("Sin", turns, right=e.bad), 1.5), e.at)
    c = normed(e, 0.3)
    if e.bad:
        c = e.op("Add", c, far + np.arange(e.n), right=True)
    if sum(e.at.encode()) % 2:
        angle = e.op("Mul", c, 2 * np.pi, right=e.bad)
        return e.op("Mul", e.at, e.op("Add", e.op("Sin", angle, right=e.bad), 0.25))
    weight = e.op("Sub", c, e.op("Floor", c), right=e.bad)
    return e.op("Mul", e.at, e.op("Add", weight, 0.25))


@floats("sum", "fp32", "fp16")
def running_sum(e):
    """Sums of windows as differences of one running sum over many rows (an integral image): the sum is far above the windows."""
    e.need(64 <= e.x.size <= 4096 and np.abs(e.x).max() < 8 * e.rms)
    size = e.x.size
    rows, each = (120000, 30.0) if e.arithmetic == "fp32" else (3000, 3.0)
    times = max(2, -(-rows // size))
    flat = e.op("Reshape", normed(e), e.const([1, size], "i8"))
    flat = e.op("Reshape", e.op("Add", e.op("Expand", flat, e.const([times, size], "i8")), each), e.const([-1], "i8"))
    if e.bad:
        total = e.op("CumSum", flat, e.const(0, "i8"), right=True)
        last = e.op("Slice", total, *[e.const([value], "i8") for value in (size * (times - 1), size * times)])
        before = e.op("Slice", total, *[e.const([value], "i8") for value in (size * (times - 1) - 2, size * times - 2)])
        window = e.op("Sub", last, before, right=True)
    else:
        parts = [e.op("Slice", flat, *[e.const([value], "i8") for value in (size * (times - 1) - back, size * times - back)]) for back in (0, 1)]
        window = e.op("Add", *parts)
    window = e.op("Reshape", e.op("Sub", window, 2 * each), e.const(e.x.shape, "i8"))
    return e.op("Mul", window, 0.5 * e.rms)


def scan(e, carried, rows, body, right):
    """One Scan over axis 0 of `rows` with a state; body(state, row) lists nodes that give "after" and "row_out"."""
    nodes, constants, shape = body
    graph = helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info("before", TensorProto.FLOAT, shape), helper.make_tensor_value_info("row", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("after", TensorProto.FLOAT, shape), helper.make_tensor_value_info("row_out", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(array, "f4"), name) for name, array in constants.items()],
    )
    name = f"Scan_{e.at}_{sum(node.op_type == 'Scan' for node in e.added)}"
    e.added.append(helper.make_node("Scan", [carried, rows], [name + "_last", name + "_out"], name=name, body=graph, num_scan_inputs=1))
    if right:
        e.right += [name, *(f"{name}/{node.name}" for node in nodes)]  # as the program calls what is in a body
    return name + "_out"


@floats("state", "fp32", "tf32", "fp16")
def unstable_state(e):
    """A filter is undone in the direction in which errors grow with every step; its twin goes the other way. In TF32 the state passes through a product."""
    steps = {"fp32": 40, "tf32": 28, "fp16": 20}[e.arithmetic]
    e.need(e.x.size >= 4 * steps and e.x.ndim >= 2)
    width = min(e.x.size // steps, 16)
    gain = 1.6
    turn = np.eye(width)
    if e.arithmetic == "tf32":
        turn = np.linalg.qr(np.random.default_rng(width).standard_normal((width, width)))[0].astype("f4").astype("f8")
    y = e.op("Reshape", normed(e), e.const([-1], "i8"))
    y = e.op("Reshape", e.op("Slice", y, e.const([0], "i8"), e.const([steps * width], "i8")), e.const([steps, width], "i8"))
    start = e.op("Gather", y, e.const(0, "i8"), axis=0)
    end = e.op("Gather", y, e.const(steps - 1, "i8"), axis=0)
    late = e.op("Slice", y, e.const([1], "i8"), e.const([steps], "i8"))
    early = e.op("Slice", y, e.const([0], "i8"), e.const([steps - 1], "i8"))
    apply, back = gain * turn, turn.T / gain
    product = e.arithmetic == "tf32"
    x = late  # x[t] = y[t] - A y[t - 1], in two parts: as one they would round as the state does, and cancel that exactly
    for part in (0.7, 0.3):
        x = e.op("Sub", x, e.op("MatMul" if product else "Mul", early, part * apply if product else part * gain, right=e.bad), right=e.bad)
    if e.bad:
        nodes = [
            helper.make_node("MatMul" if product else "Mul", ["before", "a"], ["carried"], name="state/carry"),
            helper.make_node("Add", ["carried", "row"], ["after"], name="state/Add"),
            helper.make_node("Identity", ["after"], ["row_out"], name="state/out"),
        ]
        made = scan(e, start, x, (nodes, {"a": apply if product else gain}, [width]), True)
        made = e.op("Slice", made, e.const([0], "i8"), e.const([steps - 1], "i8"))
    else:
        nodes = [
            helper.make_node("Sub", ["before", "row"], ["left"], name="state/Sub"),
            helper.make_node("MatMul" if product else "Mul", ["left", "b"], ["after"], name="state/back"),
            helper.make_node("Identity", ["before"], ["row_out"], name="state/out"),
        ]
        order = e.op("Gather", x, e.const(np.arange(steps - 1)[::-1], "i8"), axis=0)
        made = e.op("Gather", scan(e, end, order, (nodes, {"b": back if product else 1 / gain}, [width]), False), e.const(np.arange(steps - 1)[::-1], "i8"), axis=0)
    last = e.op("ReduceMean", made, axes=[1], keepdims=1)
    return e.op("Add", e.at, e.op("Mul", e.op("Slice", last, e.const([steps - 2], "i8"), e.const([steps - 1], "i8")), e.rms * 2))


@floats("cancellation", "fp32", "tf32", "fp16", late=True)
def expanded_distance(e):
    """|a - b|^2 as |a|^2 - 2 ab + |b|^2 of points far from 0 and near to each other."""
    e.need(4 <= e.n <= 512)
    far = 0.6 * e.unit**-0.5 * np.random.default_rng(e.n).choice([-1.0, 1.0], e.n)
    a = e.op("Add", normed(e), far)
    if e.bad:
        squares = e.total(e.op("Mul", a, a, right=True), right=True)
        cross = e.op("Mul", e.op("MatMul", a, far.reshape(-1, 1), right=True), 2.0, right=True)
        distance = e.op("Add", e.op("Sub", squares, cross, right=True), float(np.sum(far * far)), right=True)
    else:
        d = e.op("Sub", a, far)
        distance = e.total(e.op("Mul", d, d))
    return e.op("Mul", e.op("Mul", e.at, distance), 1 / e.n)


@floats("cancellation", "fp32", "fp16", late=True)
def one_plus_tiny(e):
    """log(1 + x) of tiny x, where the sum keeps little of x."""
    e.need(e.x.size >= 64)
    tiny = e.unit * 4
    x = e.op("Mul", e.op("Add", e.op("Tanh", normed(e)), 2.0), tiny)
    if e.bad:
        y = e.op("Log", e.op("Add", x, 1.0, right=True), right=True)
    else:
        y = e.op("Sub", x, e.op("Mul", e.op("Mul", x, x), 0.5))
    return e.op("Mul", y, e.rms / tiny)


@floats("cancellation", "fp32", "fp16", late=True)
def finite_difference(e):
    """A slope as the difference of a function at two points that are close together."""
    e.need(e.x.size >= 64)
    step = 2.0 ** np.round(np.log2(e.unit * 4))
    x = e.op("Tanh", normed(e))
    if e.bad:
        up = e.op("Sin", e.op("Add", x, step, right=True), right=True)
        slope = e.op("Mul", e.op("Sub", up, e.op("Sin", x, right=True), right=True), 1 / step)
    else:
        slope = e.op("Cos", e.op("Add", x, step / 2))
    return e.op("Mul", slope, e.rms)


@floats("cancellation", "fp32", "fp16", late=True)
def difference_of_roots(e):
    """sqrt(b^2 + c) - b of a large b."""
    e.need(e.x.size >= 64)
    b = e.unit**-0.5
    c = e.op("Add", e.op("Tanh", normed(e)), 1.5)
    if e.bad:
        root = e.op("Sqrt", e.op("Add", c, b * b, right=True), right=True)
        y = e.op("Sub", root, b, right=True)
    else:
        y = e.op("Div", c, e.op("Add", e.op("Sqrt", e.op("Add", c, b * b)), b))
    return e.op("Mul", y, 2 * b * e.rms)


@floats("state", "fp32", "fp16", late=True)
def forward_recurrence(e):
    """I[n] = 1 / n - 5 I[n - 1], in the direction in which errors grow five times a step; the twin goes back. Written out, not as a loop."""
    e.need(64 <= e.x.size)
    steps = {"fp32": 14, "fp16": 7}[e.arithmetic]
    ratio = 5.0
    first = float(np.log((ratio + 1) / ratio))
    value = e.op("Add", e.op("Mul", e.op("Tanh", normed(e)), 0.0), first)
    forcing = [1 / k for k in range(1, steps + 1)]
    if e.bad:
        for force in forcing:
            value = e.op("Sub", force, e.op("Mul", value, ratio, right=True), right=True)
    else:
        last = first
        for force in forcing + [1 / k for k in range(steps + 1, steps + 25)]:
            last = force - ratio * last
        start = 1 / (6 * (steps + 25))
        value = e.op("Add", e.op("Mul", value, 0.0), start)
        for k in range(steps + 24, steps, -1):
            value = e.op("Mul", e.op("Sub", 1 / k, value), 1 / ratio)
    return e.op("Mul", e.at, e.op("Mul", value, steps))
