#!/usr/bin/env bash
# ort-cuda:fp16 and ort-cuda:bf16: single operators have the bits that ONNX Runtime's CUDA provider gave on an H100, some on an H200 (a sample; Gelu 99.5 %), and fp16 alone has not; steps= says of whom it is.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: operators are not compared"; exit 77; }
sample=$source/tests/data/ort_cuda/operators.npz
python3 "$source/lab/compare_operators.py" "$program" "$sample" ort-cuda:fp16 --least 99.4 >out || fail "operators are not the recorded ones: $(cat out)"
[ "$(wc -l <out)" = 61 ] || fail "operators of the sample: $(wc -l <out)"
python3 "$source/lab/compare_operators.py" "$program" "$sample" ort-cuda:bf16 --bf16 --least 99.4 >out || fail "operators in BF16 are not the recorded ones: $(cat out)"
[ "$(wc -l <out)" = 11 ] || fail "operators of the sample in BF16: $(wc -l <out)"
! python3 "$source/lab/compare_operators.py" "$program" "$sample" fp16 --least 90 >out || fail "fp16 tells nothing: $(cat out)"
# small graphs that the optimiser joins, as lab/record_ort_joins.py recorded them
python3 - "$program" "$source/tests/data/ort_cuda/joined.npz" <<'END' || fail "joined graphs"
import pathlib
import subprocess
import sys

import numpy as np
data = np.load(sys.argv[2])
for key in [name[:-6] for name in data.files if name.endswith("|model")]:
    pathlib.Path("joined.onnx").write_bytes(data[key + "|model"].tobytes())
    np.savez("joined.npz", **{name[len(key) + 3:]: data[name] for name in data.files if name.startswith(key + "|i:")})
    equal = []
    for arithmetic in ("ort-cuda:fp16", "fp16"):
        subprocess.run([sys.argv[1], "run", "joined.onnx", "-i", "joined.npz", "-a", arithmetic, "-q", "-o", "made.npz"], check=True)
        equal.append(np.mean(list(np.load("made.npz").values())[0] == data[key + "|o"]))
    assert equal[0] >= 0.994 and (equal[1] < 0.9 or not key.startswith(("quick", "scale", "norm"))), (key, equal)
END
# a recurrence sums in FP16 there: overflow foresees what audit finds, and nothing of them in FP32
python3 - "$source/examples" <<'END' || fail "a recurrence"
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from onnx_writer import node, write_model
for title, after in (("gru", 1), ("elsewhere", 0)):
    write_model(title + ".onnx", [node("GRU", "x w r - - s", "- h", hidden_size=1, linear_before_reset=after)], {"x": (1, 1, 1)}, {"h": (1, 1, 1)},
                {"w": np.full((1, 3, 1), 300, "f4"), "r": np.full((1, 3, 1), -300, "f4"), "s": np.full((1, 1, 1), 300, "f4")}, opset=14)
np.savez("gru.npz", x=np.full((1, 1, 1), 300, "f4"))
END
expect 1 "a recurrence, audited" "$program" audit gru.onnx -i gru.npz -a ort-cuda:fp16 --fail-above nonfinite=0 -q
says 1 "a recurrence, foreseen" "overflows at 1 of 1 nodes: h (GRU)" overflow gru.onnx -i gru.npz -a ort-cuda:fp16 --fail-on overflows -q
# one that cuDNN has not is the CPU provider's, in FP32
expect 0 "a recurrence elsewhere, audited" "$program" audit elsewhere.onnx -i gru.npz -a ort-cuda:fp16 --fail-above nonfinite=0 -q
expect 0 "a recurrence elsewhere, foreseen" "$program" overflow elsewhere.onnx -i gru.npz -a ort-cuda:fp16 --fail-on overflows -q
expect 0 "a recurrence, sums in FP32" "$program" overflow gru.onnx -i gru.npz -a ort-cuda:fp16,steps=alike --fail-on overflows -q
# it has no GroupQueryAttention of FP32: TF32 is none there
python3 - "$program" "$source/examples" <<'END' || fail "grouped attention in TF32"
import subprocess
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np
from onnx_writer import block, node, write_model
draw = np.random.default_rng(4).standard_normal
arrays = {"q": draw((1, 8, 32)).astype("f4"), "k": draw((1, 8, 16)).astype("f4"), "v": draw((1, 8, 16)).astype("f4")}
fixed = {"e": np.zeros((1, 1, 0, 16), "f4"), "n": np.array([7], "i4"), "t": np.array(8, "i4")}
write_model("gqa.onnx", [node("GroupQueryAttention", "q k v e e n t", "y a b", num_heads=2, kv_num_heads=1) + block(7, "com.microsoft")], {n: a.shape for n, a in arrays.items()}, {"y": (1, 8, 32)}, fixed, opset=18,
            domains={"com.microsoft": 1})
np.savez("gqa.npz", **arrays)
results = []
for arithmetic in ("ort-cuda:tf32", "fp32", "tf32"):
    subprocess.run([sys.argv[1], "run", "gqa.onnx", "-i", "gqa.npz", "-a", arithmetic, "-q", "-o", "gqa_out.npz"], check=True)
    results.append(np.load("gqa_out.npz")["y"])
assert np.allclose(results[0], results[1], rtol=0, atol=2**-20 * np.abs(results[1]).max()) and not np.allclose(results[2], results[1], rtol=0, atol=2**-14)
END
# a mean stores its sum where the axes are the first or the last: overflow foresees it, audit and prove find it; over a middle one the sum stays in FP32
python3 - "$source/examples" <<'END' || fail "means"
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from onnx_writer import node, write_model
for title, shape, axis, opset in (("first", (48, 3), 0, 18), ("last", (2, 3, 48), -1, 13), ("alone", (1, 48, 1, 3), 1, 18), ("middle", (2, 48, 3), 1, 18), ("listed", (2, 48, 3), -2, 13)):
    axes = {"axes": [axis]} if opset < 18 else {}
    write_model(title + ".onnx", [node("ReduceMean", "x" if axes else "x a", "y", keepdims=1, **axes)], {"x": shape},
                {"y": [1 if d == axis % len(shape) else n for d, n in enumerate(shape)]}, {} if axes else {"a": np.array([axis], "i8")}, opset=opset)
    np.savez(title + ".npz", x=np.full(shape, 1500, "f4"))
END
for title in first last alone middle listed; do
    stored=1
    case $title in middle | listed) stored=0 ;; esac
    expect $stored "a mean of $title axes, audited" "$program" audit $title.onnx -i $title.npz -a ort-cuda:fp16 --fail-above nonfinite=0 -q
    expect $stored "a mean of $title axes, foreseen" "$program" overflow $title.onnx -i $title.npz -a ort-cuda:fp16 --fail-on overflows -q
    expect $stored "a mean of $title axes, proven" "$program" prove $title.onnx --input-range x=1400,1500 -a ort-cuda:fp16 --fail-on unproven -q
    expect $stored "a mean of $title axes, proven at the target" "$program" prove $title.onnx --input-range x=1400,1500 --for ort-cuda --fail-on unproven -q --json proof.json
    fields proof.json 'r["arithmetic"] == "ort-cuda:fp16"' "the arithmetic as it was asked for"
    expect 0 "a mean of $title axes in model's types" "$program" overflow $title.onnx -i $title.npz -a fp16 --fail-on overflows -q
done
expect 0 "what rounds otherwise" "$program" list ort-cuda:fp16
shows out "CumSum" "which operators"
expect 2 "no steps to round" "$program" list fp32,steps=ort-cuda
shows err "steps=" "what is wrong"
exit $failed
