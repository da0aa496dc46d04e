"""Inputs of the measured networks, and others of the same kind."""
import numpy
import onnx
from onnx import numpy_helper


def read_inputs(folder, model):
    if (folder / "inputs.npz").exists():
        return dict(numpy.load(folder / "inputs.npz"))
    names = [i.name for i in model.graph.input if i.name not in {c.name for c in model.graph.initializer}]
    files = sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
    return {name: numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes())) for name, file in zip(names, files)}


def vary(inputs, seed):
    """Another input of the same kind: rolled, scaled a little, with noise; whole numbers rolled."""
    random, out = numpy.random.default_rng(seed), {}
    for name, value in inputs.items():
        axis, shift = (value.ndim - 1, int(random.integers(1, max(2, value.shape[-1] // 4)))) if value.ndim else (None, 0)
        moved = numpy.roll(value, shift, axis)
        if value.dtype.kind == "f":
            noise = random.standard_normal(value.shape) * 0.02 * float(value.std())
            moved = (moved * random.uniform(0.8, 1.2) + noise).astype(value.dtype)
        out[name] = moved
    return out


def samples(folder, count):
    """The network's own inputs, and others of their kind."""
    given = read_inputs(folder, onnx.load(folder / "model.onnx"))
    return [given] + [vary(given, seed) for seed in range(1, count)]
