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

# study --rows: its classes, differences and first choices are those of one run for each number of rows
python3 - "$program" <<'END' || fail "study --rows"
import json, subprocess, sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
program = sys.argv[1]
generator = np.random.default_rng(3)
def weight(name, *shape):
    return numpy_helper.from_array((generator.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32), name)
nodes = [helper.make_node("MatMul", ["x", "up"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"], "relu"),
         helper.make_node("MatMul", ["b", "down"], ["h"], "second"), helper.make_node("Gemm", ["h", "head"], ["y"], "third"), helper.make_node("ArgMax", ["h"], ["id"], "choice", axis=-1, keepdims=0)]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
                          [helper.make_tensor_value_info(n, t, None) for n, t in (("h", TensorProto.FLOAT), ("y", TensorProto.FLOAT), ("id", TensorProto.INT64))],
                          [weight("up", 64, 4096), weight("down", 4096, 512), weight("head", 512, 16)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "rows.onnx")
np.savez("rows.npz", x=generator.standard_normal((4, 64)).astype(np.float32))
rows = [1, 16, 48, 128]
subprocess.run([program, "study", "rows.onnx", "-i", "rows.npz", "--rows", ",".join(map(str, rows)), "--json", "rows.json", "-q"], check=True, stdout=subprocess.DEVNULL)
study = json.load(open("rows.json"))
runs = []
for count in rows:
    subprocess.run([program, "run", "rows.onnx", "-i", "rows.npz", "-a", f"fp16@h100,split-k=cublas,rows={count}", "-q", "-o", "rows-out.npz"], check=True)
    with np.load("rows-out.npz") as file:
        runs.append({name: file[name].copy() for name in file.files})
classes = []
for count, run in zip(rows, runs):
    same = [c for c in classes if all(np.array_equal(run[n], runs[rows.index(c[0])][n]) for n in run)]
    if same:
        same[0].append(count)
    else:
        classes.append([count])
assert len(classes) > 1, "the test's network shows nothing"
assert [c["rows"] for c in study["classes"]] == classes, (study["classes"], classes)
for output in study["outputs"]:
    values = np.stack([run[output["name"]].astype(np.float64) for run in runs])
    width = values.max(0) - values.min(0)
    assert output["elements"] == width.size and output["differing"] == (width > 0).sum() and output["width_max_abs"] == width.max(), output
    assert abs(output["width_relative"] - np.sqrt((width ** 2).sum() / (values[0] ** 2).sum())) <= 1e-12 * output["width_relative"], output
    choices = values.argmax(-1) if output["name"] != "id" else values[:, :0]
    assert output["choices"] == choices[0].size and output["flipped"] == (choices != choices[0]).any(0).sum(), output
assert [n["name"] for n in study["nodes"]] == ["second"] and study["product_count"] == 3, study["nodes"]
END
expect 2 "rows beside a reference" "$program" study rows.onnx --rows 1,8 --reference fp64
expect 2 "rows of slices" "$program" study rows.onnx --rows 1,8 --sweep fp16@h100,split-k=4
python3 - <<'END' || fail "models of which nothing can be said"
import onnx
from onnx import TensorProto, helper
relu = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], [helper.make_empty_tensor_value_info("y")])
onnx.save(helper.make_model(relu, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "relu.onnx")
END
expect 1 "no product" "$program" study relu.onnx --rows 1,8 -q
exit "$failed"
