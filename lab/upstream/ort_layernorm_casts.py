"""LayerNormFusion passes over Casts and makes a LayerNormalization whose input and scale differ in type: the session is refused.

Seen: onnxruntime 1.32.0, CPUExecutionProvider, ORT_ENABLE_BASIC and above; ORT_DISABLE_ALL loads.

A LayerNormalization that is written out in FLOAT between Casts, its input in FLOAT16 and its scale in FLOAT, is a valid ONNX model (onnx.checker passes it), as converters to mixed
precision write it: x16 -> Cast to FLOAT -> ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div -> Mul by a FLOAT scale -> Add. From opset 17 on the fusion takes the value before the Cast as the
operator's input and keeps the FLOAT scale, so that T of LayerNormalization has two types, and Graph::Resolve refuses the model that was valid.

Right: the model loads, as it does without the fusion. Either the Cast stays before the fused operator, or the pattern is not taken where types would differ.
In the way of it: the squares as Mul(c, c) in place of Pow(c, 2), which the fusion does not look for.

    python ort_layernorm_casts.py        # exit code 0: as reported; 1: not reproduced
"""
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

ort.set_default_logger_severity(4)
nodes = [
    h.make_node("Cast", ["x"], ["f"], to=T.FLOAT), h.make_node("ReduceMean", ["f"], ["m"], axes=[-1]), h.make_node("Sub", ["f", "m"], ["c"]), h.make_node("Pow", ["c", "two"], ["q"]),
    h.make_node("ReduceMean", ["q"], ["v"], axes=[-1]), h.make_node("Add", ["v", "e"], ["ve"]), h.make_node("Sqrt", ["ve"], ["s"]), h.make_node("Div", ["c", "s"], ["n"]),
    h.make_node("Mul", ["n", "g"], ["ng"]), h.make_node("Add", ["ng", "b"], ["y"]),
]  # fmt: skip
constants = {"two": np.float32(2), "e": np.float32(1e-5), "g": np.ones(8, np.float32), "b": np.zeros(8, np.float32)}
graph = h.make_graph(nodes, "norm", [h.make_tensor_value_info("x", T.FLOAT16, [2, 8])], [h.make_tensor_value_info("y", T.FLOAT, [2, 8])], [nh.from_array(np.asarray(v), k) for k, v in constants.items()])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
said = {}
for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        said[level] = f"loads: {session.run(None, {'x': np.arange(16, dtype=np.float16).reshape(2, 8)})[0].ravel()[:2]}"
    except Exception as error:
        said[level] = f"refused: {str(error)[:200]}"
    print(ort.__version__, level, said[level])
sys.exit(not (said["ORT_DISABLE_ALL"].startswith("loads") and said["ORT_ENABLE_ALL"].startswith("refused")))
