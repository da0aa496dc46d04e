#!/usr/bin/env python3
"""Models that NVIDIA ModelOpt quantises and exports on a CPU: are they read, and do they compute what ModelOpt does?

    lab/compare_modelopt.py [PROGRAM]

Three small networks of PyTorch in each configuration that ModelOpt exports without a GPU, and as ONNX files that ModelOpt quantises. `run -a fp32` of the
file beside the network's own output with fake quantisers (of what is not rounded to FP16), in dB: last bits of FP32 before a quantiser change single codes, so that
25 dB is asked for, and the median said. ModelOpt's kernels for dynamic blocks are CUDA's: while it calibrates and traces, values pass them as they are. Products
without biases in NVFP4 and MXFP8, which are legal ONNX of an FP32 network, are beside ModelOpt's NVFP4QTensor and MXFP8QTensor of weights and values.
ONNX Runtime says which files are none of the standard's. Needs modelopt, torch, onnx, onnxruntime; skipped without them."""
import copy
import pathlib
import statistics
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
try:
    import modelopt.onnx.quantization
    import modelopt.torch.quantization as mtq
    import onnx
    import onnxruntime
    import torch
    from modelopt.torch._deploy.utils.torch_onnx import OnnxBytes, get_onnx_bytes_and_metadata
    from modelopt.torch.quantization import tensor_quant
    from modelopt.torch.quantization.qtensor import MXFP8QTensor, NVFP4QTensor
    from torch import nn
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "ulpscope"
CONFIGURATIONS = [("FP8_DEFAULT_CFG", "fp32"), ("FP8_DEFAULT_CFG", "fp16"), ("INT8_DEFAULT_CFG", "fp32"), ("INT8_SMOOTHQUANT_CFG", "fp32"),
                  ("INT8_WEIGHT_ONLY_CFG", "fp32"), ("MXFP8_DEFAULT_CFG", "fp16"), ("MXFP8_DEFAULT_CFG", "fp32"), ("NVFP4_DEFAULT_CFG", "fp32")]


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(64, 128), nn.Linear(128, 64), nn.LayerNorm(64)

    def forward(self, x):
        return self.n(x + self.b(torch.relu(self.a(x))))


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 128, bias=False), nn.Linear(128, 64, bias=False)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def nvfp4(x, quantizer):
    codes, scale, tensor_scale = NVFP4QTensor.quantize(x, 16, None, quantizer.amax.float() / (6 * 448))
    return codes.dequantize(torch.float32, scale=scale, double_scale=tensor_scale, block_sizes={-1: 16})


def mxfp8(x, _):
    codes, scale = MXFP8QTensor.quantize(x)
    return codes.dequantize(torch.float32, scale=scale, block_sizes={-1: 32})


def products(model, fake, x):
    """What the network of Products computes of factors that are rounded so."""
    def layer(linear, x):
        return fake(x, linear.input_quantizer) @ fake(linear.weight, linear.weight_quantizer).T
    with torch.no_grad():
        return layer(model.b, torch.relu(layer(model.a, x))).numpy()


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.l = nn.Conv2d(16, 32, 3, padding=1), nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.Linear(32, 16)

    def forward(self, x):
        return self.l(torch.relu(self.b(torch.relu(self.a(x)))).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o, self.m = nn.Linear(64, 192), nn.Linear(64, 64), Layers()

    def forward(self, x):
        q, k, v = self.q(x).reshape(x.shape[0], x.shape[1], 3, 4, 16).permute(2, 0, 3, 1, 4)
        p = torch.softmax(q @ k.transpose(-1, -2) / 4, -1)
        return self.m(x + self.o((p @ v).transpose(1, 2).reshape(x.shape)))


def read(path, x):
    """ulpscope's output in FP32, or what it says."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        first = onnx.load(path).graph.input[0]
        np.savez(scratch / "x.npz", **{first.name: x.astype(onnx.helper.tensor_dtype_to_np_dtype(first.type.tensor_type.elem_type))})
        done = subprocess.run([PROGRAM, "run", path, "-i", scratch / "x.npz", "-a", "fp32", "-o", scratch / "y.npz", "-q"], capture_output=True, text=True)
        if done.returncode:
            return None, " ".join(done.stderr.split())[-150:]
        with np.load(scratch / "y.npz") as arrays:
            return next(iter(arrays.values())), ""


def is_standard(path):
    """False: ONNX's own inference of types, or ONNX Runtime, refuses it too."""
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        if all(node.domain != "trt" for node in onnx.load(path).graph.node):
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            first = session.get_inputs()[0]
            session.run(None, {first.name: np.zeros(first.shape, np.float32)})
    except Exception:
        return False
    return True


def exports(folder):
    """(name, file, input, output wanted or None)."""
    networks = [(Layers, torch.randn(4, 64)), (Convolutions, torch.randn(2, 16, 16, 16)), (Attention, torch.randn(2, 32, 64))]
    for cls, x in networks:
        for words, weights in CONFIGURATIONS:
            name = f"{cls.__name__}, {words}, weights {weights}"
            try:
                model = mtq.quantize(cls().eval(), copy.deepcopy(getattr(mtq, words)), forward_loop=lambda m: m(x))
                with torch.no_grad():
                    wanted = None if weights == "fp16" or "FP4" in words or "MX" in words else model(x).numpy()
                data, _ = get_onnx_bytes_and_metadata(model, (x,), model_name="model", weights_dtype=weights)
            except Exception as e:
                print(f"{name}: not exported: {type(e).__name__}: {str(e)[:60]!r}")
                continue
            path = folder / f"{len(list(folder.iterdir()))}.onnx"
            path.write_bytes(next(v for k, v in OnnxBytes.from_bytes(data).onnx_model.items() if k.endswith(".onnx")))
            yield name, path, x.numpy(), wanted
        plain = folder / "plain.onnx"
        torch.onnx.export(cls().eval(), (x,), plain, dynamo=False, opset_version=19, input_names=["x"])
        for mode in ("fp8", "int8", "int4"):
            path = folder / f"{cls.__name__}_{mode}.onnx"
            modelopt.onnx.quantization.quantize(str(plain), quantize_mode=mode, calibration_data={"x": x.numpy()}, calibration_eps=["cpu"],
                                                output_path=str(path), high_precision_dtype="fp32")
            yield f"{cls.__name__}, ONNX {mode}", path, x.numpy(), None
    for words, fake in (("NVFP4_DEFAULT_CFG", nvfp4), ("MXFP8_DEFAULT_CFG", mxfp8)):
        x = torch.randn(4, 64)
        model = mtq.quantize(Products().eval(), copy.deepcopy(getattr(mtq, words)), forward_loop=lambda m: m(x))
        data, _ = get_onnx_bytes_and_metadata(model, (x,), model_name="model")
        path = folder / f"{words}.onnx"
        path.write_bytes(next(v for k, v in OnnxBytes.from_bytes(data).onnx_model.items() if k.endswith(".onnx")))
        yield f"Products, {words}", path, x.numpy(), products(model, fake, x)


def main():
    torch.manual_seed(0)
    tensor_quant.dynamic_block_quantize_op = lambda x, *_: x.clone()
    counts, decibels, wrong = {"read": 0, "refused, types mixed": 0, "refused, as by ONNX Runtime": 0, "refused": 0}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path, x, wanted in exports(pathlib.Path(folder)):
            got, said = read(path, x)
            mixed = "weights fp32" in name and ("NVFP4" in name or "MXFP8" in name)  # FLOAT16 products with a FLOAT bias
            kind = "read" if got is not None else "refused, types mixed" if mixed else "refused" if is_standard(path) else "refused, as by ONNX Runtime"
            counts[kind] += 1
            line = f"{name}: {kind}{'; ' + said if said else ''}"
            if got is not None and wanted is not None:
                error = np.sum((got.astype(float) - wanted) ** 2)
                decibels.append(10 * np.log10(np.sum(wanted.astype(float) ** 2) / error) if error else np.inf)
                line += f", {decibels[-1]:.1f} dB"
                wrong += not decibels[-1] >= 25
            print(line)
    print(f"{counts}; {len(decibels)} beside ModelOpt's own outputs, median {statistics.median(decibels):.1f} dB, least {min(decibels):.1f}")
    return 1 if wrong or counts["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
