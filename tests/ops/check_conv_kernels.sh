#!/usr/bin/env bash
# conv=torch: which convolutions are chains in FP32 and where their bias goes, against chains in numpy's doubles, in which each step of these numbers is exact before it is rounded.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: convolutions are not compared"; exit 77; }
python "$program" "$source/examples" <<'END' || fail "convolutions"
program, examples = sys.argv[1:]
sys.path.insert(0, examples)
from onnx_writer import node, write_model

def rounded(values, kind):
    if kind == "fp16":
        return values.astype(np.float16).astype(np.float32)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)

def chain(x, w, groups, first):
    """Windows of x by w onto the first value of each channel, one fused multiply-add after the other, in the weight's order. Numbers of 11 bits between 2^-8 and 2: a product has 22 bits down to 2^-36, a sum of fewer than 2^8 of them 46 bits."""
    out, inner, height, width = w.shape
    windows = np.lib.stride_tricks.sliding_window_view(x, (height, width), (2, 3)).astype(np.float64)
    sums = np.zeros((len(x), out) + windows.shape[2:4], np.float32) + first
    for channel in range(inner):
        for place in np.ndindex(height, width):
            of = np.arange(out) // (out // groups) * inner + channel
            sums = (sums + windows[:, of][..., place[0], place[1]] * w[:, channel, place[0], place[1]].astype(np.float64)[:, None, None]).astype(np.float32)
    return sums

def run(arithmetic, arrays, groups):
    write_model("model.onnx", [node("Conv", "x w b", "y", "conv", group=groups)], {n: a.shape for n, a in arrays.items()}, ["y"], {}, opset=14)
    np.savez("in.npz", **arrays)
    subprocess.run([program, "run", "model.onnx", "-i", "in.npz", "-a", arithmetic, "-q", "-o", "out.npz"], check=True)
    return np.load("out.npz")["y"]

random = np.random.default_rng(1)
# kind, channels in, out, groups, do chains begin with the bias, or is it added to the rounded sum; None: no kernel of these, equal to conv=plain
for kind, inner, out, groups, begins in (("fp16", 40, 40, 40, False), ("fp16", 16, 16, 16, True), ("bf16", 40, 40, 40, True), ("bf16", 16, 16, 16, True), ("fp16", 3, 8, 1, False), ("bf16", 1, 8, 1, False),
                                         ("fp16", 40, 80, 40, None)):
    draw = lambda *shape: rounded((random.uniform(0.5, 2, shape) * random.choice([-1, 1], shape) * 2.0 ** -random.integers(0, 8, shape)).astype(np.float32), kind)
    arrays = {"x": draw(1, inner, 100, 100), "w": draw(out, inner // groups, 3, 3), "b": draw(out)}
    base = f"{kind},epilogue=rounded"
    plain, got, bias = run(base, arrays, groups), run(base + ",conv=torch", arrays, groups), arrays["b"][:, None, None]
    if begins is None:
        wanted = plain
    else:
        sums = chain(arrays["x"], arrays["w"], groups, np.float32(0))
        ways = [rounded(chain(arrays["x"], arrays["w"], groups, bias), kind), rounded(rounded(sums, kind) + bias, kind), rounded(sums + bias, kind)]
        wanted = ways.pop(0 if begins else 1)
        if any(np.array_equal(wanted, other) for other in ways):
            sys.exit(f"{kind} {inner} {out} {groups}: these numbers tell nothing")
    if not np.array_equal(got, wanted):
        sys.exit(f"{kind}, {inner} channels, {groups} groups: {np.mean(got == wanted):.2%} of bits equal")
END
# on the unit by shape: below these channels, or sums of 288 products, a Conv is FP32's chain, a MatMul beside it too
python "$program" "$source/examples" <<'END' || fail "products by shape"
program, examples = sys.argv[1:]
sys.path.insert(0, examples)
from onnx_writer import node, write_model
random = np.random.default_rng(2)

def run(op, arrays, arithmetic, **attributes):
    write_model("model.onnx", [node(op, "x w", "y", op, **attributes)], {n: a.shape for n, a in arrays.items()}, ["y"], {}, opset=14)
    np.savez("in.npz", **arrays)
    subprocess.run([program, "run", "model.onnx", "-i", "in.npz", "-a", arithmetic, "-q", "-o", "out.npz"], check=True)
    return np.load("out.npz")["y"]

# channels of a group, groups, kernel, stride, size, features, and of whom it is under conv=searched, as an H200 took it (11 and 31 channels beside the bound): FP32's chain or the unit
for inner, groups, kernel, stride, size, features, wanted in ((11, 1, (1, 1), 1, 9, 24, "fp32"), (12, 1, (1, 1), 1, 9, 24, "tf32"), (128, 1, (1, 1), 2, 9, 24, "fp32"), (256, 1, (1, 1), 2, 9, 24, "tf32"), (96, 1, (1, 1), 1, 1, 24, "fp32"),
                                                              (64, 1, (1, 1), 1, 10, 1, "fp32"), (31, 1, (3, 3), 1, 9, 24, "fp32"), (32, 1, (3, 3), 1, 9, 24, "tf32"), (32, 1, (3, 3), 1, 32, 32, "fp32"), (48, 1, (3, 3), 1, 32, 32, "tf32"),
                                                              (32, 1, (1, 7), 1, 16, 24, "fp32"), (32, 1, (1, 8), 1, 16, 24, "tf32"), (16, 1, (7, 7), 1, 18, 24, "fp32"), (64, 2, (3, 3), 1, 9, 12, "fp32"), (1, 24, (3, 3), 1, 9, 24, "fp32"),
                                                              (12, 2, (1, 1), 1, 9, 24, "fp32")):
    arrays = {"x": random.standard_normal((1, inner * groups, size, size), np.float32), "w": random.standard_normal((features, inner, *kernel), np.float32)}
    plain = {name: run("Conv", arrays, name, group=groups, strides=[stride, stride]) for name in ("fp32", "tf32")}
    if np.array_equal(plain["fp32"], plain["tf32"]) or not np.array_equal(run("Conv", arrays, "tf32,conv=searched", group=groups, strides=[stride, stride]), plain[wanted]):
        sys.exit(f"conv=searched: {inner} channels, {groups} groups, kernel {kernel}, stride {stride}, size {size}, {features} features: not as {wanted}")
arrays = {"x": random.standard_normal((1, 16, 9, 9), np.float32), "w": random.standard_normal((24, 16, 3, 3), np.float32)}
if not np.array_equal(run("Conv", arrays, "tf32,matmul=scalar"), run("Conv", arrays, "tf32")):
    sys.exit("matmul=scalar: a Conv is not on the unit")
arrays = {"x": random.standard_normal((8, 64), np.float32), "w": random.standard_normal((64, 24), np.float32)}
if not np.array_equal(run("MatMul", arrays, "tf32,matmul=scalar"), run("MatMul", arrays, "fp32")):
    sys.exit("matmul=scalar: a MatMul is not FP32's chain")
END
says 2 "no matrix unit, by shape" "conv=searched" list fp32,conv=searched
says 2 "no matrix unit, products" "matmul=scalar" list fp32,matmul=scalar
# what a GPU gave for drawn numbers: the one that differs is Winograd's 4x4
python3 "$source/lab/compare_conv.py" "$program" "$source/tests/data/conv/h200_conv.npz" --largest 50000 --least 137 >"$work/out" || fail "recorded convolutions: $(cat "$work/out")"
# TF32 and FP32, products too: left are vectors that a warp adds in a tree, one split Conv, one window that was not recorded and one batch whose rest comes first
python3 "$source/lab/compare_conv.py" "$program" "$source/tests/data/conv/h200_floats.npz" --types tf32 --largest 50000 --least 211 >"$work/out" || fail "recorded TF32: $(cat "$work/out")"
python3 "$source/lab/compare_conv.py" "$program" "$source/tests/data/conv/h200_floats.npz" --types f32 --largest 50000 --least 78 >"$work/out" || fail "recorded FP32: $(cat "$work/out")"
expect 0 "TF32's convolutions" "$program" list tf32,conv=torch
says 2 "no matrix unit" "conv=" list fp16,unit=none,conv=torch
exit $failed
