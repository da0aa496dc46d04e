"""Kinds of faults as public threads of 2024 to 2026 tell them, each with one that does; plant_faults.py plants them with --public.

They were written down before anything was mended for them.
"""
import numpy as np
from fault_kinds import AUDIT, COMPARE, DOCTOR, codes_of, quantised, ranges
from fault_kinds import kind as late_or_not
from onnx import TensorProto, helper

NAMES = set()  # of kinds


def public(reason, thread, command=DOCTOR):
    assert "#" in thread

    def keep(function):
        NAMES.add(function.__name__)
        return late_or_not(reason, command=command)(function)

    return keep


@public("rounding", "openvinotoolkit/openvino#33214")
def positions_in_half(e):
    """Positions, which are integers, become floats beyond 4096 before an angle is made of them."""
    e.need(8 <= e.n <= 900)
    high = 5003
    seen = e.op("Cast", e.op("GreaterOrEqual", e.op("Mul", e.at, 0.0), 0.0), to=TensorProto.INT64)
    place = e.op("CumSum", seen, e.const(e.x.ndim - 1, "i8"))
    rates = 10000.0 ** (-(np.arange(e.n) % 8) / 8)
    if e.bad:
        far = e.op("Cast", e.op("Add", place, high, dtype="i8"), to=TensorProto.FLOAT, right=True)
        turn = e.op("Sin", e.op("Mul", far, rates, right=True))
    else:
        near = e.op("Mul", e.op("Cast", e.op("Mod", place, 64, dtype="i8"), to=TensorProto.FLOAT), rates)
        far = (high + (1 + np.arange(e.n)) // 64 * 64).astype("f8") * rates
        turn = e.op("Add", e.op("Mul", e.op("Sin", near), np.cos(far)), e.op("Mul", e.op("Cos", near), np.sin(far)))
    return e.op("Mul", e.at, e.op("Add", turn, 1.25))


@public("overflow", "NVIDIA/TensorRT#1954")
def norm_overflows(e):
    """The squares of a vector with one massive channel overflow before it is divided by its norm."""
    e.need(e.n >= 8)
    gain = np.ones(e.n)
    gain[int(np.abs(e.x).max(axis=tuple(range(e.x.ndim - 1))).argmax())] = 4
    x = e.op("Mul", e.at, gain * 700 / np.abs(e.x * gain).max())
    if e.bad:
        norm = e.op("Sqrt", e.total(e.op("Mul", x, x, right=True), right=True))
    else:
        small = e.op("Mul", x, 1 / 256)
        norm = e.op("Mul", e.op("Sqrt", e.total(e.op("Mul", small, small))), 256.0)
    return e.op("Mul", e.op("Div", x, e.op("Add", norm, 0.05)), e.rms * e.n**0.5)


@public("quantiser", "microsoft/onnxruntime#21000", AUDIT % "fp32")
def quantised_softmax(e):
    """Probabilities over long rows are quantised with steps of 1/255: most become 0."""
    e.need(e.n >= 24 and e.x.ndim >= 2)
    p = e.op("Softmax", e.op("Mul", e.at, 0.4 / e.rms), axis=-1)
    z = np.exp(e.x * 0.4 / e.rms)
    most = float((z / z.sum(axis=-1, keepdims=True)).max())
    e.need(most < 0.1)
    if e.bad is not None:
        p = quantised(e, p, 0.0, 4.0 if e.bad else most)
    return e.op("Mul", e.op("Mul", p, e.at), float(e.n))


@public("quantiser", "pytorch/executorch#21437", AUDIT % "fp32")
def silu_shared_scale(e):
    """A SiLU's output is quantised with its input's range, far wider below 0."""
    e.need(e.x.size >= 64 and e.x.min() < 0)
    x = e.op("Mul", e.op("Sub", e.op("Mul", e.at, 1 / np.abs(e.x).max()), 0.9), 12.0)
    y = e.op("Mul", x, e.op("Sigmoid", x))
    wide = 12 * (e.x / np.abs(e.x).max() - 0.9)
    out = wide / (1 + np.exp(-wide))
    if e.bad is not None:
        y = quantised(e, y, *((40 * wide.min(), wide.max()) if e.bad else (out.min(), out.max())))
    return e.op("Mul", y, e.rms)


@public("quantiser", "NVIDIA/TensorRT#1114", AUDIT % "fp32")
def clipped_range(e):
    """A sum of two branches is quantised with the range that one of them had when it was calibrated."""
    e.need(e.x.size >= 64)
    y = e.op("Add", e.at, e.op("Mul", e.at, 3.0))
    if e.bad is not None:
        low, high = ranges(e.x)
        y = quantised(e, y, low.min(), high.max()) if e.bad else quantised(e, y, 4 * low, 4 * high)
    return e.op("Mul", y, 0.25)


@public("decision", "ultralytics/ultralytics#19044")
def saturated_scores(e):
    """The best of scores behind a Sigmoid that is 1 for all of them in FP16."""
    e.need(e.n >= 8)
    z = e.op("Mul", e.at, 1 / e.rms)
    if e.bad:
        z = e.op("Sigmoid", e.op("Add", z, 12.0, right=True), right=True)
    made = f"TopK_{e.at}_0"
    e.added.append(helper.make_node("TopK", [z, e.const([1], "i8")], [made + "_best", made + "_place"], name=made, axis=-1))
    hot = e.op("OneHot", made + "_place", e.const(e.n, "i8"), e.const([0, 4 * e.rms]), axis=-1)
    return e.op("Add", e.at, e.op("ReduceSum", hot, e.const([-2], "i8"), keepdims=0))


@public("underflow", "k2-fsa/sherpa-onnx#2145")
def log_of_softmax(e):
    """The logarithm of a Softmax, whose small probabilities are 0 in FP16."""
    e.need(e.n >= 8)
    z = e.op("Mul", e.at, 14 / np.abs(e.x).max())
    if e.bad:
        y = e.op("Log", e.op("Softmax", z, axis=-1, right=True))
    else:
        y = e.op("LogSoftmax", z, axis=-1)
    return e.op("Mul", y, e.rms / 14)


@public("overflow", "huggingface/sentence-transformers#2889")
def sum_then_divide(e):
    """A mean over tokens as their sum, which overflows, over their count."""
    e.need(e.x.ndim >= 2 and e.n >= 24)
    x = e.op("Add", e.op("Mul", e.at, 300 / e.rms), 3000.0)
    mean = e.op("Mul", e.total(x, right=True), 1 / e.n) if e.bad else e.mean(x)
    e.need(3000 * e.n > 70000)
    return e.op("Mul", e.op("Mul", e.at, mean), 1 / 3000)


@public("cancellation", "state-spaces/mamba#641")
def segment_sum(e):
    """The decay between two steps as exp of the difference of two running sums, which have grown large."""
    e.need(64 <= e.n <= 900)
    decay = e.op("Add", e.op("Tanh", e.op("Mul", e.at, 1 / e.rms)), -8.0)
    if e.bad:
        total = e.op("CumSum", decay, e.const(e.x.ndim - 1, "i8"), right=True)
        axes = [e.const([-1], "i8")]
        after = e.op("Slice", total, e.const([1], "i8"), e.const([e.n], "i8"), *axes)
        before = e.op("Slice", total, e.const([0], "i8"), e.const([e.n - 1], "i8"), *axes)
        step = e.op("Sub", after, before, right=True)
    else:
        step = e.op("Slice", decay, e.const([1], "i8"), e.const([e.n], "i8"), e.const([-1], "i8"))
    first = e.op("Slice", decay, e.const([0], "i8"), e.const([1], "i8"), e.const([-1], "i8"))
    return e.op("Mul", e.op("Exp", e.op("Add", e.op("Concat", first, step, axis=-1), 8.0)), e.rms)


@public("overflow", "NVIDIA/TensorRT#4226")
def softplus_written(e):
    """log(1 + exp(x)) written out: exp of 12 and more overflows."""
    e.need(e.x.max() > e.rms)
    z = e.op("Mul", e.at, 14 / e.x.max())
    if e.bad:
        y = e.op("Log", e.op("Add", e.op("Exp", z, right=True), 1.0, right=True))
    else:
        y = e.op("Softplus", z)
    return e.op("Mul", y, e.rms / 14)


@public("overflow", "apple/coremltools#2359")
def tanh_written(e):
    """(e^x - e^-x) / (e^x + e^-x), both of which overflow."""
    e.need(e.x.max() > e.rms)
    z = e.op("Mul", e.at, 13 / np.abs(e.x).max())
    if e.bad:
        up, down = e.op("Exp", z, right=True), e.op("Exp", e.op("Neg", z), right=True)
        y = e.op("Div", e.op("Sub", up, down, right=True), e.op("Add", up, down, right=True))
    else:
        y = e.op("Tanh", z)
    return e.op("Mul", y, e.rms)


@public("overflow", "onnx/onnxmltools#688")
def large_constant(e):
    """A small feature is multiplied by a constant beyond FP16, as a folded normalisation has it: converters clip that."""
    small = e.op("Mul", e.at, 2e-3 / e.rms)
    return e.op("Mul", e.op("Mul", small, 4e5 if e.bad else 500.0, right=True), e.rms / (800 if e.bad else 1))


@public("constant", "microsoft/onnxruntime#23268", AUDIT % "fp32")
def weights_per_tensor(e):
    """Weights whose output channels differ a hundredfold are quantised with one scale."""
    node, place, array = e.weights()
    axis = 0 if node.op_type == "Conv" else array.ndim - 1
    count = array.shape[axis]
    e.need(count >= 4)
    gain = np.where(np.arange(count) % 2, 1.0, 400.0).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    e.need(axis == 0 or node.op_type == "MatMul")
    wide = array * gain
    codes, scale, _ = codes_of(wide, None if e.bad else axis)
    e.dequantise(node, place, codes, scale, wide if e.bad is None else None, **({} if e.bad else {"axis": axis}))
    y = node.output[0]
    back = (1 / gain).reshape([-1] + [1] * (array.ndim - 2)) if node.op_type == "Conv" else (1 / gain).ravel()
    held = next((t for t in e.graph.initializer if len(node.input) > 2 and t.name == node.input[2]), None)
    e.need(held is None)
    new = y + "_back"
    for other in e.graph.node:
        for i, read in enumerate(other.input):
            if read == y:
                other.input[i] = new
    e.need(all(value.name != y for value in e.graph.output))
    at = list(e.graph.node).index(node)
    e.graph.node.insert(at + 1, helper.make_node("Mul", [y, e.const(back)], [new], name=f"Back_{y}"))


@public("underflow", "adobe-research/convmelspec#3")
def log_power(e):
    """The logarithm of a power with a floor of 1e-10, which is 0 in FP16, in silent bins."""
    e.need(e.x.size >= 64)
    silent = (np.arange(e.n) % 4 != 0).astype("f8")
    x = e.op("Mul", e.op("Mul", e.at, 1 / e.rms), silent)
    power = e.op("Mul", x, x)
    y = e.op("Log", e.op("Add", power, 1e-10 if e.bad else 1e-3, right=True))
    return e.op("Mul", y, e.rms)


@public("cancellation", "huggingface/diffusers#9740")
def one_minus(e):
    """sqrt(1 - a) of a that is near 1."""
    e.need(e.x.size >= 64)
    small = e.op("Mul", e.op("Add", e.op("Tanh", e.op("Mul", e.at, 1 / e.rms)), 1.5), 5e-4)
    if e.bad:
        a = e.op("Sub", 1.0, small, right=True)
        small = e.op("Sub", 1.0, a, right=True)
    return e.op("Mul", e.op("Sqrt", small), e.rms * 30)


@public("overflow", "DepthAnything/Depth-Anything-V2#199")
def inverse_depth(e):
    """The reciprocal of small disparities."""
    e.need(e.x.size >= 64)
    d = e.op("Add", e.op("Abs", e.op("Mul", e.at, 1e-3 / e.rms)), 1.2e-5)
    if e.bad:
        y = e.op("Mul", e.op("Reciprocal", d, right=True), 1e-4)
    else:
        y = e.op("Reciprocal", e.op("Mul", d, 1e4))
    return e.op("Mul", y, e.rms)


@public("constant", "tenstorrent/tt-metal#42891", COMPARE)
def bias_scaled_too(e):
    """A bias is multiplied by the scale of the scores that it is added to."""
    e.need(8 <= e.n <= 512 and e.x.ndim >= 2)
    scale, bias = 0.3 / e.rms, 2 * np.random.default_rng(e.n).standard_normal(e.n)
    p = e.op("Softmax", e.op("Add", e.op("Mul", e.at, scale), bias * (scale if e.bad else 1), right=True), axis=-1)
    return e.op("Mul", e.at, e.op("Mul", p, float(e.n)))


@public("constant", "cloudrift-ai/emmy#412", COMPARE)
def default_scale(e):
    """Scores are divided by the root of their length, which nothing asks for."""
    e.need(8 <= e.n <= 512 and e.x.ndim >= 2)
    keys = np.random.default_rng(e.n).standard_normal((e.n, 16)) / e.n**0.5 * (e.n**-0.5 if e.bad else 1)
    p = e.op("Softmax", e.op("MatMul", e.op("Mul", e.at, 4 / e.rms), keys, right=True), axis=-1)
    return e.op("Add", e.at, e.op("MatMul", e.op("Mul", p, e.rms * 4), np.random.default_rng(1).standard_normal((16, e.n))))


@public("overflow", "openvinotoolkit/openvino#18038")
def box_areas(e):
    """Areas of boxes in pixels, which overlaps are divided by, are beyond FP16; a Transpose hands them on."""
    e.need(e.x.ndim >= 2 and 8 <= e.n and e.x.shape[-2] <= 64)
    side = e.op("Mul", e.op("Add", e.op("Sigmoid", e.op("Mul", e.at, 1 / e.rms)), 1.0), 240.0 if e.bad else 15.0)
    area = e.op("Mul", side, side, right=e.bad)
    swap = [*range(e.x.ndim - 2), e.x.ndim - 1, e.x.ndim - 2]
    mean = e.mean(e.op("Transpose", e.op("Transpose", area, perm=swap), perm=swap))
    return e.op("Mul", e.at, e.op("Div", area, e.op("Add", area, mean)))


@public("overflow", "NVIDIA/kvpress#250")
def fake_keys(e):
    """A direction is made 1e5 times as long before it is divided by its square."""
    e.need(e.n >= 8)
    z = e.op("Mul", e.at, 1 / e.rms)
    norm = e.op("Add", e.total(e.op("Mul", z, z)), 1.0)
    if e.bad:
        key = e.op("Mul", e.op("Div", e.op("Mul", z, 1e5, right=True), norm, right=True), 1e-5)
    else:
        key = e.op("Div", z, norm)
    return e.op("Mul", key, e.rms * e.n)


@public("cancellation", "HorizonRobotics/alf#1651")
def narrow_gaussian(e):
    """A value is a mean and a small step; the mean is taken off again, and the rest divided by a small deviation."""
    e.need(e.x.size >= 64)
    mean = e.op("Mul", e.op("Tanh", e.op("Mul", e.at, 1 / e.rms)), 9.0)
    step = e.op("Mul", e.op("Sin", e.op("Mul", e.at, 3 / e.rms)), 0.01)
    if e.bad:
        step = e.op("Sub", e.op("Add", mean, step, right=True), mean, right=True)
    z = e.op("Mul", step, 100.0)
    return e.op("Mul", e.op("Mul", z, z), e.rms)


@public("overflow", "huggingface/trl#7221")
def masked_entropy(e):
    """p log p of classes that a mask of -1e9 forbids: 0 times infinity."""
    e.need(e.n >= 8)
    z = e.op("Mul", e.at, 3 / e.rms)
    forbidden = e.const(np.arange(e.n) % 4 == 1, "?")
    z = e.op("Where", forbidden, -1e9 if e.bad else -1e4, z, right=e.bad)
    log = e.op("LogSoftmax", z, axis=-1, right=e.bad)
    return e.op("Mul", e.op("Mul", e.op("Exp", log), log, right=e.bad), e.at)


@public("overflow", "mit-han-lab/efficientvit#110")
def keys_by_values(e):
    """Linear attention: the sum over tokens of keys times values, which is divided by the sum of keys only behind the product with queries."""
    e.need(e.x.ndim >= 2 and e.x.shape[-2] >= 24 and 4 <= e.n <= 128)
    k = e.op("Mul", e.op("Relu", e.at), (60 if e.bad else 0.5) / e.rms)
    swap = [*range(e.x.ndim - 2), e.x.ndim - 1, e.x.ndim - 2]
    v = e.op("Mul", e.op("Add", e.op("Mul", e.at, 1 / e.rms), 3.0), 20.0 if e.bad else 0.2)
    sums = e.op("MatMul", e.op("Transpose", k, perm=swap), v, right=e.bad)
    whole = e.op("Add", e.op("MatMul", k, e.op("ReduceSum", e.op("Transpose", k, perm=swap), e.const([-1], "i8"), keepdims=1)), 0.01)
    e.need(np.abs(e.x).max() > 0)
    return e.op("Mul", e.op("Div", e.op("MatMul", k, sums, right=e.bad), whole), e.rms / (20 if e.bad else 0.2))
