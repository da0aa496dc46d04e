"""Pictures prepared wrongly, given to small detectors and classifiers: `compare` finds it, or says that it cannot tell, and never explains it.

    planted_preparations.py PROGRAM FOLDER [--explain]

Each network has drawn weights and computes boxes, scores, classes of a drawn picture, six behind TopK, NonMaxSuppression or ArgMax and two without. A recording is what the
program itself gives (equal bits to a plain loop in FP32: tests of run) for a picture with one preparation wrong. Arithmetics asked about: FP32, TF32 and FP16. Where a preparation
moves no float output by a tenth of its spread, nothing is planted. Of honest recordings those in the arithmetic asked about must pass, or be said to be untellable by name."""
import json
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
from onnx_writer import node, write_model  # noqa: E402

SIZE, CLASSES, ROWS = 32, 6, 256
PREPARATIONS = {
    "channels": lambda x: x[:, ::-1],
    "mean": lambda x: (x - 0.45) / 0.225,
    "x255": lambda x: x * 255,
    "resize": lambda x: x[:, :, :, (np.arange(SIZE) * 3) // 4],  # stretched by a third, where the model takes a border
    "layout": lambda x: x.transpose(0, 2, 3, 1).reshape(x.shape),
}


class Network:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.data, self.types = [], {}, {}

    def weights(self, name, *shape):
        self.data[name] = (self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype("f4")
        return name

    def conv(self, reads, name, channels, out, size=3, stride=1):
        self.nodes.append(node("Conv", f"{reads} {self.weights(name + '.w', out, channels, size, size)}", name, kernel_shape=[size, size], strides=[stride] * 2,
                               pads=[size // 2] * 4))
        return name

    def act(self, reads):
        self.nodes.append(node("Relu", reads, reads + ".act"))
        return reads + ".act"

    def add(self, op, reads, makes, **attributes):
        self.nodes.append(node(op, reads, makes, **attributes))
        return makes

    def ints(self, name, *values):
        self.data[name] = np.array(values, "i8")
        return name

    def backbone(self):
        """Features of 16 channels on a grid of 16 by 16."""
        x = self.act(self.conv("image", "stem", 3, 12, stride=2))
        return self.act(self.conv(self.act(self.conv(x, "body", 12, 16)), "neck", 16, 16))

    def heads(self):
        """scores [1, CLASSES, ROWS], boxes [1, ROWS, 4] of two corners."""
        x = self.backbone()
        self.add("Reshape", self.conv(x, "cls", 16, CLASSES, 1) + " " + self.ints("to_scores", 1, CLASSES, ROWS), "logits")
        self.add("Sigmoid", "logits", "all_scores")
        self.add("Reshape", self.conv(x, "reg", 16, 4, 1) + " " + self.ints("to_boxes", 1, 4, ROWS), "flat")
        self.add("Transpose", "flat", "offsets", perm=[0, 2, 1])
        grid = np.stack(np.meshgrid(np.arange(16), np.arange(16)), -1).reshape(1, ROWS, 2) * 2.0 + 1
        self.data["anchors"] = np.concatenate([grid - 2, grid + 2], -1).astype("f4")
        self.add("Add", "offsets anchors", "all_boxes")

    def best(self, count):
        """The rows of the best scores of any class: index [1, count]."""
        self.add("ReduceMax", "all_scores", "row_scores", axes=[1], keepdims=0)
        self.data["count"] = np.array([count], "i8")
        self.add("TopK", "row_scores count", "scores index", axis=1)


def rows_of(net, index, values, out):
    net.add("Unsqueeze", f"{index} {net.ints('last', -1)}", out + ".at")
    net.add("Expand", f"{out}.at {net.ints(out + '.shape', 1, 40, 4)}", out + ".all")
    net.add("GatherElements", f"{values} {out}.all", out, axis=1)


def top_k(net):
    net.heads(), net.best(40), rows_of(net, "index", "all_boxes", "boxes")
    return ["scores", "boxes"]


def scores_alone(net):
    net.heads(), net.best(40)
    return ["scores"]


def two_stages(net):
    """Queries of the best rows, which look at each other."""
    net.heads(), net.best(40), rows_of(net, "index", "all_boxes", "queries")
    net.add("Transpose", "queries", "queries_t", perm=[0, 2, 1])
    net.add("MatMul", "queries queries_t", "products")
    net.data["scale"] = np.float32([0.01])
    net.add("Mul", "products scale", "scaled")
    net.add("Softmax", "scaled", "weights", axis=-1)
    net.add("MatMul", "weights queries", "boxes")
    return ["boxes"]


def suppressed(net, outputs=("boxes",)):
    net.heads()
    net.data.update({"most": np.array([20], "i8"), "iou": np.float32([0.5]), "least": np.float32([0.55])})
    net.add("NonMaxSuppression", "all_boxes all_scores most iou least", "selected")
    net.add("Gather", f"selected {net.ints('two', 2)}", "at", axis=1)
    net.add("Squeeze", f"at {net.ints('one', 1)}", "rows")
    net.add("Gather", "all_boxes rows", "boxes", axis=1)
    return list(outputs)


def suppressed_rows(net):
    suppressed(net)
    net.types["selected"] = 7
    return ["selected"]


def classes(net):
    net.heads()
    net.add("ArgMax", "all_scores", "class", axis=1, keepdims=0)
    net.types["class"] = 7
    return ["class"]


def plain(net):
    net.heads()
    return ["all_scores", "all_boxes"]


def classifier(net):
    net.add("GlobalAveragePool", net.backbone(), "pooled")
    net.add("Flatten", "pooled", "flat")
    net.data["head"] = net.random.standard_normal((16, 10)).astype("f4")
    net.add("MatMul", "flat head", "logits")
    return ["logits"]


NETWORKS = {"top_k": top_k, "scores_alone": scores_alone, "two_stages": two_stages, "suppressed": suppressed, "suppressed_rows": suppressed_rows, "classes": classes,
            "plain": plain, "classifier": classifier}


def picture(random):
    """Smooth colours with edges, from 0 to 1."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    waves = [0.5 + 0.5 * np.sin(random.uniform(2, 9) * x + random.uniform(2, 9) * y + random.uniform(0, 6)) for _ in range(3)]
    image = np.stack(waves) * np.array([0.9, 0.6, 0.4])[:, None, None]
    image[:, 8:20, 5:17] = random.uniform(0, 1, (3, 1, 1))
    return image[None].astype("f4")


def moves(right, wrong):
    """By a tenth of its spread, of numbers in their order; other shapes and other integers are moved."""
    for name, a in right.items():
        b = wrong[name]
        if a.shape != b.shape or (a.dtype.kind == "i" and np.mean(a != b) > 0.2):
            return True
        if a.dtype.kind == "f" and np.sqrt(np.mean((np.sort(a, None) - np.sort(b, None)) ** 2)) > 0.1 * a.std():
            return True
    return False


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    counts = {"found": 0, "named": 0, "untold": 0, "explained": 0, "harmless": 0, "honest": 0, "honest_untold": 0, "accused": 0}
    for seed, (name, make) in enumerate(NETWORKS.items()):
        net = Network(seed)
        model, inputs, recorded = (str(folder / f"{name}.{end}") for end in ("onnx", "npz", "recorded.npz"))
        outputs = make(net)
        image = picture(net.random)
        write_model(model, net.nodes, {"image": image.shape}, outputs, net.data, opset=13, types=net.types)

        def run(x, arithmetic):
            np.savez(inputs, image=np.ascontiguousarray(x, "f4"))
            subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-q", "-o", recorded], check=True, stdout=subprocess.DEVNULL)
            return dict(np.load(recorded))

        def compare(arithmetic):
            np.savez(inputs, image=image)
            done = subprocess.run([program, "compare", model, recorded, "-i", inputs, "-a", arithmetic, "-q", "--out", str(folder / "out")], capture_output=True, text=True)
            assert done.returncode in (0, 1), done.stderr
            (file,) = json.loads((folder / "out/compare.json").read_text())["files"]
            return done.returncode, file

        right = run(image, "fp32")
        for arithmetic in ("fp32", "tf32", "fp16"):
            run(image, arithmetic)
            code, file = compare(arithmetic)
            counts["honest" if not code else "honest_untold" if file.get("hidden") else "accused"] += 1
            if code:
                print(f"{name} as recorded in {arithmetic}: {file['cause']['text']}")
        for kind, prepare in PREPARATIONS.items():
            if not moves(right, run(prepare(image), "fp32")):
                counts["harmless"] += 1
                continue
            for arithmetic in ("fp32", "tf32", "fp16"):
                code, file = compare(arithmetic)
                counts["explained" if not code else "untold" if file.get("hidden") else "found"] += 1
                counts["named"] += file["cause"]["kind"] == "preprocessing"
                if not code or "--explain" in sys.argv:
                    print(f"{name}, {kind}, {arithmetic}: exit {code}, {file['cause']['kind']}: {file['cause']['text']}")
    print(", ".join(f"{word}: {count}" for word, count in counts.items()))
    sys.exit(bool(counts["explained"] or counts["accused"]))


if __name__ == "__main__":
    main()
