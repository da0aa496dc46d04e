#!/usr/bin/env bash
# qnn:fp16: our formulas for HTP's functions by numpy, alone and where a product's kernel takes them in; a constant added to a product's sum; what is recorded, where QNN is installed.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy: formulas are not compared"; exit 77; }
python "$program" <<'END' || fail "formulas"
rng = np.random.default_rng(3)
failed = 0

def give(nodes, inputs, output, constants, arithmetic="qnn:fp16"):
    write_model("m.onnx", nodes, {k: v.shape for k, v in inputs.items()}, {"y": output}, constants, opset=20)
    np.savez("i.npz", **inputs)
    subprocess.run([sys.argv[1], "run", "m.onnx", "-i", "i.npz", "-a", arithmetic, "-o", "o.npz", "-q"], check=True)
    return np.load("o.npz")["y"].astype(np.float64)

def check(name, found, exact, steps=None):
    """exact: before its rounding, to so many steps to 1 first. What lies within 1e-4 of a step of the middle between two may go either way: FP32 is right to 2^-23 of it."""
    global failed
    clear = np.ones(exact.shape, bool)
    if steps:
        clear = np.abs(np.abs(steps * exact - np.floor(steps * exact)) - .5) > 1e-4
        exact = np.rint(steps * exact) / steps
    wrong = np.sum((found.reshape(exact.shape) != exact.astype(np.float16))[clear])
    failed += wrong > 0 or clear.mean() < .99
    print("FAIL" if wrong else "good", name, wrong)

half = lambda *shape, scale=1: (scale * rng.standard_normal(shape)).astype(np.float16).astype(np.float32)
sigmoid = lambda v: 1 / (1 + np.exp(-v.astype(np.float64)))
x, eye, places = half(1, 32, 8, 8, scale=3), np.eye(32, dtype=np.float32), (1, 32, 8, 8)
conv, end = node("Conv", "x w", "c"), node("Sigmoid", "c", "y")
check("alone", give([node("Sigmoid", "x", "y")], {"x": x}, places, {}), sigmoid(x), 1024)
W = {"w": eye.reshape(32, 32, 1, 1)}
check("in a Conv", give([conv, end], {"x": x}, places, W), sigmoid(x), 128)
check("in a Conv with a bias", give([node("Conv", "x w", "d"), node("Add", "d b", "c"), end], {"x": x}, places, {**W, "b": np.ones((1, 32, 1, 1), np.float32)}),
      sigmoid((x + 1).astype(np.float16)), 128)
check("behind a Clip", give([node("Conv", "x w", "d"), node("Clip", "d l h", "c"), end], {"x": x}, places, {**W, "l": np.float32(-9), "h": np.float32(9)}), sigmoid(np.clip(x, -9, 9)), 1024)
check("depthwise", give([node("Conv", "x w", "c", group=32), end], {"x": x}, places, {"w": np.ones((32, 1, 1, 1), np.float32)}), sigmoid(x), 1024)
check("a value that is read again", give([conv, node("Sigmoid", "c", "a"), node("Relu", "c", "b"), node("Concat", "a b", "y", axis=1)], {"x": x}, (1, 64, 8, 8), W)[:, :32], sigmoid(x), 1024)
gated = np.rint(128 * sigmoid(x)) / 128
clear = np.abs(np.abs(128 * sigmoid(x) % 1) - .5) > 1e-4
found = give([conv, node("Sigmoid", "c", "a"), node("Mul", "c a", "y")], {"x": x}, places, W)
check("a gate of the same value", np.where(clear, found, 0), np.where(clear, x * gated, 0))
for rows, steps in ((23, 128), (100, 1024), (256, 128)):
    t = half(1, rows, 32, scale=3)
    check(f"a product of {rows} rows", give([node("MatMul", "x w", "c"), end], {"x": t}, (1, rows, 32), {"w": eye}), sigmoid(t), steps)
    tanh = give([node("MatMul", "x w", "c"), node("Tanh", "c", "y")], {"x": t}, (1, rows, 32), {"w": eye})
    check(f"Tanh of {rows} rows", tanh, np.tanh(t.astype(np.float64)), 64 if rows <= 64 else None)
a, b = half(1, 64), (np.abs(half(1, 64)) + .5).astype(np.float16).astype(np.float32)
mantissa, exponent = np.frexp(1 / b.astype(np.float64))
check("Div", give([node("Div", "x z", "y")], {"x": a, "z": b}, (1, 64), {}), a * np.ldexp(np.rint(mantissa * 1024) / 1024, exponent))
w, bias, h = half(64, 64, scale=.1), half(64), half(4, 64)
exact = h.astype(np.float64) @ w
added = give([node("MatMul", "x w", "c"), node("Add", "c b", "y")], {"x": h}, (4, 64), {"w": w, "b": bias})
# FP32's sum of 64 products is off by up to 64 2^-24 of what was added: 2^-7 of a step of FP16 or less, so that one element in a hundred may fall otherwise, by one step
whole = (exact + bias).astype(np.float16)
failed += np.mean(added == whole) < .98 or np.max(np.abs(added - whole) / np.spacing(np.abs(whole))) > 1
apart = give([node("MatMul", "x w", "c"), node("Add", "c b", "y")], {"x": h}, (4, 64), {"w": w, "b": bias}, "qnn:fp16,fuse=none")
stored = (exact.astype(np.float16).astype(np.float64) + bias).astype(np.float16)
failed += np.mean(apart == stored) < .98 or np.mean(added == stored) > .95
few = give([node("Div", "x z", "y")], {"x": np.array([[7, 9, 100]], np.float32), "z": np.array([[7, 3, 10]], np.float32)}, (1, 3), {})
failed += not np.array_equal(few, np.float16([7 * np.rint(2**12 / 7) / 2**12, 9 * np.rint(2**11 / 3) / 2**11, 100 * np.rint(2**13 / 10) / 2**13]).reshape(1, 3))
sys.exit(int(failed > 0))
END
says 2 "a proof" "add steps=alike" prove m.onnx --val-range -1,1 -a qnn:fp16
recorded=${ULPSCOPE_TEST_RUNTIMES:-$python}
if "$recorded" -c 'import numpy, onnx, onnxruntime_qnn' 2>/dev/null; then
    "$recorded" "$source/lab/compare_htp.py" "$program" operators Sigmoid Tanh Gelu HardSwish Softmax.usual LSTM MatMul Conv >out || fail "errors of another size than HTP's: $(grep BAD out)"
else
    echo "no Python with onnxruntime_qnn: HTP is not compared"
fi
exit $failed
