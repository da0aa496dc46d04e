"""Six small networks, run by ONNX Runtime's CPU provider and by QNN's HTP simulator where these are installed, beside what the program foresees of them.

    runtime_networks.py EXAMPLES PROGRAM cpu|qnn

Limits. FP32: both add in other orders, so that values differ by a few hundred roundings of 2^-24 of the largest sum (2e-5, as in lab/compare_ort.py). FP16 graphs on a processor: the same, as
most of what is computed there is FP32. Bytes: equal. HTP: an output's error is that of a few thousand roundings which fall as foreseen or not: the rms of 512 elements and more is within a
decibel of the forecast where every rounding has the size foreseen, and within 3 where functions (Softmax, Tanh) or a normalisation have errors whose size alone is known. Of what it does with
bytes the figures are only printed."""
import math
import pathlib
import subprocess
import sys

import numpy as np

EXAMPLES, PROGRAM, RUNTIME = sys.argv[1:]
sys.path.insert(0, EXAMPLES)
from onnx_writer import FLOAT16, node, write_model  # pylint: disable=wrong-import-position

random = np.random.default_rng(7)
CLOSE, DECIBEL, SIZED = 2e-5, 1.0, 3.0


def draw(*shape, scale=None):
    return (random.standard_normal(shape) * (scale or 1 / math.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0]))).astype(np.float32)


def write(name, nodes, inputs, output, constants, types=None):
    pathlib.Path(name).mkdir()
    write_model(f"{name}/model.onnx", nodes, inputs, output, constants, opset=17, types=types)
    np.savez(f"{name}/inputs.npz", **{key: draw(*shape, scale=1).astype(np.float16 if (types or {}).get(key) == FLOAT16 else np.float32) for key, shape in inputs.items()})


def make():
    write("dense", [node("Gemm", "x a b", "h"), node("Relu", "h", "r"), node("Gemm", "r c d", "y")], {"x": (32, 96)}, {"y": (32, 32)},
          {"a": draw(96, 128), "b": draw(128, scale=.1), "c": draw(128, 32), "d": draw(32, scale=.1)})
    write("conv", [node("Conv", "x a b", "p", pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", "p", "r"), node("Conv", "r c", "q", group=16, pads=[1, 1, 1, 1]),
                   node("Conv", "q e f", "s"), node("Add", "s r", "t"), node("MaxPool", "t", "y", kernel_shape=[2, 2], strides=[2, 2])],
          {"x": (1, 4, 32, 32)}, {"y": (1, 16, 8, 8)}, {"a": draw(16, 4, 3, 3), "b": draw(16, scale=.1), "c": draw(16, 1, 3, 3), "e": draw(16, 16, 1, 1), "f": draw(16, scale=.1)})
    norm = [node("LayerNormalization", "x g b", "n", axis=-1), node("MatMul", "n a", "p"), node("Mul", "p s", "m"), node("MatMul", "m c", "q"), node("Add", "q x", "y")]
    write("norm", norm, {"x": (48, 64)}, {"y": (48, 64)}, {"g": draw(64, scale=1), "b": draw(64, scale=.1), "a": draw(64, 128), "c": draw(128, 64), "s": np.array(0.75, np.float32)})
    write("attention", [node("MatMul", "x q", "a"), node("MatMul", "x k", "b"), node("MatMul", "x v", "c"), node("Transpose", "b", "t", perm=[1, 0]), node("MatMul", "a t", "s"),
                        node("Div", "s root", "d"), node("Softmax", "d", "w", axis=-1), node("MatMul", "w c", "y")],
          {"x": (40, 48)}, {"y": (40, 48)}, {"q": draw(48, 48), "k": draw(48, 48), "v": draw(48, 48), "root": np.array(48**.5, np.float32)})
    write("half", [node("MatMul", "x a", "p"), node("Relu", "p", "r"), node("MatMul", "r b", "q"), node("Tanh", "q", "y")], {"x": (32, 64)}, {"y": (32, 32)},
          {"a": draw(64, 96).astype(np.float16), "b": draw(96, 32).astype(np.float16)}, {"x": FLOAT16, "y": FLOAT16})
    weights, scale = random.integers(-127, 128, (64, 48)), np.array(.02, np.float32)
    write("bytes", [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "f"), node("DequantizeLinear", "w t o", "v"), node("MatMul", "f v", "p"),
                    node("QuantizeLinear", "p u z", "e"), node("DequantizeLinear", "e u z", "y")], {"x": (16, 64)}, {"y": (16, 48)},
          {"s": scale, "z": np.array(128, np.uint8), "w": weights.astype(np.int8), "t": np.array(.001, np.float32), "o": np.array(0, np.int8), "u": np.array(.05, np.float32)})


def ours(name, arithmetic):
    done = subprocess.run([PROGRAM, "run", f"{name}/model.onnx", "-i", f"{name}/inputs.npz", "-a", arithmetic, "-o", "out.npz", "-q"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}, {arithmetic}: {done.stderr}")
    return np.load("out.npz")["y"].astype(np.float64)


def away(value, truth):
    return math.sqrt(np.mean(np.square(value - truth)) / np.mean(np.square(truth)))


def processor(name):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(f"{name}/model.onnx", options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(np.load(f"{name}/inputs.npz")))[0].astype(np.float64)


def against_processor(name):
    """The arithmetic, what is found, whether that is good."""
    flags = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    saturating = " avx2 " in flags and "avx512_vnni" not in flags and "avx_vnni" not in flags
    arithmetic = {"half": "ort-cpu", "bytes": "ort-cpu,qdq=integer" + ",integers=saturating16" * saturating}.get(name, "fp32")
    off = away(ours(name, arithmetic), processor(name))
    return arithmetic, f"{off:.1e} apart", off == 0 if name == "bytes" else off <= CLOSE


def against_htp(name):
    import onnxruntime
    import onnxruntime_qnn

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNNExecutionProvider"]
    options.add_provider_for_devices(devices[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "offload_graph_io_quantization": "0", "enable_htp_fp16_precision": "1", "soc_model": "60", "htp_arch": "73"})
    session = onnxruntime.InferenceSession(f"{name}/model.onnx", options)
    # the conversion of outputs to FP32 adds a rounding of its own
    theirs = session.run(None, dict(np.load(f"{name}/inputs.npz")))[0].astype(np.float16).astype(np.float64)
    truth = ours(name, "fp64")
    arithmetic = "fp32,qdq=integer" if name == "bytes" else "qnn:fp16"
    foreseen, recorded = (-20 * math.log10(away(value, truth)) for value in (ours(name, arithmetic), theirs))
    return arithmetic, f"{foreseen:.1f} dB foreseen, {recorded:.1f} given", name == "bytes" or abs(foreseen - recorded) <= (DECIBEL if name in ("dense", "conv") else SIZED)


def main():
    judge = against_processor if RUNTIME == "cpu" else against_htp
    if RUNTIME == "qnn":
        import onnxruntime
        import onnxruntime_qnn

        onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
    make()
    bad = 0
    for name in ("dense", "conv", "norm", "attention", "half", "bytes"):
        try:
            arithmetic, said, good = judge(name)
        except Exception as error:  # of ONNX Runtime's many kinds
            arithmetic, said, good = "-", f"not run: {str(error).splitlines()[0][:120]}", RUNTIME == "qnn" and name in ("half", "bytes")
        bad += not good
        print(f"{'good' if good else 'BAD '} {name}: {arithmetic}: {said}", flush=True)
    sys.exit(bool(bad))


main()
