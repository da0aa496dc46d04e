"""Documentation: U8S8 saturates by whole steps on x86-64 without VNNI, and the option that ends it is not named there.

Seen: onnxruntime 1.32.0, CPUExecutionProvider, on a processor with AVX2 and no VNNI (or: qemu-x86_64 -cpu Haswell python ort_u8s8.py). Page: performance/model-optimizations/quantization, "When and why do I
need to try U8U8?".

The page says of VPMADDUBSW that "generally, this is not a big issue for the final result", and names reduce_range and U8U8. The model below is what quantize_static writes of a MatMul of K = 256 whose weights use
their range: activations UINT8 in [0, 1], weights INT8 in [-1, 1]. With the default session its sums are those of pairs of products clipped to 16 bits, and every output of a column can be off by several steps; with VNNI,
on ARM and with the optimiser off they are exact, so that the same file gives other results on other processors, without a word.

Proposed for the page:
 - name session.x64quantprecision=1 (onnxruntime_session_options_config_keys.h, since 1.12), which takes U8U8 kernels for the same file, beside reduce_range and U8U8;
 - say that a pair of products leaves 16 bits where two neighbouring weights of one sign are 65 and more (255 * (65 + 65) > 32767), so that one can look at one's weights;
 - say that results then differ between processors.

    python ort_u8s8.py        # exit code 0: as reported; 1: sums are exact here (a processor with VNNI)
"""
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

rows, inner, columns = 8, 256, 16
rng = np.random.default_rng(3)
x, w = rng.uniform(0, 1, (rows, inner)).astype(np.float32), rng.uniform(-1, 1, (inner, columns)).astype(np.float32)
sx, sw, sy = np.float32(1 / 255), np.float32(1 / 127), np.float32(0.3)
codes = np.clip(np.rint(w / sw), -127, 127).astype(np.int8)
node = h.make_node
nodes = [
    node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]), node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]), node("DequantizeLinear", ["wq", "sw", "zw"], ["wd"]),
    node("MatMul", ["xd", "wd"], ["y"]), node("QuantizeLinear", ["y", "sy", "zy"], ["yq"]), node("DequantizeLinear", ["yq", "sy", "zy"], ["out"]),
]  # fmt: skip
constants = {"sx": sx, "sw": sw, "sy": sy, "zx": np.uint8(0), "zw": np.int8(0), "zy": np.uint8(128), "wq": codes}
ends = [h.make_tensor_value_info("x", T.FLOAT, x.shape)], [h.make_tensor_value_info("out", T.FLOAT, [rows, columns])]
model = h.make_model(h.make_graph(nodes, "u8s8", *ends, [nh.from_array(np.asarray(v), k) for k, v in constants.items()]), opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)

bytes_ = np.clip(np.rint(x / sx), 0, 255).astype(np.int64)
pairs = bytes_[:, 0::2, None] * codes[None, 0::2].astype(np.int64) + bytes_[:, 1::2, None] * codes[None, 1::2].astype(np.int64)
exact, clipped = pairs.sum(1), np.clip(pairs, -32768, 32767).sum(1)
store = lambda sums: (np.clip(np.rint(sums * float(sx) * float(sw) / float(sy)) + 128, 0, 255) - 128) * float(sy)


def run(**settings):
    options = ort.SessionOptions()
    for key, value in settings.items():
        options.add_session_config_entry(key, value)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


default, precise = run(), run(**{"session.x64quantprecision": "1"})
print(f"onnxruntime {ort.__version__}: {100 * (pairs != np.clip(pairs, -32768, 32767)).mean():.1f} % of the pairs leave 16 bits")
for name, made in (("default", default), ("session.x64quantprecision=1", precise)):
    steps = np.abs(made - store(exact)) / float(sy)
    print(f"  {name}: {(np.abs(made - store(exact)) < 1e-4).sum()} of {made.size} outputs exact, {(np.abs(made - store(clipped)) < 1e-4).sum()} as of clipped pairs, off by up to {steps.max():.0f} steps")
sys.exit(not (np.abs(default - store(exact)) > 1e-4).any())
