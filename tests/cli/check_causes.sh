#!/usr/bin/env bash
# The causes of a node's share in report.json, against numpy: the operator is written here in FP64 with a switch for each rounding that the
# arithmetic makes. They are switched on in the order of doc/attribution.md, so that no rounding falls anew behind one that is switched off: a
# cause is what the error loses without its switch. FP32's functions and sums, which have none, are less than 1 % of the error here.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: causes are not compared"; exit 77; }
python "$program" <<'END'
turn = np.random.default_rng(11)
FORMATS = {"fp16": (11, -24), "bf16": (8, -133), "tf32": (11, -136)}
CAUSES = ("weights", "inputs", "result")
STEPS, BATCH, INPUT, HIDDEN = 6, 3, 16, 16
failures = compared = 0

def nearest(array, precision, least):
    """To nearest, ties to even, with subnormals; no case here overflows."""
    exponent = np.frexp(array)[1] - precision
    unit = np.ldexp(1.0, np.maximum(exponent, least))
    return np.rint(array / unit) * unit

class Roundings:
    """What the arithmetic rounds: the first `count` of CAUSES."""
    def __init__(self, arithmetic, count):
        self.format, self.on, self.factors_only = FORMATS[arithmetic], CAUSES[:count], arithmetic == "tf32"

    def _round(self, array, cause):
        return nearest(array, *self.format) if cause in self.on else array

    def weight(self, array):
        return self._round(array, "weights")

    def constant(self, array):  # no factor of a product
        return array if self.factors_only else self._round(array, "weights")

    def factor(self, array):  # a value that a product reads; narrow storages hold it already
        return self._round(array, "inputs")

    def result(self, array):  # a result, or what an operator stores on its way
        return array if self.factors_only else self._round(array, "result")

sigmoid = lambda x: 1 / (1 + np.exp(-x))

def cell_lstm(r, x, h, c, gates, p):
    i, o, f, g = np.split(gates, 4, axis=1)
    n = sigmoid(f + p[2] * c) * c + sigmoid(i + p[0] * c) * np.tanh(g)
    return sigmoid(o + p[1] * n) * np.tanh(n), n

def recurrent(op, linear, r, x, w, rr, b, h0, c0, p, lengths, direction):
    """Y of shape steps x directions x batch x hidden."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    y = np.zeros((STEPS, w.shape[0], BATCH, HIDDEN))
    for d in range(w.shape[0]):
        wd, rd = r.weight(w[d]).T, r.weight(rr[d]).T
        wb, rb = np.split(r.constant(b[d]), 2)
        pd = r.constant(p[d]).reshape(3, HIDDEN)
        backwards = direction == "reverse" or d == 1
        for item in range(BATCH):
            order = range(lengths[item])
            h, c = h0[d, item][None], c0[d, item][None]
            for t in reversed(order) if backwards else order:
                xs = r.factor(x[t, item][None]) @ wd + wb
                if op == "GRU":
                    hs = r.factor(h) @ rd + rb
                    z, s, n = (part[:, k * HIDDEN:(k + 1) * HIDDEN] for k in range(3) for part in (xs,))
                    hz, hr, hn = np.split(hs, 3, axis=1)
                    z, s = sigmoid(z + hz), sigmoid(s + hr)
                    if linear:
                        n = np.tanh(n + s * hn)
                    else:
                        n = np.tanh(n + r.factor(r.result(s * h)) @ rd[:, 2 * HIDDEN:] + rb[2 * HIDDEN:])
                    new = (1 - z) * n + z * h
                elif op == "LSTM":
                    new, c = cell_lstm(r, x, h, c, xs + r.factor(h) @ rd + rb, pd)
                    c = r.result(c)
                else:
                    new = np.tanh(xs + r.factor(h) @ rd + rb)
                h = r.result(new)
                y[t, d, item] = h[0]
    return y

def judge(name, op_node, given, constants, function, opset, output="y"):
    """function(roundings, values) -> y; given: graph inputs, on both formats' grids so that only the node errs."""
    global failures, compared
    write_model("m.onnx", [op_node], {key: array.shape for key, array in given.items() if array.dtype.kind == "f"}, [output], constants, opset=opset)
    np.savez("m.npz", **given)
    values = {key: array.astype(float) if array.dtype.kind == "f" else array for key, array in {**constants, **given}.items()}
    for arithmetic in FORMATS:
        subprocess.run([sys.argv[1], "audit", "m.onnx", "-i", "m.npz", "-a", arithmetic, "-o", "r", "-q", "-t", "1"], check=True, stdout=subprocess.DEVNULL)
        with open("r/report.json") as file:
            record = json.load(file)["lanes"][0]["nodes"][0]
        stages = [function(Roundings(arithmetic, count), values) for count in range(len(CAUSES) + 1)]
        error = stages[-1] - stages[0]
        if not error.any():
            continue  # nothing but sums and functions
        parts = {cause: float(np.sum(error * (after - before)) / np.sum(error ** 2)) for cause, before, after in zip(CAUSES, stages, stages[1:])}
        causes = record["causes"]
        compared += 1
        wrong = [f"{cause} {causes[cause]:.4f}, expected {parts.get(cause, 0):.4f}" for cause in causes
                 if not abs(causes[cause] - parts.get(cause, 0)) <= 0.02]
        if not abs(sum(causes.values()) - record["share"]) <= 1e-6:
            wrong.append(f"they add up to {sum(causes.values()):.6f}, the share is {record['share']:.6f}")
        if wrong:
            failures += 1
            print(f"FAIL {name} in {arithmetic}: " + "; ".join(wrong))

def grid(*shape, scale=1.0):
    """Numbers of few bits: every format holds them."""
    return (np.round(turn.standard_normal(shape) * 16 * scale) / 16).astype("f4")

normal = lambda *shape, scale=1.0: (turn.standard_normal(shape) * scale).astype("f4")

for op, gates, states in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)):
    for direction in ("forward", "reverse", "bidirectional"):
        for started in range(1 << states):
            for lengths in (False, True):
                for kind in ((0, 1) if op != "RNN" else (0,)):  # LSTM: peepholes; GRU: linear_before_reset
                    peepholes, linear = op == "LSTM" and kind, op == "GRU" and kind
                    d = 2 if direction == "bidirectional" else 1
                    given = {"x": grid(STEPS, BATCH, INPUT)}
                    constants = {"w": normal(d, gates * HIDDEN, INPUT, scale=.3), "r": normal(d, gates * HIDDEN, HIDDEN, scale=.2), "b": normal(d, 2 * gates * HIDDEN, scale=.3)}
                    names = ["x", "w", "r", "b", "lengths" if lengths else "-", "h0" if started & 1 else "-"]
                    if lengths:
                        constants["lengths"] = np.array([STEPS, 2, 4], "i4")
                    if started & 1:  # as an input or as a constant
                        (constants if lengths and direction == "reverse" else given)["h0"] = grid(d, BATCH, HIDDEN, scale=.5)
                    if op == "LSTM":
                        names += ["c0" if started & 2 else "-", "p" if peepholes else "-"]
                        if started & 2:
                            given["c0"] = grid(d, BATCH, HIDDEN)
                        if peepholes:
                            constants["p"] = normal(d, 3 * HIDDEN, scale=.3)
                    while names[-1] == "-":
                        names.pop()
                    attributes = {"direction": direction, "hidden_size": HIDDEN, **({"linear_before_reset": 1} if linear else {})}
                    zero = np.zeros((d, BATCH, HIDDEN))

                    def function(r, v):
                        return recurrent(op, linear, r, v["x"], v["w"], v["r"], v["b"], v.get("h0", zero), v.get("c0", zero),
                                         v.get("p", np.zeros((d, 3 * HIDDEN))), v["lengths"] if lengths else [STEPS] * BATCH, direction)

                    judge(f"{op} {direction} state {started}{' lengths' if lengths else ''}{' kind 1' if kind else ''}",
                          node(op, " ".join(names), "y", **attributes), given, constants, function, 14)

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def layer_norm(r, v):
    x = v["x"] - v["x"].mean(axis=-1, keepdims=True)
    return r.result(x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * r.constant(v["s"]) + r.constant(v["b"]))

def conv(r, v):
    x, w = np.pad(r.factor(v["x"]), ((0, 0), (0, 0), (1, 1), (1, 1))), r.weight(v["w"])
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return r.result(np.einsum("bchwij,ocij->bohw", windows, w) + r.constant(v["b"])[:, None, None])

def attend(r, v):
    scores = r.factor(v["x"]) @ np.swapaxes(r.factor(v["k"]), -1, -2) * .25
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return r.result(r.factor(p) @ r.factor(v["v"]) / p.sum(axis=-1, keepdims=True))

judge("Gemm", node("Gemm", "x w b", "y", transB=1, alpha=.5), {"x": grid(8, 64)}, {"w": normal(32, 64), "b": normal(32)},
      lambda r, v: r.result(.5 * (r.factor(v["x"]) @ r.weight(v["w"]).T) + r.constant(v["b"])), 13)
judge("MatMul of two values", node("MatMul", "x z", "y"), {"x": normal(8, 64).astype("f2").astype("f4"), "z": grid(64, 32)}, {}, lambda r, v: r.result(r.factor(v["x"]) @ r.factor(v["z"])), 13)
judge("Conv", node("Conv", "x w b", "y", pads=[1, 1, 1, 1]), {"x": grid(2, 8, 12, 12)}, {"w": normal(16, 8, 3, 3), "b": normal(16)}, conv, 13)
judge("LayerNormalization", node("LayerNormalization", "x s b", "y"), {"x": grid(16, 128)}, {"s": normal(128), "b": normal(128)}, layer_norm, 17)
judge("Softmax", node("Softmax", "x", "y"), {"x": grid(16, 64)}, {}, lambda r, v: r.result(softmax(v["x"])), 13)
judge("Mul", node("Mul", "x s", "y"), {"x": grid(16, 64)}, {"s": normal(64)}, lambda r, v: r.result(v["x"] * r.constant(v["s"])), 13)
judge("Attention", node("Attention", "x k v", "y"), {"x": grid(1, 2, 12, 16), "k": grid(1, 2, 20, 16), "v": grid(1, 2, 20, 16)}, {}, attend, 23)
# MatMulNBits of accuracy_level=4 in ONNX Runtime: nothing but A's bytes, a scale for each block of 32, makes more than FP32's error.
a, codes, scales = normal(4, 64), turn.integers(0, 256, (8, 2, 32)).astype("u1"), np.full((8, 2), 2.0**-6, "f4")
bits = node("MatMulNBits", "x b s", "y", K=64, N=8, bits=8, block_size=32, accuracy_level=4) + block(7, "com.microsoft")
write_model("m.onnx", [bits], {"x": a.shape}, ["y"], {"b": codes, "s": scales}, opset=21, domains={"com.microsoft": 1})
np.savez("m.npz", x=a)
subprocess.run([sys.argv[1], "audit", "m.onnx", "-i", "m.npz", "-a", "ort-cpu", "-o", "r", "-q", "-t", "1"], check=True, stdout=subprocess.DEVNULL)
with open("r/report.json") as file:
    record = json.load(file)["lanes"][0]["nodes"][0]
blocks = a.astype("f8").reshape(4, 2, 32)
step = np.abs(blocks).max(axis=2, keepdims=True) / 127
weights = ((codes.astype("f8") - 128) * scales[:, :, None]).reshape(8, 64)
lost = np.sqrt(np.mean(np.square((np.rint(blocks / step) * step - blocks).reshape(4, 64) @ weights.T)))
compared += 1
if not (abs(record["causes"]["inputs"] - 1) <= 0.01 and abs(record["outputs"][0]["introduced"]["rms"] / lost - 1) <= 0.01):
    failures += 1
    print(f"FAIL accuracy_level=4: {record['causes']}, introduced {record['outputs'][0]['introduced']['rms']} for {lost}")

print(f"{compared} runs compared with switching each cause on and off, {failures} differ")
sys.exit(failures > 0)
END
[ $? -eq 0 ] || fail "causes are not what switching them off changes"
exit $failed
