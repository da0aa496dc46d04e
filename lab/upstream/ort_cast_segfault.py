"""The optimiser of the CPU provider ends by a signal on Cast(FLOAT to FLOAT16) -> Transpose -> MatMul; the one for CUDA refuses the same.

Seen: onnxruntime 1.32.0, CPUExecutionProvider, ORT_ENABLE_ALL: SIGSEGV in InferenceSession's constructor; ORT_ENABLE_EXTENDED and below load. onnxruntime-gpu 1.31.1, CUDAExecutionProvider,
ORT_ENABLE_EXTENDED and above: refused (transformer_memcpy.cc, ProcessInitializers).

The graph is valid (onnx.checker passes it): x FLOAT -> Cast to FLOAT16 -> Transpose of the first two of three axes -> MatMul with a FLOAT16 constant. A Transpose of the last two axes loads. For CUDA, MatmulTransposeFusion swaps the Cast with the
Transpose before it and makes a Cast that has no SinceVersion, for which no kernel is found; without that optimiser the file loads. On the CPU the crash comes at the highest level alone.

Right: the model loads and gives what ORT_ENABLE_EXTENDED gives.
In the way of it: the Cast behind the Transpose for the CPU provider, before it for CUDA: the two providers want opposite orders.

    python ort_cast_segfault.py        # exit code 0: as reported; 1: not reproduced
"""
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

MODEL = "ort_cast_segfault.onnx"
LOAD = "import sys, onnxruntime as ort; o = ort.SessionOptions(); o.graph_optimization_level = getattr(ort.GraphOptimizationLevel, sys.argv[1]); ort.InferenceSession(sys.argv[2], o, providers=['CPUExecutionProvider'])"


def make(axes):
    shape = [4, 4, 8] if axes == [1, 0, 2] else [4, 8, 4]
    nodes = [h.make_node("Cast", ["x"], ["c"], to=T.FLOAT16), h.make_node("Transpose", ["c"], ["t"], perm=axes), h.make_node("MatMul", ["t", "w"], ["y"])]
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float16)
    ends = [h.make_tensor_value_info("x", T.FLOAT, shape)], [h.make_tensor_value_info("y", T.FLOAT16, [4, 4, 8])]
    model = h.make_model(h.make_graph(nodes, "turned", *ends, [nh.from_array(weights, "w")]), opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, MODEL)


import onnxruntime as ort

found = {}
for axes in ([1, 0, 2], [0, 2, 1]):
    make(axes)
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
        done = subprocess.run([sys.executable, "-c", LOAD, level, MODEL], capture_output=True, text=True)
        found[axes[0], level] = done.returncode
        print(ort.__version__, f"axes {axes}", level, "loads" if done.returncode == 0 else f"signal {-done.returncode}" if done.returncode < 0 else done.stderr.strip().split("\n")[-1][:160])
sys.exit(not any(code < 0 for (_, level), code in found.items() if level == "ORT_ENABLE_ALL"))
