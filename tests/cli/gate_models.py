#!/usr/bin/env python3
"""The models and inputs of check_gates.sh, into the folder that is given: small graphs whose outputs can be judged, and the same
where there is nothing to judge. Python's standard library alone."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import node, write_model  # noqa: E402
from plain_npz import npz  # noqa: E402

BOOL = 9
nan, inf = float("nan"), float("inf")
os.chdir(sys.argv[1])
x = {"x": ["b", 4]}
square = node("Mul", "x x", "y", "square")

# y = x^2: what decides is the input
write_model("square.onnx", [square], x, ["y"])
npz("good.npz", x=((2, 4), (1, 2, 3, 4, -1, .5, .25, 7)))
npz("nan.npz", x=((2, 4), (1, 2, nan, 4, -1, .5, .25, 7)))
npz("nan_only.npz", x=((1, 4), (nan,) * 4))
npz("inf.npz", x=((2, 4), (1, 2, inf, 4, -1, .5, .25, 7)))
npz("empty.npz", x=((0, 4), ()))
npz("big.npz", x=((2, 4), (1, 2, 300, 4, -1, .5, .25, 7)))  # 90000 is infinite in FP16
# 0 / 0, and x / 0, in every arithmetic
zero = node("Sub", "x x", "z")
write_model("undefined.onnx", [zero, node("Div", "z z", "y", "quotient")], x, ["y"])
write_model("infinite.onnx", [zero, node("Div", "x z", "y", "quotient")], x, ["y"])
write_model("ratio.onnx", [node("Div", "x x", "y", "quotient")], x, ["y"])
npz("zero.npz", x=((2, 4), (0,) * 8))
npz("same.npz", x=((2, 4), (1,) * 8))
npz("ratio.npz", x=((1, 4), (1, 0, 2, 3)))
for name, y in {"same": (1, nan, 1, 1), "more": (1, nan, nan, 1), "less": (1, 1, 1, 1), "other": (1, inf, 1, 1)}.items():
    npz("ratio_%s.npz" % name, y=((1, 4), y))
npz("positive.npz", x=((2, 4), (1, 2, 3, 4, 1, .5, .25, 7)))
write_model("idle.onnx", [zero, node("Mul", "x z", "y", "masked")], x, ["y"])
# one output of two without elements
write_model("part.onnx", [square, node("Relu", "v", "e", "rest")], {**x, "v": ["n"]}, ["y", "e"])
npz("part.npz", x=((2, 4), (1, 2, 3, 4, -1, .5, .25, 7)), v=((3,), (1, 2, 3)))
npz("part_empty.npz", x=((2, 4), (1, 2, 3, 4, -1, .5, .25, 7)), v=((0,), ()))
# no output at all
write_model("mute.onnx", [square], x, [])
# outputs that no node computes
write_model("constant.onnx", [node("Constant", "", "y", "constant", value_float=3.3)], {}, ["y"])
write_model("given.onnx", [], x, ["x"])
write_model("beside.onnx", [square, node("Constant", "", "c", "constant", value_float=1e10)], x, ["y", "c", "x"])
write_model("handed.onnx", [node("Constant", "", "c", "constant", value_float=1e10), node("Identity", "c", "y", "identity")], {}, ["y"])
write_model("bare.onnx", [node("Constant", "", "y", "constant", value_float=3.3)], {}, [])
# g is the decision itself, h the same as numbers: in FP16 1.0001 is 1, and not larger than 1
write_model("decided.onnx", [square, node("Greater", "x o", "g", "larger")], {**x, "o": ["b", 4]}, ["y", "g"], types={"g": BOOL})
write_model("cast.onnx", [node("Greater", "x o", "g", "larger"), node("Cast", "g", "h", "number", to=1)], {**x, "o": ["b", 4]}, ["h"])
# inputs and constants beyond FP16 that no float result shows; and an infinity behind a decision that FP16 takes otherwise
write_model("above.onnx", [node("Constant", "", "k", "limit", value_float=90000.), node("Greater", "x k", "g", "above")], x, ["g"], types={"g": BOOL})
write_model("below.onnx", [node("Constant", "", "k", "limit", value_float=90000.), node("Less", "k x", "g", "below")], x, ["g"], types={"g": BOOL})
npz("above.npz", x=((1, 4), (1e5, 2e5, 3e5, 1)))
npz("within.npz", x=((1, 4), (1e4, 2e4, 3e4, 1)))
write_model("behind.onnx", [node("Greater", "x o", "g", "larger"), node("Mul", "v v", "w", "square"), node("Where", "g x w", "y", "choice")],
            {**x, "o": ["b", 4], "v": ["b", 4]}, ["y"])
npz("behind.npz", x=((1, 4), (1.0001, 2, 3, 4)), o=((1, 4), (1, 1, 1, 1)), v=((1, 4), (300, 1, 1, 1)))
write_model("vast.onnx", [node("Constant", "", "size", "size", value_ints=[2**41]), node("ConstantOfShape", "size", "zeros", "zeros"),
                          node("ReduceMax", "zeros", "z", "largest", keepdims=0), node("Add", "x z", "y", "sum")], x, ["y"])
# a Slice of nothing
write_model("nothing.onnx", [node("Constant", "", "zero", "zero", value_ints=[0]), node("Slice", "x zero zero", "z", "slice"), node("Mul", "z z", "y", "square")],
            x, {"y": None})
near, one = (1.0001, 1.0001, 2, .5), (1, 1, 1, 1)
npz("near.npz", x=((1, 4), near), o=((1, 4), one))
npz("far.npz", x=((1, 4), (3, 4, 2, .5)), o=((1, 4), one))
# exp(x) of 800 is beyond FP64, and its logarithm is not
write_model("softplus.onnx", [node("Exp", "x", "e", "exp"), node("Log", "e", "y", "log")], x, ["y"])
npz("x800.npz", x=((1, 4), (800, 1, 2, 3)))
npz("x5.npz", x=((1, 4), (5, 1, 2, 3)))
# what another framework may have recorded of big.npz, of which FP16 makes one +Inf
y = [1, 4, inf, 16, 1, .25, .0625, 49]
npz("part_wrong.npz", y=((2, 4), (9,) * 8), e=((0,), ()))
npz("as_fp16.npz", y=((2, 4), y))
npz("minus.npz", y=((2, 4), [-inf if v == inf else v for v in y]))
npz("not_a_number.npz", y=((2, 4), [nan if v == inf else v for v in y]))
npz("elsewhere.npz", y=((2, 4), [inf if i == 3 else v for i, v in enumerate(y)]))
npz("nothing.npz", y=((2, 4), [nan] * 8))
# products for scales: y = x x', what is 0 / 0 of it, what is an integer of it, what has a shape by it, and one that no output needs
gram = [node("Transpose", "x", "t", "turn"), node("MatMul", "x t", "y", "gram")]
write_model("gram.onnx", gram, x, ["y"])
write_model("gram_undefined.onnx", [*gram, node("Sub", "y y", "z"), node("Div", "z z", "q", "quotient")], x, ["q"])
write_model("gram_part.onnx", [*gram, node("Sub", "y y", "z"), node("Div", "z z", "q", "quotient")], x, ["y", "q"])
write_model("gram_integer.onnx", [*gram, node("ArgMax", "y", "i", "most", axis=1)], x, ["i"], types={"i": 7})
write_model("gram_quoted.onnx", [node("Transpose", "x", "t"), node("MatMul", "x t", "y", "it's")], x, ["y"])
write_model("gram_given.onnx", [*gram, node("Constant", "", "c", "constant", value_float=3.3)], x, ["c"])
write_model("gram_shape.onnx", [*gram, node("Floor", "y", "f"), node("NonZero", "f", "n"), node("Cast", "n", "v", to=1)], x, ["v"])
npz("fractions.npz", x=((4, 4), (.99, .11, .07, .03, .9, .44, -.1, .02, .77, -.6, .33, .1, .05, .97, .6, .4)))
# planted causes, each beside its mended twin (check_doctor.sh): the root of a mean square that is written out, whose square leaves FP16 from
# 256 on; an epsilon that is zero in FP16; what is left of a difference of large numbers
wide = {"x": ["b", 8], "w": [8, 8]}
weights = ((8, 8), tuple(((7 * i + 3 * j) % 11 - 5) / 8 for i in range(8) for j in range(8)))
up = node("MatMul", "x w", "h", "up")
div = node("Div", "h r", "y", "norm/div")
write_model("rms.onnx", [up, node("Mul", "h h", "s", "norm/square"), node("ReduceMean", "s", "m", "norm/mean", axes=[-1]),
                         node("Sqrt", "m", "r", "norm/root"), div], wide, ["y"], opset=13)
write_model("rms_mended.onnx", [up, node("Abs", "h", "s", "norm/abs"), node("ReduceMean", "s", "r", "norm/mean", axes=[-1]), div], wide, ["y"], opset=13)
npz("wide.npz", x=((2, 8), tuple(200 + 40 * i for i in range(8)) + tuple(90 - 7 * i for i in range(8))), w=weights)
for name, epsilon in ("epsilon", 1e-9), ("epsilon_mended", 1e-3):
    write_model(name + ".onnx", [node("Relu", "x", "h", "front"), node("Constant", "", "e", "small", value_float=epsilon),
                                 node("Add", "h e", "d", "guard"), node("Div", "h d", "y", "quotient")], x, ["y"])
    # the dividend is 0 exactly, or has become 0, too; nodes behind the sum hand its zeros on; a divisor and what a logarithm is taken of
    small = node("Constant", "", "e", "small", value_float=epsilon)
    front = [node("Relu", "x", "h", "front"), node("Mul", "h h", "s", "square"), small, node("Add", "s e", "d", "guard")]
    write_model("root_" + name + ".onnx", [*front, node("Transpose", "d", "t", "turn", perm=[0, 1]), node("Sqrt", "t", "r", "root"), node("Div", "h r", "y", "quotient")], x, ["y"])
    write_model("log_" + name + ".onnx", [*front, node("Log", "d", "y", "log")], x, ["y"])
    write_model("stored_" + name + ".onnx", [node("Relu", "x", "h", "front"), small, node("Div", "h e", "y", "quotient")], x, ["y"])
npz("zeros.npz", x=((2, 4), (0, 0, 1, 2, -3, 4, 5, 6)))
npz("quiet.npz", x=((2, 4), (0, 0, 1e-5, 2e-5, -3, 3e-5, 4e-5, 5e-5)))
for name, offset in ("cancels", 3000.0), ("cancels_mended", .5):
    write_model(name + ".onnx", [node("Constant", "", "o", "offset", value_float=offset), node("Add", "x o", "far", "shift"),
                                 node("Sub", "far o", "near", "back"), node("MatMul", "near w", "y", "head")], wide, ["y"])
npz("fine.npz", x=((2, 8), tuple(.37 * i - 1.13 for i in range(16))), w=weights)
# Outputs that are judged by what is left of them in FP16 beside something that is no number, nothing or large (check_judged.sh): x coarsely, and
# the last class masked by -inf; a vector that is 0; integers beyond 2^53; NaN in the reference
near = [node("Constant", "", "big", "big", value_float=2048.0), node("Add", "x big", "far", "shift")]
write_model("masked.onnx", [*near, node("Sub", "far big", "near", "back"), node("Add", "near m", "logits", "head")], {"x": [1, 6], "m": [6]}, ["logits"])
write_model("born_masked.onnx", [node("Log", "m", "mask", "mask"), node("Add", "x mask", "logits", "head")], {"x": [1, 6], "m": [6]}, ["logits"])
for name, mask in ("masked", (0, 0, 0, 0, 0, -inf)), ("born_masked", (1, 1, 1, 1, 1, 0)):
    npz(name + ".npz", x=((1, 6), (20, 12.6, -30.3, 35.55, 36.45, 0)), m=((6,), mask))
# an input in units that FP16 does not hold, which one kernel reads
write_model("units.onnx", [node("Constant", "", "one", "one", value_float=1.0), node("Relu", "x", "r", "floor"), node("Add", "r one", "a", "shift"), node("Log", "a", "y", "log")],
            x, ["y"])
npz("units.npz", x=((1, 4), (1, 2e5, -3, 4e6)))
# a class for each of 8 points: 3 along the second axis, whatever the output is called
write_model("points.onnx", [node("LogSoftmax", "x", "seg_logp", "choose", axis=1)], {"x": [1, 3, 8]}, ["seg_logp"])
npz("points.npz", x=((1, 3, 8), tuple((5 * i) % 7 - 3 for i in range(24))))
write_model("vanished.onnx", [node("Constant", "", "one", "one", value_float=1.0), node("Add", "x one", "a", "up"), node("Sub", "a x", "b", "back"),
                              node("Sub", "b one", "embedding", "rest"), node("Relu", "x", "embedding_b", "front")], {"x": [1, 16]}, ["embedding", "embedding_b"])
npz("vanished.npz", x=((1, 16), tuple(1000.3 * i for i in range(16))))
write_model("large.onnx", [node("Constant", "", "c", "bound", value_float=1.0), node("Constant", "", "k", "huge", value_int=1 << 60),
                           node("Greater", "x c", "g", "above"), node("Cast", "g", "i", "cast", to=7), node("Add", "i k", "y", "add")], x, {"y": None},
            types={"y": 7}, opset=13)
npz("large.npz", x=((1, 4), (1 + 2**-12,) * 4))
for name, shape in ("mask", [1, 1, 2, 4]), ("mask_2", [1, 2, 2, 2]), ("logits", [2, 4]):
    write_model("holes_%s.onnx" % name, [node("Sqrt", "x", name, "root")], {"x": shape}, [name])
    npz("holes_%s.npz" % name, x=(shape, (1, nan, 2, 3, 4, 5, 6, 7)))
    npz("born_%s.npz" % name, x=(shape, (1, -1, 2, 3, 4, 5, 6, 7)))
# a plan at 40 dB keeps nothing, and every token changes
write_model("flat.onnx", [node("Softmax", "x", "probs", "softmax", axis=-1)], {"x": [1, 4, 256]}, ["probs"], opset=13)
npz("flat.npz", x=((1, 4, 256), tuple(i * i % 251 / 12000 for i in range(1024))))
# boxes in one sample, and distances to anchors in the other
write_model("boxes.onnx", [*near, node("Sub", "far big", "boxes", "back")], {"x": [2, 4]}, ["boxes"])
npz("corners.npz", x=((2, 4), (100.7, 100.2, 101.5, 101.8, 5000, 5000, 5000.4, 5000.6)))
npz("distances.npz", x=((2, 4), (-100, -200, -300, -400, -1000, -20, -30, -400)))
