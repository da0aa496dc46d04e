#!/usr/bin/env bash
# The Neural Engine's published cliffs: on 2,000 points of [-15, 15], given in FP16, softplus falls to 0 from 10.408 on (apple/coremltools#2687)
# and the logsumexp of 32 equal channels from 7.6313 on (#2690). Both are named by their reporters to 4 digits; the grid's step is 0.015, so
# that the point before must be right. The reference and fp16 do not fall.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: the cliffs are not looked for"; exit 77; }
python <<'END' || exit 99
x = np.linspace(-15, 15, 2000)
np.savez("x.npz", x=np.repeat(x.astype("f4")[:, None], 32, axis=1))
nodes = [node("Softplus", "x", "softplus"), node("Mish", "x", "mish"), node("ReduceLogSumExp", "x axes", "logsumexp"), node("LogSoftmax", "x", "logsoftmax")]
write_model("cliffs.onnx", nodes, {"x": (2000, 32)}, ["softplus", "mish", "logsumexp", "logsoftmax"], {"axes": np.array([1])}, opset=18)
END
for arithmetic in coreml-ane:fp16 fp16 fp16-strict coreml-gpu:fp16; do
    expect 0 "$arithmetic" "$program" run cliffs.onnx -i x.npz -a $arithmetic -o "$arithmetic.npz" -q
done
python <<'END' || exit 1
x = np.linspace(-15, 15, 2000)
exact = {"softplus": np.log1p(np.exp(x)), "mish": x * np.tanh(np.log1p(np.exp(x))), "logsumexp": x + np.log(32)}
bad = 0
for arithmetic in ("coreml-ane:fp16", "fp16", "fp16-strict", "coreml-gpu:fp16"):
    got = np.load(arithmetic + ".npz")
    for name, cliff in (("softplus", 10.408), ("mish", 10.408), ("logsumexp", 7.6313)):
        y = got[name].astype("f8")[:, 0]
        fallen = np.nonzero((y == 0) & (np.abs(exact[name]) > 0.01))[0]
        if arithmetic != "coreml-ane:fp16":
            bad += len(fallen) > 0
            continue
        first = fallen[0] if len(fallen) else -1
        # the reporters give 5 digits of a point of the grid, which are 0.015 apart
        fits = len(fallen) and abs(x[first] - cliff) < 0.0075 and len(fallen) == 2000 - first and abs(y[first - 1] - exact[name][first - 1]) < 0.05
        bad += not fits
        print(f"{arithmetic} {name}: falls at {x[first]:.4f}, published {cliff}", "" if fits else ": WRONG")
    probabilities = got["logsoftmax"].astype("f8")
    bad += not np.all(np.abs(probabilities + np.log(32)) < 0.02)  # equal channels: neither formula vanishes
raise SystemExit(bad)
END
says 0 "a forecast of the cliffs" "2 * exp(x)" overflow cliffs.onnx -i x.npz -f coreml-ane:fp16 -q
shows out "row_sum(exp(x))" "a forecast of the cliffs"
# A probability that FP16 does not hold has no logarithm there.
python <<'END' || exit 99
np.savez("classes.npz", x=np.array([[0, 0, 0, 50, 0, 0, 0, 0]], "f4"))
write_model("classes.onnx", [node("LogSoftmax", "x", "y")], {"x": (1, 8)}, ["y"], opset=18)
END
expect 0 "a dominant class" "$program" run classes.onnx -i classes.npz -a coreml-ane:fp16 -o classes.out.npz -q
expect 0 "a dominant class by the other formula" "$program" run classes.onnx -i classes.npz -a fp16-strict -o other.npz -q
python3 -c 'import numpy as np; y = np.load("classes.out.npz")["y"]; raise SystemExit(not (np.isneginf(np.delete(y[0], 3)).all() and y[0, 3] == 0))' || { echo "log_softmax is not -inf"; exit 1; }
exit $failed
