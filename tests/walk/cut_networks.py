"""Parts cut out of real networks, with dimensions freed where the part still runs at other sizes: small models with inputs.

Everything follows from a seed. A part is a connected set of nodes; what it reads from others becomes an input of the graph, with the value that the
network has there; constants come with it. ONNX Runtime, in a process of its own, says at which sizes a part runs."""
import pathlib
import random

import numpy as np
import onnx
import onnx.version_converter
from onnx import helper, numpy_helper

# Nodes that edits and plans care about: parts grow from these four times as often as from others.
ANCHORS = set("MatMul Softmax ReduceMean ReduceSum ReduceL2 Sqrt Div Pow Erf Where Gemm LayerNormalization Reciprocal Tanh Log Exp "
              "BatchNormalization Conv Cast Reshape Expand".split())
MOST_ELEMENTS = 30000  # of the inputs together, and of the outputs
MOST_CONSTANTS = 500000
SIZES = [1, 1, 2, 3, 5, 8]


def implicit(node):
    """Names that bodies of the node read from around it."""
    names = []
    for attribute in node.attribute:
        for body in ([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)):
            known = {v.name for v in body.input} | {t.name for t in body.initializer}
            for inner in body.node:
                names += [n for n in [*inner.input, *implicit(inner)] if n and n not in known]
                known |= set(inner.output)
            names += [o.name for o in body.output if o.name not in known]
    return list(dict.fromkeys(names))


def reads(node):
    return list(dict.fromkeys([n for n in node.input if n] + implicit(node)))


def sample_of(folder, names):
    if (folder / "inputs.npz").exists():
        return dict(np.load(folder / "inputs.npz"))
    tensors = [onnx.load_tensor(str(folder / "test_data_set_0" / f"input_{i}.pb")) for i in range(len(names))]
    return {name: numpy_helper.to_array(tensor) for name, tensor in zip(names, tensors)}


class Network:
    """A model, and the values of all its names at its sample; of a newer opset, where it has a name that edits want there."""

    def __init__(self, folder, run, opset=None):
        self.name = folder.name if not opset else f"{folder.name}@{opset}"
        self.model = onnx.load(str(folder / "model.onnx"))
        if opset:
            self.model = onnx.version_converter.convert_version(self.model, opset)
        graph = self.model.graph
        self.constants = {t.name: t for t in graph.initializer}
        self.producers = {o: n for n, node in enumerate(graph.node) for o in node.output if o}
        self.readers = {}
        for n, node in enumerate(graph.node):
            for name in reads(node):
                self.readers.setdefault(name, []).append(n)
        feeds = sample_of(folder, [v.name for v in graph.input if v.name not in self.constants])
        for value in graph.input:
            if value.name in feeds:  # a sample in another type than the model's
                kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                feeds[value.name] = feeds[value.name].astype(kind)
        recorder = onnx.ModelProto()
        recorder.CopyFrom(self.model)
        outputs = {o.name for o in graph.output}
        recorder.graph.output.extend(onnx.ValueInfoProto(name=name) for name in self.producers if name not in outputs)
        status, made = run(recorder.SerializeToString(), [feeds], False)
        if status != "ok" or isinstance(made[0], str):
            raise ValueError(f"{self.name}: {made if status != 'ok' else made[0]}"[:300])
        self.values = {**feeds, **{k: v for k, v in made[0].items() if isinstance(v, np.ndarray)}}


def neighbours(network, number, backwards=True, forwards=True):
    node = network.model.graph.node[number]
    found = [network.producers[name] for name in reads(node) if name in network.producers] if backwards else []
    return found + ([n for name in node.output for n in network.readers.get(name, [])] if forwards else [])


def grow(network, first, dice):
    """By chance, more often towards the inputs."""
    taken, most = {first}, dice.choice([2, 3, 5, 8, 12, 20])
    for _ in range(4 * most):
        back = dice.random() < 0.6
        around = neighbours(network, dice.choice(sorted(taken)), back, not back)
        if around and len(taken) < most:
            taken.add(dice.choice(around))
    return taken


def surround(network, first, dice):
    """Everything in some steps' reach, as operators written out are, and what leads to it alone."""
    taken, edge = {first}, [first]
    for _ in range(dice.choice([2, 3, 4, 5, 6])):
        edge = [n for number in edge for n in dict.fromkeys(neighbours(network, number)) if n not in taken]
        taken |= set(edge)
        if len(taken) > 40:
            break
    return taken


def choose(network, dice):
    """A connected set of nodes, as sorted numbers."""
    nodes = network.model.graph.node
    weights = [4 if node.op_type in ANCHORS else 0 if node.op_type == "Constant" else 1 for node in nodes]
    taken = dice.choice([grow, surround, surround])(network, dice.choices(range(len(nodes)), weights)[0], dice)
    for n in sorted(taken):  # with the constants that they read
        for name in reads(nodes[n]):
            producer = network.producers.get(name)
            if producer is not None and nodes[producer].op_type == "Constant":
                taken.add(producer)
    return sorted(taken)


def cut(network, dice):
    """(model without sizes, {input: value}, names of outputs); None: it is no model by itself."""
    graph = network.model.graph
    numbers = choose(network, dice)
    nodes = [graph.node[n] for n in numbers]
    if all(node.op_type == "Constant" for node in nodes):
        return None
    inside = {o for node in nodes for o in node.output if o}
    names = list(dict.fromkeys(name for node in nodes for name in reads(node) if name not in inside))
    constants = [network.constants[name] for name in names if name in network.constants]
    inputs = {name: network.values.get(name) for name in names if name not in network.constants}
    asked = {o.name for o in graph.output}
    outputs = [o for n in numbers for o in graph.node[n].output
               if o and (o in asked or not set(network.readers.get(o, [])) <= set(numbers) or o not in network.readers)
               and graph.node[n].op_type != "Constant"]
    if not inputs or not outputs or any(v is None or v.dtype == object for v in inputs.values()) or \
            any(network.values.get(o) is None for o in outputs) or \
            not any(network.values[o].dtype == np.float32 for o in outputs) or \
            sum(int(np.prod(t.dims)) for t in constants) > MOST_CONSTANTS:
        return None
    model = onnx.ModelProto(ir_version=max(4, network.model.ir_version), producer_name="cut")
    model.opset_import.extend(network.model.opset_import)
    model.functions.extend(network.model.functions)
    model.graph.name = "part"
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(constants)
    return model, inputs, outputs


def resize(value, dims):
    """The value's own elements again and again, or fewer of them, so that indices and masks stay what they are."""
    for axis, size in enumerate(dims):
        value = np.take(value, np.arange(size) % value.shape[axis], axis) if value.shape[axis] else np.zeros(
            (*value.shape[:axis], size, *value.shape[axis + 1:]), value.dtype)
    return np.array(value, order="C")


def declare(model, inputs, symbols, outputs=None):
    """The model's inputs with their sizes, those in symbols by name; outputs: {name: (type, dims)}."""
    del model.graph.input[:], model.graph.output[:]
    for name, value in inputs.items():
        dims = [symbols.get((name, axis), size) for axis, size in enumerate(value.shape)]
        model.graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), dims))
    for name, (kind, dims) in (outputs or {}).items():
        model.graph.output.append(helper.make_tensor_value_info(name, kind, dims) if dims is not None else onnx.ValueInfoProto(name=name))


class Part:
    """model, symbols {(input, axis): name}, sizes: vectors {symbol: size} at which it runs, the first one is the sample's."""

    def __init__(self, model, inputs, symbols, vectors, outputs):
        self.model, self.inputs, self.symbols, self.vectors, self.outputs = model, inputs, symbols, vectors, outputs

    def feeds(self, vector):
        return feeds_of(self.inputs, self.symbols, vector)


def feeds_of(inputs, symbols, vector):
    return {name: resize(value, [vector.get(symbols.get((name, axis)), size) for axis, size in enumerate(value.shape)])
            for name, value in inputs.items()}


def elements(feeds):
    return sum(value.size for value in feeds.values())


class Probe:
    """Runs the part with all its sizes free."""

    def __init__(self, model, inputs, outputs, run):
        self.inputs, self.run, self.known = inputs, run, {}
        self.probe = onnx.ModelProto()
        self.probe.CopyFrom(model)
        free = {(name, axis): f"p{i}_{axis}" for i, (name, value) in enumerate(inputs.items()) for axis in range(value.ndim)}
        declare(self.probe, inputs, free, {name: (0, None) for name in outputs})
        self.bytes = self.probe.SerializeToString()

    def at(self, symbols, vector):
        """The outputs, or None."""
        key = tuple(sorted((place, vector[s]) for place, s in symbols.items() if vector[s] != self.inputs[place[0]].shape[place[1]]))
        if key not in self.known:
            feeds = feeds_of(self.inputs, symbols, vector)
            status, made = self.run(self.bytes, [feeds], False) if elements(feeds) <= MOST_ELEMENTS else ("large", None)
            self.known[key] = made[0] if status == "ok" and not isinstance(made[0], str) and elements(made[0]) <= MOST_ELEMENTS else None
        return self.known[key]


def free_sizes(probe, dice):
    """{(input, axis): symbol}: each by itself where that runs, else all of one size together."""
    symbols, left = {}, {}
    for i, (name, value) in enumerate(probe.inputs.items()):
        for axis, size in enumerate(value.shape):
            place = {(name, axis): "s"}
            other = dice.choice([size + 1, 2 * size, size + 3]) if size < 64 else max(1, size // dice.choice([2, 4, 8]))
            if size and probe.at(place, {"s": other}) is not None:
                symbols[name, axis] = f"n{i}_{axis}"
            elif size:
                left.setdefault(size, []).append((name, axis))
    for size, places in left.items():
        other = dice.choice([size + 1, 2 * size]) if size < 64 else max(1, size // 2)
        for tried in (places, [p for p in places if p[1] == 0], [p for p in places if p[1] == 1]):
            if len(tried) > 1 and probe.at(dict.fromkeys(tried, "s"), {"s": other}) is not None:
                symbols.update(dict.fromkeys(tried, f"m{size}"))
                break
    return symbols


def draw_vector(probe, symbols, dice, sample):
    vector = {}
    for (name, axis), symbol in symbols.items():
        size = probe.inputs[name].shape[axis]
        vector[symbol] = dice.choice([*SIZES, size if size <= 64 else 8, max(1, size // 2), size + 1])
        if sample and dice.random() < 0.4:
            vector[symbol] = 1
        elif sample and dice.random() < 0.4 and size <= 64:
            vector[symbol] = size
    return vector


def outputs_of(probe, symbols, vectors):
    """{name: (type, dims)}: sizes that never change, else the symbol that they always are, else a name of their own."""
    made = [probe.at(symbols, v) for v in vectors]
    result = {}
    for o, name in enumerate(made[0]):
        shapes = [m[name].shape for m in made]
        if len({len(s) for s in shapes}) > 1:
            return None
        dims = []
        for axis in range(len(shapes[0])):
            at = [s[axis] for s in shapes]
            same = [s for s in dict.fromkeys(symbols.values()) if all(v[s] == a for v, a in zip(vectors, at))]
            dims.append(at[0] if len(set(at)) == 1 and len(vectors) > 2 else same[0] if same else f"o{o}_{axis}")
        result[name] = (helper.np_dtype_to_tensor_dtype(made[0][name].dtype), dims)
    return result


def make_part(network, seed, run):
    """A Part, or None."""
    dice = random.Random(f"{network.name} {seed}")
    found = cut(network, dice)
    if not found:
        return None
    model, inputs, outputs = found
    scale = np.float32(dice.choice([1, 1, 1, 30, 300, 3000]))
    inputs = {k: v * scale if v.dtype == np.float32 else v for k, v in inputs.items()}
    # Sizes beyond what a walk can afford are cut down before anything is freed.
    inputs = {k: v if v.size <= MOST_ELEMENTS else None for k, v in inputs.items()}
    if any(v is None for v in inputs.values()) or elements(inputs) > MOST_ELEMENTS:
        return None
    probe = Probe(model, inputs, outputs, run)
    if probe.at({}, {}) is None:
        return None
    symbols = free_sizes(probe, dice)
    while symbols:
        vectors = []
        for tried in range(16):
            vector = draw_vector(probe, symbols, dice, not vectors)
            if vector not in vectors and probe.at(symbols, vector) is not None:
                vectors.append(vector)
            if len(vectors) == 4:
                break
        if len(vectors) >= 3:
            break
        gone = dice.choice(sorted(set(symbols.values())))
        symbols = {place: s for place, s in symbols.items() if s != gone}
    if not symbols:
        if dice.random() < 0.8:
            return None
        vectors = [{}]
    declared = outputs_of(probe, symbols, vectors)
    if not declared:
        return None
    declare(model, inputs, symbols, declared)
    return Part(model, inputs, symbols, vectors, declared)


def networks(data):
    """Folders with a model and its sample."""
    return [folder for room in ("models", "pretrained", "generated", "causes4", "mixed") for folder in sorted((pathlib.Path(data) / room).glob("*"))
            if (folder / "model.onnx").exists() and ((folder / "inputs.npz").exists() or (folder / "test_data_set_0" / "input_0.pb").exists())]
