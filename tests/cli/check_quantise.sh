#!/usr/bin/env bash
# quantise: integers for the factors of a network with a convolution, a depthwise one, a Gemm and a product of two values, against numpy and, where it is
# there, ONNX Runtime; ranges, shares, tolerances, lists for other quantisers, and what is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || python=python3
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: no models"; exit 77; }

cat >make.py <<'END'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model
random = np.random.default_rng(59)
draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
weights = {"w0": draw(8, 3, 3, 3) / 5, "b0": draw(8) / 4, "w1": draw(8, 1, 3, 3) / 2, "b1": draw(8) / 4, "w2": draw(10, 288) / 16, "b2": draw(10), "w3": draw(10, 6) / 3}
nodes = [node("Conv", "x w0 b0", "c0", "conv", pads=[1, 1, 1, 1]), node("Relu", "c0", "r0", "relu"), node("Conv", "r0 w1 b1", "c1", "depthwise", group=8),
         node("Relu", "c1", "r1", "relu1"), node("Flatten", "r1", "f", "flatten"), node("Gemm", "f w2 b2", "g", "gemm", transB=1), node("MatMul", "g w3", "y", "matmul")]
write_model("m.onnx", nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 6)}, weights, opset=13)
for i in range(8):
    np.savez(f"{'ab'[i > 5]}{i}.npz", x=draw(1, 3, 8, 8) * (1 + i / 8))
END
"$python" make.py "$source/examples" || exit 99
mkdir samples few others && mv a*.npz samples && mv b*.npz others && cp samples/a[3-5].npz few

# every product, as ONNX Runtime's CPU provider takes it
expect 0 "all products" "$program" quantise m.onnx -i few -q --for ort --validate others -o all --json all.json
[ -f all/quantised.onnx ] && [ -f all/plan.json ] && [ -f all/exclude.txt ] || fail "files are missing: $(ls all)"
fields all.json 'r["quantised_constants"] == 4 and r["quantised_values"] == 5 and r["declared_in"].startswith("ort-cpu") and all(l["bits"] == 8 for l in r["layers"])' "all products"
fields all.json 'all(v["metric"] == "sqnr_db" and 25 < v["value"] < 60 for v in r["samples"] + r["validated"]) and len(r["validated"]) == 2' "what they have"
fields all.json 'abs(sum(l["share"] for l in r["layers"]) - 1) < 1e-9 and [l["name"] for l in r["layers"]] == ["conv", "depthwise", "gemm", "matmul"]' "shares"
grep -q 'nodes_to_exclude=\[\]' all/exclude.txt || fail "something is left out of all"

# its plan is read again, ranges and all: what an audit says of it is what was foreseen
tells 0 "the plan, read again" 'abs(r["lanes"][0]["outputs"][0]["entire"]["sqnr_db"] - next(v["value"] for v in json.load(open("all.json"))["validated"] if v["name"].endswith("b6.npz"))) < 1e-6' audit m.onnx -i others/b6.npz --plan all/plan.json -q --no-attribute

# its ranges as those of an arithmetic, results' too: what is lost is taken apart, and each product has an error alone
echo 'import json; json.dump({"ranges": json.load(open("all/plan.json"))["ranges"]}, open("ranges.json", "w"))' | "$python" - || exit 99
expect 0 "ranges of results" "$program" audit m.onnx -i others/b6.npz -a fp32,factor=uint8,scales=ranges.json,fp32 -q --json alone.json
fields alone.json 'all((n["alone"] > 0) == (n["op"] in ("Conv", "Gemm", "MatMul")) for n in r["lanes"][0]["nodes"]) and abs(r["lanes"][0]["attribution"]["residual"]) < 0.1' "each alone"
fields alone.json 'all(n["alone"] is None for n in r["lanes"][1]["nodes"])' "no scales"

# the file has the numbers that ONNX states: elements, scales and zero points by numpy
"$program" run all/quantised.onnx -i others/b6.npz -a model -q -o file.npz || fail "quantised.onnx is not run"
cat >judge.py <<'END'
import json, sys
import numpy as np
ranges = {(r["node"], r["factor"]): r for r in json.load(open("all/plan.json"))["ranges"]}
weights = {}
exec(open("make.py").read().split("nodes =")[0].split("write_model\n", 1)[1])
def value(x, node):
    r = ranges[node, "input 0"]
    scale = np.float32(np.float32(r["largest"] - r["least"]) / np.float32(255))
    zero = -np.rint(np.float32(r["least"]) / scale)
    return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero).astype(np.float32), scale
def weight(w, axis):
    others = tuple(i for i in range(w.ndim) if i != axis)
    scale = (np.abs(w).max(axis=others, keepdims=True) / np.float32(127)).astype(np.float32)
    return np.clip(np.rint(w / scale), -127, 127), scale
def bias(b, scale):
    return np.rint(b / scale)
def conv(x, w, group, pad):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    h, m, cg = x.shape[2] - 2, w.shape[0], w.shape[1]
    y = np.zeros((1, m, h, h))
    for o in range(m):
        first = o // (m // group) * cg
        for i in range(h):
            for j in range(h):
                y[0, o, i, j] = (x[0, first:first + cg, i:i + 3, j:j + 3].astype(float) * w[o]).sum()
    return y
x = np.load("others/b6.npz")["x"]
def layer(x, node, w, b, axis, product, shape):
    q, s = value(x, node)
    c, t = weight(w, axis)
    scale = (s * t).astype(np.float32).reshape(shape)
    codes = product(q.astype(float), c)
    if b is not None:
        codes = codes + bias(b, scale.reshape(-1)).reshape(shape)
    return codes * scale
r0 = np.maximum(layer(x, "conv", weights["w0"], weights["b0"], 0, lambda q, c: conv(q, c, 1, 1), (1, 8, 1, 1)), 0)
r1 = np.maximum(layer(r0.astype(np.float32), "depthwise", weights["w1"], weights["b1"], 0, lambda q, c: conv(q, c, 8, 0), (1, 8, 1, 1)), 0)
g = layer(r1.reshape(1, -1).astype(np.float32), "gemm", weights["w2"], weights["b2"], 0, lambda q, c: q @ c.T, (1, 10))
y = layer(g.astype(np.float32), "matmul", weights["w3"], None, 1, lambda q, c: q @ c, (1, 6))
got = np.load(sys.argv[1])["y"]
# sums of FP32 differ by some 2^-22 of themselves, by which no code of these inputs moves
assert np.allclose(got, y, rtol=0, atol=2e-6 * np.abs(y).max()), (got, y)
END
"$python" judge.py file.npz || fail "quantised.onnx has other numbers than numpy"
# and so have the runs that chose it, the bias included
"$program" run m.onnx -i others/b6.npz --plan all/plan.json -q -o planned.npz || fail "plan.json is not run"
"$python" judge.py planned.npz || fail "the plan has other numbers than quantised.onnx"
if "$python" -c 'import onnxruntime, onnx' 2>/dev/null; then
    "$program" run all/quantised.onnx -i others/b6.npz -a ort-cpu -q -o file.npz || fail "quantised.onnx is not run as ort-cpu"
    "$python" - <<'END' || fail "ONNX Runtime has other numbers"
import numpy as np, onnx, onnxruntime
onnx.checker.check_model("all/quantised.onnx", full_check=True)
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
theirs = onnxruntime.InferenceSession("all/quantised.onnx", options).run(None, dict(np.load("others/b6.npz")))[0]
ours = np.load("file.npz")["y"]
assert np.abs(ours - theirs).max() <= 2e-6 * np.abs(theirs).max(), (ours, theirs)
END
fi

# of four samples and more weights are rounded by their sums where that helps one of four that chose nothing: scales stay, and few codes move far
expect 0 "weights by their sums" "$program" quantise m.onnx -i samples -q --for ort --validate others -o sums --json sums.json
fields sums.json 'len(r["remedies"]) == 1 and r["remedies"][0]["kept"] == (r["remedies"][0]["with_db"] > r["remedies"][0]["without_db"])' "weights by their sums"
fields sums.json 'abs(min(v["value"] for v in r["samples"]) + 20 * __import__("math").log10(r["declared_ratio"])) < 0.01' "weights by their sums: as foreseen"
fields all.json 'not r["remedies"]' "three samples"
if "$python" -c 'from onnx import load' 2>/dev/null && "$python" -c 'import json; exit(not json.load(open("sums.json"))["remedies"][0]["kept"])'; then
    "$python" - <<'END' || fail "weights are rounded otherwise"
import numpy as np, onnx
exec(open("make.py").read().split("nodes =")[0].split("write_model\n", 1)[1])
model = onnx.load("sums/quantised.onnx")
given = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
moved = 0
for node in model.graph.node:
    codes = given.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
    for name, axis in ("w0", 0), ("w1", 0), ("w2", 0), ("w3", 1):
        if codes is not None and codes.shape == weights[name].shape and codes.dtype != np.int32:
            w = np.moveaxis(weights[name], axis, 0).reshape(weights[name].shape[axis], -1)
            scale = np.abs(w).max(axis=1) / np.float32(127)
            assert np.allclose(given[node.input[1]], scale, rtol=2e-7), name
            codes = np.moveaxis(codes.astype(int) - 128, axis, 0).reshape(w.shape)
            off = np.abs(codes - np.rint(w / scale[:, None]))
            assert off.max() <= 16 and (off > 2).mean() < 0.1, (name, off.max())
            moved += (off > 0).sum()
assert moved > 0
END
fi

# a value that is 0 in every sample has a scale that is a guess
mkdir zeros && "$python" -c 'import numpy; numpy.savez("zeros/0.npz", x=numpy.zeros((1, 3, 8, 8), "f"))' || exit 99
tells 0 "zeros" '[(s["node"], s["largest"]) for s in r["stretched"]] == [("conv", 0)]' quantise m.onnx -i zeros -q --for ort --calibrator max

# of 40 samples 32 search, evenly, and all calibrate, one after another: the largest value is one's that does not search
mkdir many && "$python" - <<'END'
import numpy as np
random = np.random.default_rng(7)
for i in range(40):
    np.savez(f"many/{i:02}.npz", x=(random.standard_normal((1, 3, 8, 8)) * (9 if i == 4 else 1)).astype(np.float32))
END
expect 0 "many samples" "$program" quantise m.onnx -i many -q --for ort --calibrator max --json many.json
fields many.json 'len(r["samples"]) == 32 and not any("04.npz" in v["name"] for v in r["samples"]) and len(r["remedies"]) == 1' "many samples"
"$python" - <<'END' || fail "the range is not all samples'"
import json
import numpy as np
x = np.stack([np.load(f"many/{i:02}.npz")["x"] for i in range(40)])
(found,) = [r for r in json.load(open("many.json"))["ranges"] if (r["node"], r["factor"]) == ("conv", "input 0")]
assert (found["largest"], found["least"]) == (float(x.max()), float(x.min())) and max(-x[4].min(), x[4].max()) > 15, found
END

# a share and a tolerance leave products out, and the list names them
expect 0 "a share" "$program" quantise m.onnx -i samples -q --for ort --share 60 -o part --json part.json
fields part.json 'sum(l["weight"] for l in r["layers"] if l["bits"] == 8) >= 0.6 * r["total_weight"] and any(l["bits"] == 32 for l in r["layers"])' "a share"
"$python" - <<'END' || fail "exclude.txt names other products"
import json
left = [l["name"] for l in json.load(open("part.json"))["layers"] if l["bits"] == 32]
assert [l for l in open("part/exclude.txt").read().splitlines() if l.startswith("nodes")][0] == "nodes_to_exclude=" + json.dumps(left), left
END
tells 0 "a tolerance" 'r["met"] and all(v["value"] >= 34 for v in r["samples"]) and any(l["bits"] == 8 for l in r["layers"])' quantise m.onnx -i samples -q --formats int8,fp32 --tolerance sqnr_db=34
expect 1 "more than BF16 can" "$program" quantise m.onnx -i samples -q --formats int8,uint8,bf16 --tolerance sqnr_db=100
tells 0 "more than 8 bits can" 'all(l["bits"] == 32 for l in r["layers"]) and len(r["left"]) == 4' quantise m.onnx -i samples -q --formats int8,uint8 --tolerance sqnr_db=100

# of other formats: the file, bias rounded and all, has what was foreseen but for codes that fall the other way (of six outputs some decibels)
for formats in uint8 int8 int16 int8-tensor uint8-tensor; do
    tells 0 "$formats" 'abs(min(v["value"] for v in r["samples"]) + 20 * __import__("math").log10(r["declared_ratio"])) < 3' quantise m.onnx -i samples -q --formats $formats,fp32 -o $formats
done
tells 0 "int16 at ort" 'r["declared_coded"] > 0 and r["declared_in"] == "ort-cpu,qdq=integer"' quantise m.onnx -i samples -q --for ort --formats int16,fp32 -o coded
for words in uint8,factor-b=uint4-32 int8,factor-b=int4-128 uint16 int8,factor-b=int4-row; do
    expect 0 "$words" "$program" audit m.onnx -i others/b6.npz -a fp32,factor=$words -q --no-attribute
done

# other products: of FP16, with weights that a caller may replace, a weight as first factor, weights of rank 3, products in bodies
cat >others.py <<'END'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import block, graph, node, number, write_model
random = np.random.default_rng(60)
draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
FLOAT16, BOOL = 10, 9
half = {"w": draw(8, 6).astype(np.float16), "b": draw(6).astype(np.float16)}
write_model("half.onnx", [node("Gemm", "x w b", "y", "gemm")], {"x": (5, 8)}, {"y": (5, 6)}, half, opset=17, types={"x": FLOAT16, "y": FLOAT16})
write_model("default.onnx", [node("Gemm", "x w b", "y", "gemm")], {"x": (5, 8), "w": (8, 6), "b": (6,)}, {"y": (5, 6)}, {"w": draw(8, 6), "b": draw(6)}, opset=13)
write_model("gemm.onnx", [node("Gemm", "x w b", "y", "gemm")], {"x": (5, 8)}, {"y": (5, 6)}, {"w": draw(8, 6), "b": draw(6)}, opset=23)
by = np.array([1, 10, .1, 3, 5, .01], np.float32)
write_model("first.onnx", [node("MatMul", "w x", "y", "matmul")], {"x": (8, 5)}, {"y": (6, 5)}, {"w": draw(6, 8) * by[:, None]}, opset=13)
write_model("rank.onnx", [node("MatMul", "x w", "y", "matmul")], {"x": (3, 5, 8)}, {"y": (3, 5, 6)}, {"w": draw(3, 8, 6)}, opset=13)
def branch(name, op, **attributes):
    body = graph([node("MatMul", "a v", f"{name}m"), node(op, f"{name}m", name, **attributes)], {}, [name])
    return block(5, block(1, name) + block(6, body) + number(20, 5))
def body(path, opset, op, shape, **attributes):
    write_model(path, [node("MatMul", "x w", "a", "matmul"), node("If", "flag", "y") + branch("then_branch", op, **attributes) + branch("else_branch", op, **attributes)],
                {"x": (5, 8), "flag": ()}, {"y": shape}, {"w": draw(8, 8), "v": draw(8, 3)}, opset=opset, types={"flag": BOOL})
body("body.onnx", 13, "Relu", (5, 3))
write_model("inner.onnx", [node("Relu", "x", "a", "relu"), node("If", "flag", "y") + branch("then_branch", "Relu") + branch("else_branch", "Tanh")], {"x": (5, 8), "flag": ()}, {"y": (5, 3)}, {"v": draw(8, 3)}, opset=13, types={"flag": BOOL})
write_model("nothing.onnx", [node("Tanh", "x", "y", "tanh")], {"x": (5, 8)}, {"y": (5, 8)}, {}, opset=13)
write_model("two.onnx", [node("MatMul", "x w", "logits", "matmul"), node("MatMul", "x v", "z", "other")], {"x": (200, 8)}, {"logits": (200, 6), "z": (200, 3)}, {"w": draw(8, 1) + draw(8, 6) * .05, "v": draw(8, 3)}, opset=13)
np.savez("rows.npz", x=draw(200, 8) * np.array([20] + 199 * [1], np.float32)[:, None])
body("older.onnx", 11, "Unsqueeze", (1, 5, 3), axes=[0])
# operators whose attributes have become inputs, or that have gone
write_model("nine.onnx", [node("MatMul", "x w", "a", "matmul"), node("Unsqueeze", "a", "b", "unsqueeze", axes=[0]),
                          node("Pad", "b", "c", "pad", pads=[0, 0, 1, 1, 0, 0, 0, 2], value=.5), node("Clip", "c", "d", "clip", min=-1., max=1.5),
                          node("Slice", "d", "e", "slice", axes=[2, 3], starts=[0, 1], ends=[6, 9]), node("Softmax", "e", "f", "softmax", axis=2),
                          node("Split", "f", "g h", "split", axis=2, split=[2, 4]), node("Split", "h", "i j", "halves", axis=2),
                          node("ReduceSum", "j", "k", "sum", axes=[2], keepdims=1), node("Add", "g k", "l", "add"),
                          node("TopK", "l", "m indices", "topk", k=3, axis=3), node("Squeeze", "m", "y", "squeeze", axes=[0])],
            {"x": (1, 6, 8)}, {"y": (1, 2, 3)}, {"w": draw(8, 8)}, opset=9)
small = {"w": draw(4, 2, 3, 3) / 4, "s": np.array([1, 1, 2, 3], np.float32)}
write_model("upsample.onnx", [node("Upsample", "x s", "a", "upsample", mode="linear"), node("Conv", "a w", "y", "conv")], {"x": (1, 2, 5, 5)}, {"y": (1, 4, 8, 13)}, small, opset=9)
write_model("resize.onnx", [node("Conv", "x w", "a", "conv"), node("Resize", "a s", "y", "resize", mode="linear")], {"x": (1, 2, 5, 5)}, {"y": (1, 4, 6, 9)}, small, opset=10)
# one whose axes grow and shrink, by scales that are computed; rows of the table that attributes choose
write_model("nearest.onnx", [node("Mul", "t t", "u"), node("Resize", "x u", "a", "nearest", mode="nearest"), node("Conv", "a w", "y", "conv")], {"x": (1, 2, 7, 5)}, {"y": (1, 4, 2, 6)},
            {"w": small["w"], "t": np.sqrt(np.array([1, 1, .6, 1.7], np.float32))}, opset=10)
write_model("chosen.onnx", [node("DepthToSpace", "x", "a", "blocks", blocksize=2), node("BatchNormalization", "a g h m v", "b", "norm", spatial=1),
                            node("MaxPool", "b", "c", "pool", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "c w", "y", "conv")], {"x": (1, 8, 5, 5)}, {"y": (1, 4, 3, 3)},
            {"w": small["w"], "g": draw(2), "h": draw(2), "m": draw(2), "v": draw(2) ** 2 + 1}, opset=7)
write_model("sample.onnx", [node("Conv", "x w", "a", "conv"), node("GridSample", "a grid", "y", "sample", mode="bicubic")], {"x": (1, 2, 5, 5), "grid": (1, 2, 2, 2)}, {"y": (1, 4, 2, 2)},
            {"w": small["w"]}, opset=16)
write_model("roi.onnx", [node("Conv", "x w", "a", "conv"), node("RoiAlign", "a rois of", "y", "roi", output_height=2, output_width=2, sampling_ratio=2)], {"x": (1, 2, 5, 5), "rois": (2, 4)}, {"y": (2, 4, 2, 2)},
            {"w": small["w"], "of": np.zeros(2, np.int64)}, opset=10)
write_model("groups.onnx", [node("GroupNormalization", "x g h", "a", "norm", num_groups=2), node("Conv", "a w", "y", "conv")], {"x": (1, 4, 5, 5)}, {"y": (1, 4, 3, 3)},
            {"w": draw(4, 4, 3, 3), "g": draw(2), "h": draw(2)}, opset=18)
write_model("scatter.onnx", [node("MatMul", "x w", "a", "matmul"), node("Scatter", "a i x", "y", "scatter")], {"x": (5, 8)}, {"y": (5, 8)},
            {"w": draw(8, 8), "i": np.zeros((5, 8), np.int64)}, opset=9)
write_model("twice.onnx", [node("MatMul", "x w", "a", "same"), node("Relu", "a", "b", "same"), node("MatMul", "b v", "y", "same")], {"x": (5, 8)}, {"y": (5, 6)},
            {"w": draw(8, 8) * 30, "v": draw(8, 6)}, opset=13)
# a residual Add, a Concat of two results, Clip from 0 on, a result that is an output, too; MatMul and Add that become a Gemm, and a MatMul that does not
maps = {"k": draw(4, 2, 3, 3) / 3, "l": draw(4, 4, 3, 3) / 4, "n": draw(4, 4, 1, 1), "p": draw(3, 8, 1, 1), "b": draw(4), "lo": np.array(0, np.float32), "hi": np.array(6, np.float32)}
write_model("residual.onnx", [node("Conv", "x k b", "a", "one", pads=[1, 1, 1, 1]), node("Clip", "a lo hi", "c", "clip"), node("Conv", "c l b", "d", "two", pads=[1, 1, 1, 1]),
                              node("Add", "d c", "e", "add"), node("Relu", "e", "f", "relu"), node("Conv", "f n", "g", "three"), node("Concat", "d g", "h", "concat", axis=1),
                              node("MaxPool", "h", "i", "pool", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "i p", "j", "four"), node("Sigmoid", "j", "y", "sigmoid")],
            {"x": (1, 2, 8, 8)}, {"y": (1, 3, 4, 4)}, maps, opset=13)
write_model("dense.onnx", [node("MatMul", "x w", "a", "first"), node("Add", "a b", "c", "bias"), node("Tanh", "c", "d", "tanh"), node("MatMul", "d v", "e", "second"),
                           node("Sigmoid", "e", "f", "sigmoid"), node("MatMul", "f z", "g", "third"), node("Add", "q g", "y", "last")],
            {"x": (5, 8)}, {"y": (5, 4)}, {"w": draw(8, 8), "b": draw(8), "v": draw(8, 6), "z": draw(6, 4), "q": draw(4)}, opset=13)
# a mask's number in one sample, another sample 50 times as large
write_model("masked.onnx", [node("MatMul", "x w", "a", "first"), node("Where", "m a low", "b", "mask"), node("MatMul", "b v", "c", "second"), node("MatMul", "c z", "y", "third")],
            {"x": (5, 8), "m": (5, 8)}, {"y": (5, 4)}, {"w": draw(8, 8), "v": draw(8, 6), "z": draw(6, 4), "low": np.array(-65504, np.float32)}, opset=13, types={"m": BOOL})
for i in range(6):
    np.savez(f"masked{i}.npz", x=draw(5, 8) * (50 if i == 3 else 1), m=draw(5, 8) < (1.2 if i == 2 else 9))
write_model("zeros.onnx", [node("Gemm", "x w b", "y", "zeros")], {"x": (5, 8)}, {"y": (5, 6)}, {"w": np.zeros((8, 6), np.float32), "b": draw(6)}, opset=13)
endless = np.ones((8, 6), np.float32)
endless[0, 0] = np.inf
write_model("endless.onnx", [node("MatMul", "x w", "y", "endless")], {"x": (5, 8)}, {"y": (5, 6)}, {"w": endless}, opset=13)
write_model("flat.onnx", [node("MatMul", "x w", "y", "flat")], {"x": (5, 8)}, {"y": (5,)}, {"w": draw(8)}, opset=13)
for name, inputs in {"half": {"x": draw(5, 8).astype(np.float16)}, "default": {"x": draw(5, 8)}, "first": {"x": draw(8, 5)}, "rank": {"x": draw(3, 5, 8)},
                     "body": {"x": draw(5, 8), "flag": np.array(True)}, "nine": {"x": draw(1, 6, 8)}, "upsample": {"x": draw(1, 2, 5, 5)},
                     "nearest": {"x": draw(1, 2, 7, 5)}, "chosen": {"x": draw(1, 8, 5, 5)}, "sample": {"x": draw(1, 2, 5, 5), "grid": np.linspace(-.9, .8, 8, dtype=np.float32).reshape(1, 2, 2, 2)},
                     "roi": {"x": draw(1, 2, 5, 5), "rois": np.array([[0, 0, 2, 1.5], [.5, .2, 1.9, 2]], np.float32)}, "groups": {"x": draw(1, 4, 5, 5)},
                     "residual": {"x": draw(1, 2, 8, 8)}, "dense": {"x": draw(5, 8)}}.items():
    np.savez(f"{name}.npz", **inputs)
np.savez("replaced.npz", x=draw(5, 8), w=draw(8, 6), b=draw(6))
END
"$python" others.py "$source/examples" || exit 99
says 0 "products in bodies" "2 MatMul, Gemm and Conv, all in bodies of If, Loop and Scan" quantise inner.onnx -i body.npz --for ort
says 0 "no product" "Nothing to allocate: the main graph has no MatMul" quantise nothing.onnx -i dense.npz --for ort
# a product's error is of its own output, which need not be the worst; what was asked is met and too little: more, by a command
says 0 "two outputs" "most error, each in the output that it harms most, is of" quantise two.onnx -i rows.npz --for ort --tolerance sqnr_db=15
says 0 "too little was asked" "--tolerance sqnr_db=25 --out quantised/" quantise two.onnx -i rows.npz --for ort --tolerance sqnr_db=15
same() { # NAME INPUTS: ONNX Runtime has what the program foretells
    "$program" run "$1/quantised.onnx" -i "$2" -a ort-cpu -q -o file.npz || fail "$1/quantised.onnx is not run"
    "$python" -c 'import onnxruntime, onnx' 2>/dev/null || return 0
    "$python" - "$1" "$2" <<'END' || fail "$1: ONNX Runtime has other numbers"
import sys
import numpy as np, onnx, onnxruntime
path = sys.argv[1] + "/quantised.onnx"
onnx.checker.check_model(path)
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
theirs = onnxruntime.InferenceSession(path, options).run(None, dict(np.load(sys.argv[2])))[0].astype(float)
ours = np.load("file.npz")["y"].astype(float)
# sums in FP32 in another order; what is stored in FP16 is off by one place at most
assert np.abs(ours - theirs).max() <= (2**-10 if sys.argv[1] == "half" else 2e-6) * np.abs(theirs).max(), (ours, theirs)
END
}
cp body.npz older.npz && cp upsample.npz resize.npz && cp older.npz twice.npz
for name in half default first rank body older nine upsample resize nearest chosen; do
    expect 0 "$name" "$program" quantise $name.onnx -i $name.npz -q --for ort -o $name --json $name.json
    fields $name.json "r['quantised_constants'] == 1 and r['quantised_values'] == 1 + ('$name' == 'resize')" "$name: quantised"
    [ $name = rank ] || # a column of its matrices has one scale in the file, one of each matrix where it is foreseen
        fields $name.json 'abs(r["samples"][0]["value"] + 20 * __import__("math").log10(r["declared_ratio"])) < 1' "$name: as foreseen"
    same $name $name.npz
done
# what a caller gives in place of a default is taken, clipped by the default's scales
if "$python" -c 'import onnxruntime' 2>/dev/null; then
    "$python" - <<'END' || fail "weights that are given are not taken"
import numpy as np, onnxruntime
true, got = (onnxruntime.InferenceSession(name).run(None, dict(np.load("replaced.npz")))[0] for name in ("default.onnx", "default/quantised.onnx"))
assert ((true - got) ** 2).sum() < 0.1 * (true**2).sum(), (true, got)
END
fi
# formats without integers, whose bias is not rounded: the file has the plan's bits
for formats in fp8-tensor,fp32 fp8-row,fp32 nvfp4,fp32; do
    tells 0 "$formats" 'r["quantised_bits"] and r["quantised_constants"] == 1' quantise gemm.onnx -i default.npz -q --formats $formats -o $formats
done
# blocks that are not full have more scales: all that can be is asked for, and nothing less is refused
tells 0 "blocks" 'r["budget"] > 4.5 and len(r["layers"]) == 3 and all(l["bits"] < 8 for l in r["layers"])' quantise m.onnx -i samples -q --formats uint8,nvfp4,fp32
# results are stored where integer kernels end so: no product of the optimised graph is in floats, and values that are only moved keep their scale
for name in residual dense; do
    expect 0 "$name" "$program" quantise $name.onnx -i $name.npz -q --for ort -o $name --json $name.json
    fields $name.json 'abs(r["samples"][0]["value"] + 20 * __import__("math").log10(r["declared_ratio"])) < 2' "$name: as foreseen"
    same $name $name.npz
    "$python" -c 'import onnxruntime, onnx' 2>/dev/null || continue
    "$python" - $name <<'END' || fail "$name: products are in floats"
import sys
import onnx, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
options.optimized_model_filepath = "optimised.onnx"
onnxruntime.InferenceSession(sys.argv[1] + "/quantised.onnx", options, providers=["CPUExecutionProvider"])
names = [n.op_type for n in onnx.load("optimised.onnx").graph.node]
assert not {"Conv", "FusedConv", "Gemm", "MatMul", "FusedMatMul"} & set(names) and sum(n.startswith(("QLinear", "QGemm", "MatMulInteger")) for n in names) >= 3, names
END
done
fields residual.json 'len({(x["largest"], x["least"]) for x in r["ranges"] if (x["node"], x["factor"]) in [("two", "output 0"), ("three", "output 0"), ("four", "input 0")]}) == 1' "one scale of a Concat"
# opset 21, and the FP32 model itself as ONNX Runtime has it
for name in older nine upsample resize nearest chosen sample roi groups; do
    expect 0 "$name in 21" "$program" quantise $name.onnx -i $name.npz -q --formats int16,fp32 -o $name.21 --json $name.json
    fields $name.json 'r["quantised_opset"] == 21 and r["declared_ratio"] < 0.02' "$name in 21"
    "$python" -c 'import onnxruntime' 2>/dev/null || continue
    "$python" - $name <<'END' || fail "$name: ONNX Runtime has another model"
import sys
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
first, second = (onnxruntime.InferenceSession(path, options).run(None, dict(np.load(sys.argv[1] + ".npz")))[0].astype(float) for path in (sys.argv[1] + ".onnx", sys.argv[1] + ".21/quantised.onnx"))
assert first.shape == second.shape and ((first - second) ** 2).sum() < 1e-3 * (first**2).sum(), (first, second)
END
done
tells 0 "no newer form" '"Scatter is another operator" in r["quantised_reason"] and "quantised" not in r' quantise scatter.onnx -i half.npz -q --for ort -o scatter
# nodes of one name: each has its own range, all else FP32, and the list says what it cannot name
tells 0 "one name" '{f["name"] for f in r["formats"]} == {"int8", "fp32"} and [l["name"] for l in r["layers"]] == ["same"] and r["left"] == [{"name": "same_2"}]' quantise twice.onnx -i default.npz -q --formats int8 --always same_2 -o twice
grep -q '^# stays, too.*"same_2"' twice/exclude.txt && grep -q '^nodes_to_exclude=\[\]' twice/exclude.txt || fail "exclude.txt: $(cat twice/exclude.txt)"
tells 0 "two ranges" 'len(r["ranges"]) == 2 and r["ranges"][1]["largest"] > 20 * r["ranges"][0]["largest"]' quantise twice.onnx -i default.npz -q --formats int8
# what stretches ranges is named: numbers far out, then samples unlike the others; nothing where all are alike
mkdir masks alike && mv masked?.npz masks && cp masks/masked[0145].npz alike
tells 0 "a mask" '[(s["node"], "masked2" in s["sample"], s["largest"]) for s in r["stretched"]][0] == ("second", True, 65504) and 0 < r["stretched"][0]["part"] < 0.1 and ("first", True) in [(s["node"], "masked3" in s["sample"]) for s in r["stretched"]]' quantise masked.onnx -i masks -q --for ort
shows out "The range of second, input 0, is stretched" "a mask"
tells 0 "samples alike" '"stretched" not in r or not r["stretched"]' quantise masked.onnx -i alike -q --for ort
# weights that are zero have no error, and a scale as fine as their bias needs
tells 0 "zeros" 'r["predicted"] == 0 and r["layers"][0]["share"] == 0 and r["declared_ratio"] < 1e-5' quantise zeros.onnx -i default.npz -q --for ort -o zeros
# each calibrator alone; the range of the model's input by entropy, by numpy
for rule in max mse entropy percentile=99; do
    expect 0 "$rule" "$program" quantise m.onnx -i samples -q --for ort --calibrator $rule --json $rule.json
done
"$python" - <<'END' || fail "the entropy calibrator"
import glob, json
import numpy as np
x = np.concatenate([np.load(f)["x"].ravel() for f in sorted(glob.glob("samples/*.npz"))])
most, places, levels = float(np.abs(x).max()), 2048, 128
middles = ((np.abs(x).view(np.uint32) >> 13 << 13) + (1 << 12)).view(np.float32).astype(float)
parts = np.bincount(np.minimum((middles / most * places).astype(int), places - 1), minlength=places).astype(float)
def divergence(n):
    p, q = parts[:n].copy(), np.empty(n)
    for level in range(levels):
        own = slice(level * n // levels, (level + 1) * n // levels)
        filled = (parts[own] > 0).sum()
        q[own] = np.where(parts[own] > 0, parts[own].sum() / max(filled, 1), 1e-4)
    p[-1] += parts[n:].sum()
    p, q = p / p.sum(), q / q.sum()
    return (p[p > 0] * np.log2(p[p > 0] / q[p > 0])).sum()
tried = {n: divergence(n) for n in range(places, levels - 1, -16)}
best = most * min(tried, key=tried.get) / places
r = next(r for r in json.load(open("entropy.json"))["ranges"] if (r["node"], r["factor"]) == ("conv", "input 0"))
# other parts may be as good to the last places of FP64
assert any(abs(max(r["largest"], -r["least"]) - min(most * n / places, most)) < 1e-6 * most for n in tried if tried[n] <= min(tried.values()) * (1 + 1e-9)), (r, best, most)
END
fields entropy.json 'all(0 < e["largest"] <= m["largest"] and m["least"] <= e["least"] <= 0 for e, m in zip(r["ranges"], json.load(open("max.json"))["ranges"]))' "entropy"
# the command for the same again is whole
command=$("$program" quantise twice.onnx -i default.npz -q --for ort --always same_2 | sed -n 's/^  do    ulpscope //p')
eval "\"$program\" $command -q >/dev/null" && [ -f quantised/quantised.onnx ] && grep -q same_2 quantised/exclude.txt || fail "no whole command: $command"
shows out "quantise m.onnx -i samples --calibrator percentile=99 --for ort" "no whole command of ranges"
# a weight that is infinite has no scale: what comes out is not fine, whatever the finite elements are
says 0 "an infinite weight" "broken (signal: it is not finite) in 1 sample" quantise endless.onnx -i default.npz --for ort

says 0 "factors of one dimension" "floating-point factors of rank 2 or more" quantise flat.onnx -i default.npz -q --formats nvfp4
tells 0 "rows of values" '"one scale for a value" in r["quantised_reason"] and "quantised" not in r' quantise m.onnx -i samples -q --formats uint8-row,fp32 -o rows

# TensorRT's calibration cache: as its own tools read it, read again, and one that has no scale of a value
expect 0 "a cache is written" "$program" quantise m.onnx -i samples -q --for trt10 --calibrator max -o trt --json trt.json
"$python" - <<'END' || fail "calibration.cache"
import json, struct
lines = open("trt/calibration.cache").read().splitlines()
scales = {n: struct.unpack(">f", bytes.fromhex(h.zfill(8)))[0] for n, h in (l.rsplit(": ", 1) for l in lines[1:])}
ranges = {r["value"]: r["largest"] for r in json.load(open("trt.json"))["ranges"]}
assert lines[0] == "TRT-101401-EntropyCalibration2" and list(sorted(scales)) == ["f", "g", "r0", "x"] == sorted(ranges), (lines, ranges)
assert all(abs(scales[n] * 127 / ranges[n] - 1) < 1e-6 for n in scales)
open("half.cache", "w").write("\r\n".join([lines[0], "(Unnamed Layer* 64): [Shuffle]_output: 0", "f: 0", *(f"{n}: {struct.unpack('>I', struct.pack('>f', 2 * s))[0]:X}" for n, s in scales.items() if n != "f")]))
END
expect 0 "a cache is read" "$program" quantise m.onnx -i samples -q --for trt10 --calibration-cache trt/calibration.cache -o again --json again.json
cmp -s again/calibration.cache trt/calibration.cache || fail "a cache is not what was read: $(diff again/calibration.cache trt/calibration.cache)"
fields again.json 'all(r[k] == json.load(open("trt.json"))[k] for k in ("samples", "remedies"))' "a cache is read"
expect 0 "no scale of a value" "$program" quantise m.onnx -i samples -q --for trt10 --calibration-cache half.cache -o half --json half.json
fields half.json '{l["name"]: l["bits"] for l in r["layers"]} == {"conv": 8, "depthwise": 8, "matmul": 8} and all(abs(x["largest"] / next(y["largest"] for y in json.load(open("trt.json"))["ranges"] if y["node"] == x["node"]) - 2) < 1e-6 for x in r["ranges"] if x["node"] != "gemm")' "no scale of a value"
fields half.json 'r["remedies"] and r["remedies"] != json.load(open("trt.json"))["remedies"]' "weights are judged with the cache's ranges"
"$program" quantise m.onnx -i samples -q --for trt10 --calibration-cache trt/calibration.cache >out
shows out "quantise m.onnx -i samples --calibration-cache trt/calibration.cache --for trt10" "no whole command of a cache"
"$python" - "$source/examples" <<'END' || exit 99
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model
write_model("still.onnx", [node("Relu", "x", "r", "relu"), node("MatMul", "r w", "p", "still"), node("MatMul", "x w", "m", "matmul"), node("Add", "p m", "y", "add")],
            {"x": (1, 4)}, {"y": (1, 4)}, {"w": np.eye(4, dtype=np.float32)}, opset=13)
np.savez("still.npz", x=np.float32([[-1, -2, -3, -127]]))
END
expect 0 "values that are zeros" "$program" quantise still.onnx -i still.npz -q --for trt10 --calibrator max -o still
[ "$(sort still/calibration.cache | tr '\n' ' ')" = "TRT-101401-EntropyCalibration2 r: 3f800000 x: 3f800000 " ] || fail "values that are zeros: $(cat still/calibration.cache)"
expect 2 "a cache for codes from 0 on" "$program" quantise m.onnx -i samples --for ort --calibration-cache trt/calibration.cache
expect 2 "a folder with a file's name" "$program" quantise m.onnx -i samples --for ort -o q.onnx
expect 2 "a cache and a calibrator" "$program" quantise m.onnx -i samples --for trt10 --calibrator max --calibration-cache trt/calibration.cache
for wrong in 'x: 3c010a14' 'TRT-8400-EntropyCalibration2\nx 3c010a14' 'TRT-8400-X\nx: 7f800000' 'TRT-8400-X\nx: bf800000' 'TRT-8400-X\nx: 1\nx: 2' 'TRT-8400-X\nx: 123456789'; do
    printf "$wrong" >wrong.cache
    expect 3 "$wrong" "$program" quantise m.onnx -i samples --for trt10 --calibration-cache wrong.cache
done

# refused
expect 2 "both ways" "$program" quantise m.onnx -i samples -a fp32,factor=int8 --for ort
expect 2 "share and budget" "$program" quantise m.onnx -i samples --share 50 --budget bits=9
says 2 "no such format" "int7" quantise m.onnx -i samples --formats int7,fp32
expect 2 "integers beside FP8" "$program" audit m.onnx -i others/b6.npz -a fp32,factor=int8,factor-b=fp8-row
expect 2 "ranges of nothing" "$program" quantise m.onnx -i samples --calibrate r.json
exit $failed
