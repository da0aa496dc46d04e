#!/usr/bin/env bash
# LSTM and GRU with recurrence=cudnn: as recorded on a GPU (the sample that lies here, and with $ULPSCOPE_TEST_DATA whole sequences), and what is known of the kernels without their numbers: one that stores its state gives the same
# bits a step at a time, one that does not gives others (so it was recorded); directions, layouts and initial states are each other's.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: recurrences are not compared"; exit 77; }
python3 "$source/lab/compare_recurrent.py" "$program" "$source/tests/data/unit/h100_recurrent.npz" || fail "recurrences are not the recorded ones"
if [ -f "${ULPSCOPE_TEST_DATA:-}/gpu/h200_recurrent.npz" ]; then
    python3 "$source/lab/compare_recurrent.py" "$program" "$ULPSCOPE_TEST_DATA/gpu/h200_recurrent.npz" || fail "recurrences are not the recorded ones"
fi
python "$program" "$source/examples" <<'END' || fail "states, directions and layouts"
program, examples = sys.argv[1:]
sys.path.insert(0, examples)
from onnx_writer import node, write_model

def run(kind, arrays, arithmetic="fp16,recurrence=cudnn", threads=1, without="", **attributes):
    """Y, Y_h and, of an LSTM, Y_c."""
    outputs = ["y", "y_h", "y_c"][:3 if kind == "LSTM" else 2]
    names = ["x", "w", "r", "b", "-", "h0", "c0"][:len(outputs) + 4]
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    read = " ".join(n if n in arrays else "-" for n in names)
    write_model("model.onnx", [node(kind, read, " ".join(outputs), "cell", hidden_size=arrays["r"].shape[2], **attributes)], {n: arrays[n].shape for n in names if n in arrays}, outputs, {}, opset=14)
    np.savez("in.npz", **{n: arrays[n] for n in names if n in arrays})
    subprocess.run([program, "run", "model.onnx", "-i", "in.npz", "-a", arithmetic, "-t", str(threads), "-q", "-o", "out.npz"], check=True, env={**os.environ, "ULPSCOPE_DISABLE_CPU": without})
    with np.load("out.npz") as file:
        return [file[n] for n in outputs]

def draw(kind, steps, batch, size, hidden, directions=1):
    random, lines = np.random.default_rng(steps + batch + hidden), (4 if kind == "LSTM" else 3) * hidden
    make = lambda *shape: (random.uniform(-3, 3, shape) / np.sqrt(hidden)).astype(np.float16).astype(np.float32)
    arrays = {"x": make(steps, batch, size) * 8, "w": make(directions, lines, size), "r": make(directions, lines, hidden), "b": make(directions, 2 * lines), "h0": make(directions, batch, hidden)}
    return {**arrays, "c0": make(directions, batch, hidden)} if kind == "LSTM" else arrays

def same(what, a, b, wanted=True):
    if all(np.array_equal(p, q) for p, q in zip(a, b)) != wanted:
        sys.exit(f"{what}: {'other' if wanted else 'the same'} bits")

for kind in ("LSTM", "GRU"):
    # kernel: rows, hidden; does a step at a time give the same bits
    for name, batch, hidden, stored in (("block", 3, 40, False), ("mma", 8, 40, True), ("step", 3, 260, True), ("tile", 8, 256, kind == "GRU")):
        size, both = (128 if name == "tile" else 24), draw(kind, 5, batch, 128 if name == "tile" else 24, hidden, 2)
        one = {n: a if n == "x" else a[:1] for n, a in both.items()}
        whole = run(kind, one)
        state, parts = one, []
        for step in range(5):
            y, *last = run(kind, {**state, "x": one["x"][step:step + 1]})
            state = {**state, **dict(zip(("h0", "c0"), last))}
            parts.append(y)
        same(f"{kind} {name} a step at a time", [np.concatenate(parts)], whole[:1], stored)
        same(f"{kind} {name}: the last of y is y_h", [whole[0][-1]], [whole[1]])
        same(f"{kind} {name}: plain", whole[:1], run(kind, one, "fp16")[:1], False)
        for setting in ((2, ""), (2, "avx512"), (2, "avx512,avx2")):
            same(f"{kind} {name} with {setting}", run(kind, one, threads=setting[0], without=setting[1]), whole)
        if name == "tile":
            continue
        two, back = run(kind, both, direction="bidirectional"), run(kind, {n: a if n == "x" else a[1:] for n, a in both.items()}, direction="reverse")
        same(f"{kind} {name} in both directions", [np.concatenate([p, q], 1 if p.ndim == 4 else 0) for p, q in zip(whole, back)], two)
        turned = {n: a.swapaxes(0, 1) if n in ("x", "h0", "c0") else a for n, a in one.items()}
        y, *last = run(kind, turned, layout=1)
        same(f"{kind} {name}, rows first", [y.transpose(1, 2, 0, 3)] + [a.swapaxes(0, 1) for a in last], whole)
    # what PyTorch does not have is computed as written
    arrays = draw(kind, 4, 3, 8, 40)
    same(f"{kind} clipped", run(kind, arrays, clip=0.5), run(kind, arrays, "fp16", clip=0.5))
END
for bad in fp32,recurrence=cudnn fp16,acc=fp16,recurrence=cudnn bf16,unit=none,recurrence=cudnn; do
    says 2 "$bad" "recurrence=" list "$bad"
done
says 2 "there is no proof of a kernel" "add recurrence=plain" prove model.onnx -a torch:fp16,unit=mma
says 0 "a kernel is described" "where cuDNN's kernels store" list bf16,recurrence=cudnn
exit $failed
