#!/usr/bin/env python3
"""Whether `compare` explains pictures that were prepared wrongly for detectors with TopK or NonMaxSuppression, and passes honest recordings.

    lab/judge_preparations.py PROGRAM DATA FOLDER [--only NETWORK,...] [--more MODEL.onnx]

Networks of DATA/models get the rows of boxes that a runtime's post-processing makes of their outputs, by NonMaxSuppression or by TopK; deimv2 has TopK itself. --more: an export of
YOLOv8 (output [1, 4 + classes, rows]), as the package nudenet ships one. A recording is what the program itself gives in TF32 or FP16 for a picture with one preparation wrong;
honest ones are ONNX Runtime's in FP32, another GPU's and FP16 with an FP16 accumulator or fused kernels. Where a preparation moves no output by a tenth of its spread in FP32,
nothing is planted. Exit code 1: one was explained, or an honest one accused.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/cli"))
from planted_preparations import moves  # noqa: E402

PREPARATIONS = {
    "channels": lambda x: x[:, ::-1],
    "mean": lambda x: (x - x.mean()) / (x.std() + 1e-6) if abs(x.mean()) > 0.1 * x.std() else x + 2 * x.std(),
    "x255": lambda x: x / 255 if np.abs(x).max() > 4 else x * 255,
    "resize": lambda x: x[:, :, :, (np.arange(x.shape[3]) * 3) // 4],
    "half pixel": lambda x: (x + np.roll(x, 1, 3)) / 2,
}
HONEST = {"fp32": ["ort", "fp32@h100"], "tf32": ["tf32@h100", "tf32"], "fp16": ["fp16@h100", "fp16,acc=fp16", "fp16,fuse=reduce"]}


class Head:
    """Nodes behind a network's outputs."""

    def __init__(self, path, shape):
        self.model = onnx.load(path)
        self.model = onnx.version_converter.convert_version(self.model, 13) if self.model.opset_import[0].version < 13 else self.model
        self.graph, self.count = self.model.graph, 0
        for i, size in enumerate(shape):
            self.graph.input[0].type.tensor_type.shape.dim[i].dim_value = size

    def constant(self, *values, type="i8"):
        self.count += 1
        self.graph.initializer.append(numpy_helper.from_array(np.array(values[0] if type == "f4" else values, type), f"head_c{self.count}"))
        return f"head_c{self.count}"

    def add(self, op, *reads, outputs=1, **attributes):
        self.count += 1
        makes = [f"head_{op}{self.count}" + ("" if o == 0 else f"_{o}") for o in range(outputs)]
        self.graph.node.append(helper.make_node(op, list(reads), makes, name=makes[0], **attributes))
        return makes[-1]

    def suppress(self, boxes, scores, least):
        """Rows of boxes that NonMaxSuppression leaves, and their scores."""
        found = self.add("NonMaxSuppression", boxes, scores, self.constant(50), self.constant([0.5], type="f4"), self.constant([least], type="f4"))
        rows = self.add("Squeeze", self.add("Gather", found, self.constant(2), axis=1), self.constant(1))
        best = self.add("ReduceMax", scores, axes=[1], keepdims=0)
        return [(self.add("Gather", boxes, rows, axis=1), 1), (self.add("Gather", best, rows, axis=1), 1)]

    def take(self, boxes, scores, count):
        """The rows of the best scores of any class."""
        best = self.add("ReduceMax", scores, axes=[1], keepdims=0)
        at = self.add("TopK", best, self.constant(count), outputs=2, axis=1)
        at = self.add("Expand", self.add("Unsqueeze", at, self.constant(-1)), self.constant(1, count, 4))
        return [(self.add("GatherElements", boxes, at, axis=1), 1), (self.graph.node[-4].output[0], 1)]

    def save(self, path, outputs):
        del self.graph.output[:], self.graph.value_info[:]
        self.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT if kind == 1 else TensorProto.INT64, None) for name, kind in outputs)
        onnx.save(self.model, path)


def corners(head, centre, size):
    half = head.add("Mul", size, head.constant([0.5], type="f4"))
    return head.add("Concat", head.add("Sub", centre, half), head.add("Add", centre, half), axis=2)


def yunet(data, end):
    head = Head(data / "models/yunet_n_320/model.onnx", (1, 3, 320, 320))
    anchors = np.concatenate([np.stack(np.meshgrid(np.arange(320 // s), np.arange(320 // s)), -1).reshape(1, -1, 2) * s for s in (8, 16, 32)], 1).astype("f4")
    strides = np.concatenate([np.full((1, (320 // s) ** 2, 1), s) for s in (8, 16, 32)], 1).astype("f4")
    cls, obj, box = (head.add("Concat", *(f"{name}_{s}" for s in (8, 16, 32)), axis=1) for name in ("cls", "obj", "bbox"))
    scores = head.add("Transpose", head.add("Sqrt", head.add("Mul", cls, obj)), perm=[0, 2, 1])
    by = head.constant(strides, type="f4")
    at = head.add("Slice", box, head.constant(0), head.constant(2), head.constant(2))
    size = head.add("Slice", box, head.constant(2), head.constant(4), head.constant(2))
    centre = head.add("Add", head.add("Mul", at, by), head.constant(anchors, type="f4"))
    boxes = corners(head, centre, head.add("Mul", head.add("Exp", size), by))
    return head, head.suppress(boxes, scores, 1e-5) if end == "nms" else head.take(boxes, scores, 40)


def ultraface(data, end):
    head = Head(data / "models/ultraface_rfb_320/model.onnx", (1, 3, 240, 320))
    face = head.add("Transpose", head.add("Slice", "scores", head.constant(1), head.constant(2), head.constant(2)), perm=[0, 2, 1])
    return head, head.suppress("boxes", face, 0.05) if end == "nms" else head.take("boxes", face, 40)


def yolo(path, end):
    head = Head(path, (1, 3, 320, 320))
    rows = head.add("Transpose", head.graph.output[0].name, perm=[0, 2, 1])
    centre, size = (head.add("Slice", rows, head.constant(a), head.constant(a + 2), head.constant(2)) for a in (0, 2))
    scores = head.add("Slice", head.graph.output[0].name, head.constant(4), head.constant(10000), head.constant(1))
    return head, head.suppress(corners(head, centre, size), scores, 0.002) if end == "nms" else head.take(corners(head, centre, size), scores, 40)


def networks(asked):
    data, folder = asked.data, asked.folder
    picture = np.load(data / "models/deimv2_atto_coco/inputs.npz")["images"]
    made = {"deimv2": (str(data / "models/deimv2_atto_coco/model.onnx"), dict(np.load(data / "models/deimv2_atto_coco/inputs.npz")), "images")}
    makers = {f"{name}-{end}": (make, end) for end in ("nms", "topk") for name, make in (("yunet", yunet), ("ultraface", ultraface))}
    for name, (make, end) in makers.items():
        made[name] = (make, end, {"yunet": "yunet_n_320", "ultraface": "ultraface_rfb_320"}[name.split("-")[0]])
    if asked.more:
        made.update({f"more-{end}": (lambda _, end: yolo(asked.more, end), end, None) for end in ("nms", "topk")})
    for name, (model, *rest) in sorted(made.items(), key=lambda item: callable(item[1][0]), reverse=True):
        if asked.only and name not in asked.only.split(","):
            continue
        if callable(model):
            head, outputs = model(data, rest[0])
            path, image = folder / f"{name}.onnx", head.graph.input[0].name
            head.save(path, outputs)
            inputs = dict(np.load(data / f"models/{rest[1]}/inputs.npz")) if rest[1] else {image: picture}
            yield name, str(path), inputs, image
        else:
            yield name, model, *rest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("program", "data", "folder"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--only")
    parser.add_argument("--more")
    parser.add_argument("--arithmetics", default="fp32,tf32,fp16")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    counts = collections.Counter()
    for name, model, inputs, image in networks(asked):
        given, recorded = str(asked.folder / "given.npz"), str(asked.folder / "recorded.npz")

        def run(x, arithmetic):
            np.savez(given, **{**inputs, image: np.ascontiguousarray(x, "f4")})
            if arithmetic == "ort":
                session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
                values = session.run(None, {i.name: np.load(given)[i.name] for i in session.get_inputs()})
                np.savez(recorded, **{o.name: value for o, value in zip(session.get_outputs(), values)})
            else:
                subprocess.run([str(asked.program), "run", model, "-i", given, "-a", arithmetic, "-q", "--threads", "1", "-o", recorded], check=True, stdout=subprocess.DEVNULL)
            return dict(np.load(recorded))

        def compare(arithmetic, what):
            np.savez(given, **inputs)
            done = subprocess.run([str(asked.program), "compare", model, recorded, "-i", given, "-a", arithmetic, "-q", "--threads", "1", "--out", str(asked.folder / "out")], capture_output=True,
                                  text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            result = json.loads((asked.folder / "out/compare.json").read_text())
            (file,) = result["files"]
            answer = "explained" if not done.returncode else "untold" if file.get("hidden") else "found"
            print(f"{name}, {what}, asked {arithmetic}: {answer}, {file['cause']['kind']} ({result.get('seconds', 0):.0f} s): {file['cause']['text'][:300]}", flush=True)
            return answer, file["cause"]["kind"] == "preprocessing"

        right = run(inputs[image], "fp32")
        for arithmetic in asked.arithmetics.split(","):
            for other in HONEST[arithmetic]:
                run(inputs[image], other)
                counts["honest " + compare(arithmetic, f"honest {other}")[0]] += 1
            for kind, prepare in PREPARATIONS.items():
                if not moves(right, run(prepare(inputs[image]), "fp32")):
                    counts["harmless"] += 1
                    continue
                run(prepare(inputs[image]), arithmetic)
                answer, by_name = compare(arithmetic, kind)
                counts[answer] += 1
                counts["named"] += by_name
    print(", ".join(f"{word}: {count}" for word, count in sorted(counts.items())))
    sys.exit(bool(counts["explained"] or counts["honest found"]))


main()
