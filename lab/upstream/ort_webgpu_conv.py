"""WebGPU: Conv is wrong where input channels are 6, 9, 15, 18, 21, ... (multiples of 3 from 6 on that are none of 4) and output channels a multiple of 4.

Seen: onnxruntime-webgpu 1.25.1 and 1.27.0, WebGpuExecutionProvider, FP32 and FP16, on two Vulkan drivers with equal figures (SwiftShader; lavapipe of Mesa 22.3.6), so in the shader and not in a driver.
A kernel of 3x3 (k > 1); 1x1 is right. Right: 1 to 5, 7, 8, 10 to 14, 16, 128, 130 input channels. Fits microsoft/onnxruntime#29651 (9 input channels).

The graph is one Conv with constant weights; the CPU provider's result is within FP32's rounding of the exact one. WebGPU's is off by as much as the result itself (-2 dB).

    pip install onnxruntime-webgpu onnx
    VK_ICD_FILENAMES=.../vk_swiftshader_icd.json python ort_webgpu_conv.py        # exit code 0: as reported; 1: not reproduced; 2: there is no WebGPU here
"""
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

if "WebGpuExecutionProvider" not in ort.get_available_providers():
    print(f"onnxruntime {ort.__version__} has no WebGpuExecutionProvider")
    sys.exit(2)
rng = np.random.default_rng(0)
wrong = {}
for channels in (3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 18):
    x, w = rng.standard_normal((1, channels, 8, 8)).astype(np.float32), rng.standard_normal((16, channels, 3, 3)).astype(np.float32)
    ends = [h.make_tensor_value_info("x", T.FLOAT, x.shape)], [h.make_tensor_value_info("y", T.FLOAT, [1, 16, 6, 6])]
    model = h.make_model(h.make_graph([h.make_node("Conv", ["x", "w"], ["y"])], "conv", *ends, [nh.from_array(w, "w")]), opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    made = [ort.InferenceSession(model.SerializeToString(), providers=[p]).run(None, {"x": x})[0].astype(np.float64) for p in ("WebGpuExecutionProvider", "CPUExecutionProvider")]
    error = ((made[0] - made[1]) ** 2).sum()
    wrong[channels] = error > 1e-8 * (made[1] ** 2).sum()
    print(f"onnxruntime {ort.__version__}: {channels} input channels: {10 * np.log10((made[1] ** 2).sum() / error) if error else np.inf:.1f} dB")
sys.exit(not (wrong[6] and wrong[9] and not wrong[4] and not wrong[8]))
