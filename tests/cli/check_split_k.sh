#!/usr/bin/env bash
# split-k=cublas against an H100: recorded products whose k was cut, where the Python of ULPSCOPE_TEST_PYTHON has numpy and onnx.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
expect 2 "no such table" "$program" list fp16@a100,split-k=cublas
expect 0 "TF32" "$program" list tf32@h100,split-k=cublas
expect 0 "FP32" "$program" list fp32,split-k=cublas
expect 2 "no such products" "$program" list fp16@h100,acc=fp16,factor=fp8-e4m3,split-k=cublas
expect 2 "rows without a table" "$program" list fp16@h100,rows=8
expect 0 "rows" "$program" list fp16@h100,split-k=cublas,rows=8
python3 -c 'import numpy; from onnx import helper' 2>/dev/null || { echo "no numpy and onnx in python3"; [ "$failed" = 0 ] && exit 77; exit "$failed"; }
# what split-k=cublas gives, three slices of whole 64 of 4,096 products, compare finds of the numbers alone; 3 of whole blocks of 16 give others
python3 - "$program" "$source" "$work" <<'END' || fail "compare with slices of 64"
import json, subprocess, sys
import numpy as np
program, source, work = sys.argv[1:]
sys.path.insert(0, source + "/examples")
from onnx_writer import node, write_model
generator = np.random.default_rng(0)
x, w = (generator.standard_normal(shape, np.float32).astype(np.float16).astype(np.float32) for shape in ((64, 4096), (4096, 64)))
model, inputs, recorded = (f"{work}/{name}" for name in ("cut.onnx", "x.npz", "y.npz"))
write_model(model, [node("MatMul", "x w", "y", "deep")], {"x": x.shape}, ["y"], {"w": w}, opset=14)
np.savez(inputs, x=x)
subprocess.run([program, "run", model, "-i", inputs, "-a", "fp16@h100,split-k=cublas", "-q", "-o", recorded], check=True)
np.savez(recorded, x=x, y=np.load(recorded)["y"])
said = subprocess.run([program, "compare", model, "-i", inputs, recorded, "-a", "fp16@h100,split-k=auto", "--out", work + "/found"], capture_output=True, text=True).stdout
(found,) = json.load(open(work + "/found/compare.json"))["slices"]
if (found["slices"], found["tile"], found["found"], found["others"]) != (3, 64, True, "") or "is cut in 3 slices of whole 64 products" not in said:
    sys.exit(f"{found}\n{said}")
END
python3 "$source/lab/compare_split_k.py" "$program" "$source/tests/data/split_k/h100_split_k.npz" --largest $((8192 * 1024)) || fail "products differ"

exit "$failed"
