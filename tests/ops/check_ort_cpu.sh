#!/usr/bin/env bash
# Kernels of ONNX Runtime's CPU provider in FP32 (lab/record_ort_cpu.py): ort-cpu has every bit, and plain fp32, whose functions are correctly rounded and whose rows are
# added one after the other, has not, nor have its products, which are added in blocks. What the optimiser makes one operator of is computed as that.
# FP16 attention stores its scores or computes in FP32. MatMulNBits widens FP16 activations, and with accuracy_level 4 makes bytes of them. A pool's window that is larger than its input is cut.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: recordings are not read"; exit 77; }
sample=$source/tests/data/ort_cpu
for arithmetic in ort-cpu fp32,steps=ort-cpu fp32; do
    expect 0 "$arithmetic" "$program" run "$sample/model.onnx" -i "$sample/inputs.npz" -a "$arithmetic" -q -o "$arithmetic.npz"
done
python "$sample/outputs.npz" <<'END' || fail "bits"
recorded, ours, same, plain = (np.load(f) for f in (sys.argv[1], "ort-cpu.npz", "fp32,steps=ort-cpu.npz", "fp32.npz"))
bad = 0
for name in recorded.files:
    half = recorded[name].dtype == np.float16  # alone of all it is not stored in FP32
    bits = [float((recorded[name] == other[name].astype(recorded[name].dtype)).mean()) if half else float((recorded[name].view("u4") == other[name].view("u4")).mean()) for other in (ours, same, plain)]
    in_order = name in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "MaxPool", "AveragePool", "Conv_groups", "Conv_line", "GlobalAveragePool_blocks", "SimplifiedLayerNormalization5", "SimplifiedLayerNormalization15") or name.startswith("SkipSimplified")
    print(f"{name:20} ort-cpu {bits[0]:.4f} fp32,steps=ort-cpu {bits[1]:.4f} fp32 {bits[2]:.4f}")
    bad += bits[0] < 1 or (not half and bits[2] == 1) if half or name.startswith("Joined") else not (bits[0] == bits[1] == 1 and (bits[2] == 1) == in_order)
sys.exit(bad > 0)
END
# A node that is kept in another arithmetic is none that the optimiser joins.
expect 0 keep "$program" run "$sample/model.onnx" -i "$sample/inputs.npz" -a ort-cpu --keep op:Div=bf16 -q -o kept.npz
python3 - <<'END' || fail "kept nodes are joined"
import numpy as np
kept, joined = np.load("kept.npz"), np.load("ort-cpu.npz")
for name in ("Joined_gelu", "Joined_written"):
    assert (kept[name] == joined[name]).mean() < .9, name
END
exit $failed
