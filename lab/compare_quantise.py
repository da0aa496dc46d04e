#!/usr/bin/env python3
"""Models that `ulpscope quantise` writes beside ONNX Runtime's own quantiser, both run by ONNX Runtime on samples that chose nothing.

    lab/compare_quantise.py PROGRAM DATA [NETWORK...]

DATA is ULPSCOPE_TEST_DATA. Of each network (models/ and pretrained/, converted to opset 13 or later) 16 samples calibrate and 24 judge: the recorded
inputs, and copies of them moved, scaled and with noise. MODEL.onnx:FOLDER is any other network with 40 samples of its own, as .npz. Rivals quantise the same products (Conv, MatMul, Gemm; UINT8 by tensor, INT8 by channel) with
ranges by min and max, percentile and entropy. Printed are decibels of the outputs against the FP32 model's in ONNX Runtime (the least of all float
outputs), what was foreseen for them, the seconds that `quantise` took, and of each file how many products ONNX Runtime's
optimised graph, saved, computes in integers and how many in floats. A/B/C: of the mean of the samples' noise over signal, of its median, of the worst
sample, which of few samples is as much chance as merit."""
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import onnx
    import onnxruntime as ort
    from onnx import version_converter
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

CALIBRATE, JUDGE = 16, 24
NETWORKS = ["models/resnet_4b_cifar10", "models/ultraface_rfb_320", "models/yunet_n_320", "models/micro_kws_fp32", "models/vit_pgd_2_3_16",
            "models/tinybert_1l", "models/fsanet_1x1", "models/cct2_32_opset20", "pretrained/crepe_tiny", "pretrained/mtcnn_onet",
            "pretrained/ppocr2_cls", "models/ppocr_v3_det"]
logging.disable(logging.WARNING)


def vary(x, rng):
    """Another input like x: moved along its last axis, scaled, with noise; integers as they are."""
    if x.dtype.kind != "f":
        return np.roll(x, int(rng.integers(0, max(1, x.shape[-1]))), axis=-1) if x.ndim > 1 else x
    y = np.roll(x, int(rng.integers(0, max(1, x.shape[-1] // 4 + 1))), axis=-1) if x.ndim > 1 else x
    y = y * rng.uniform(0.7, 1.1) + rng.standard_normal(x.shape) * 0.03 * (np.std(x) + 1e-9)
    return np.clip(y, x.min(), x.max()).astype(x.dtype)


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def count_products(path):
    """"11+2": products in integers and in floats, of the optimised graph."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path) + ".optimised"
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [n.op_type for n in onnx.load(options.optimized_model_filepath, load_external_data=False).graph.node]
    integers = sum(n in ("QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat", "MatMulInteger", "ConvInteger", "DynamicQuantizeMatMul") for n in names)
    return f"{integers}+{sum(n in ('Conv', 'FusedConv', 'Gemm', 'FusedGemm', 'MatMul', 'FusedMatMul') for n in names)}"


def decibels(truths, runs):
    noises = []
    for t, r in zip(truths, runs):
        worst = 0
        for a, b in zip(t, r):
            if a.dtype.kind == "f" and a.size and np.any(a):
                worst = max(worst, float(((a.astype(float) - b) ** 2).sum() / (a.astype(float) ** 2).sum()))
        noises.append(worst)
    return "/".join(f"{-10 * np.log10(max(f(noises), 1e-30)):.1f}" for f in (np.mean, np.median, max))


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def prepare(path, folder):
    model = onnx.load(path)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    if opset < 13:
        model = version_converter.convert_version(model, 13)
    model.ir_version = max(model.ir_version, 8)
    for i in list(model.graph.input):
        if any(i.name == w.name for w in model.graph.initializer):
            model.graph.input.remove(i)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def measure(program, data, name):
    rng = np.random.default_rng(59)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        path, own = name.rsplit(":", 1) if ":" in name else (data / name / "model.onnx", None)
        model = prepare(path, folder)
        if own:
            samples = [dict(np.load(f)) for f in sorted(pathlib.Path(own).glob("*.npz"))[: CALIBRATE + JUDGE]]
        else:
            given = dict(np.load(data / name / "inputs.npz"))
            samples = [given] + [{k: vary(v, rng) for k, v in given.items()} for _ in range(CALIBRATE + JUDGE - 1)]
        for part, some in ("samples", samples[:CALIBRATE]), ("others", samples[CALIBRATE:]):
            (folder / part).mkdir()
            for i, sample in enumerate(some):
                np.savez(folder / part / f"{i:02}.npz", **sample)
        others = samples[CALIBRATE:]
        first = session(model)
        truths = [first.run(None, s) for s in others]
        row = {}
        start = time.time()
        done = subprocess.run([program, "quantise", model, "-i", folder / "samples", "--for", "ort", "--validate", folder / "others", "--out", folder / "ours",
                               "--json", folder / "ours.json", "--quiet"], capture_output=True, text=True)
        row["seconds"] = time.time() - start
        if not (folder / "ours/quantised.onnx").exists():
            return row | {(done.stderr + done.stdout)[:300]: np.nan}
        second = session(folder / "ours/quantised.onnx")
        row["ours"] = decibels(truths, [second.run(None, s) for s in others])
        row["products"] = count_products(folder / "ours/quantised.onnx")
        found = json.loads((folder / "ours.json").read_text())
        row["foreseen"] = min((v["value"] for v in found["validated"] if v["metric"] == "sqnr_db"), default=np.nan)
        for method in CalibrationMethod.MinMax, CalibrationMethod.Percentile, CalibrationMethod.Entropy:
            target = folder / "theirs.onnx"
            try:
                quantize_static(str(model), str(target), Reader([dict(s) for s in samples[:CALIBRATE]]), quant_format=QuantFormat.QDQ, per_channel=True,
                                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, calibrate_method=method,
                                op_types_to_quantize=["Conv", "MatMul", "Gemm"])
                third = session(target)
                row["ORT " + method.name] = decibels(truths, [third.run(None, s) for s in others])
                row["its products"] = count_products(target)
            except Exception as e:  # a rival that refuses a network is said as such
                row["ORT " + method.name] = np.nan
                print(name, method.name, str(e)[:200])
        return row


def main():
    program, data = sys.argv[1], pathlib.Path(sys.argv[2])
    for name in sys.argv[3:] or NETWORKS:
        try:
            row = measure(program, data, name)
        except Exception as e:
            print(name, repr(e)[:300])
            continue
        print(f"{pathlib.Path(name.split(':')[0]).stem if ':' in name else name:28}", "  ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)


main()
