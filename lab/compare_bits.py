#!/usr/bin/env python3
"""Equal bits, counted: of networks that an NVIDIA GPU ran node by node, the tensors whose every bit ulpscope gives.

    lab/compare_bits.py ULPSCOPE DATA FILE [MODEL...] [--types f16,bf16,tf32] [--list] [--at-least SHARE]

FILE, of lab/record_bits.py, has every tensor as a hash, in FP16, BF16 and TF32: of whole runs, and of each node on the FP64 run's values. DATA has the models. Counted are nodes that round (ROUNDING): no Reshape, Gather, Relu,
integers or constants, and none that the recording computed by several kernels (HardSigmoid, HardSwish, ReduceL2). On equal inputs: a node whose inputs, an FP64 run's values rounded to the type, have the recorded hash (others are listed as left out; FP64 sums in another order may fall to the other side of a tie). All
such nodes of a network are computed in one run of a graph in which every one has inputs of its own. --list: the nodes that differ, and in how many of 64 elements. --at-least: exit code 1 when a smaller share of FP16's or BF16's nodes on equal inputs has
equal bits. Needs numpy and onnx."""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

ARITHMETICS = {"f16": "torch:fp16@h100,split-k=cublas", "bf16": "torch:bf16@h100,split-k=cublas", "tf32": "torch:tf32@h200,split-k=cublas"}
ROUNDING = set("""Add AveragePool BatchNormalization Conv ConvTranspose Cos CumSum Div Elu Erf Exp Gelu Gemm GlobalAveragePool GridSample InstanceNormalization LayerNormalization LeakyRelu Log LogSoftmax MatMul Mul PRelu
    Pow Reciprocal ReduceMean ReduceProd ReduceSum Resize Sigmoid Sin Softmax Softplus Sqrt Sub Sum Tanh Upsample SimplifiedLayerNormalization SkipSimplifiedLayerNormalization GroupQueryAttention""".split())


def bits(values, kind):
    """As lab/record_bits.py has them: one zero, one NaN."""
    values = np.where(values == 0, np.float32(0), values).astype(np.float32).ravel()
    values = np.where(np.isnan(values), np.float32(np.nan), values)
    with np.errstate(over="ignore"):
        if kind == "f16":
            return values.astype(np.float16).view(np.int16)
        if kind == "tf32":
            return values.view(np.int32)
    wide = values.view(np.uint32).astype(np.uint64)
    rounded = ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).view(np.int16)


def digest(*arrays):
    import hashlib
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(array.tobytes())
    return np.frombuffer(whole.digest()[:8], np.uint64)[0]


def rounded(values, kind):
    own = bits(values, kind)
    if kind == "tf32":
        return own.view(np.float32).reshape(values.shape)
    return (own.view(np.float16).astype(np.float32) if kind == "f16" else (own.view(np.uint16).astype(np.uint32) << 16).view(np.float32)).reshape(values.shape)


def run(program, model, inputs, arithmetic, out):
    done = subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "--all-values", "-q", "-o", out], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model} in {arithmetic}: {done.stderr.strip()}")
    return np.load(out)


def node_name(node, index):
    return node.name or f"{node.op_type}_{index}"


class Network:
    def __init__(self, program, folder, work):
        self.program, self.work = program, work
        self.path = os.path.join(folder, "model.onnx")
        self.inputs = os.path.join(folder, "inputs.npz")
        if not os.path.exists(self.inputs):
            self.inputs = os.path.join(folder, "test_data_set_0")
        self.model = onnx.load(self.path)
        graph = self.model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.constants.update({n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"})
        names = [i.name for i in graph.input if i.name not in self.constants]
        if self.inputs.endswith(".npz"):
            given = dict(np.load(self.inputs))
        else:
            files = sorted(glob.glob(os.path.join(self.inputs, "input_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))
            given = {name: numpy_helper.to_array(onnx.load_tensor(file)) for name, file in zip(names, files)}
        values = run(program, self.path, self.inputs, "fp64", os.path.join(work, "exact.npz"))
        self.values = {**{name: values[name] for name in values.files}, **self.constants, **given}

    def whole(self, kind):
        return run(self.program, self.path, self.inputs, ARITHMETICS[kind], os.path.join(self.work, "whole.npz"))

    def single(self, kind, recorded):
        """{output: (read, result)} of the nodes that round; read: are its inputs the recorded ones."""
        nodes, feeds, constants, wanted = [], {}, {}, {}
        for index, node in enumerate(self.model.graph.node):
            outputs = [o for o in node.output if o in recorded]
            if node.op_type not in ROUNDING or not outputs or any(x and x not in self.values for x in node.input):
                continue
            floats = [self.values[x] for x in node.input if x and self.values[x].dtype.kind == "f"]
            equal = digest(*[bits(v, kind) for v in floats]) == recorded[outputs[0]][0]
            read = []
            for place, name in enumerate(node.input):
                own = f"{index}.{place}" if name else ""
                if name and (name in self.constants or self.values[name].dtype.kind != "f"):
                    constants[own] = self.values[name].astype(np.float32) if self.values[name].dtype.kind == "f" else self.values[name]
                elif name:
                    feeds[own] = rounded(self.values[name], kind)
                read.append(own)
            copy = helper.make_node(node.op_type, read, [o and f"{index}.{o}" for o in node.output], node_name(node, index), domain=node.domain)
            copy.attribute.extend(node.attribute)
            nodes.append(copy)
            wanted.update({o: (equal, f"{index}.{o}") for o in outputs})
        graph = helper.make_graph(nodes, "nodes", [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, a.shape) for n, a in feeds.items()],
                                  [helper.make_empty_tensor_value_info(name) for _, name in wanted.values()], [numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in constants.items()])
        path, inputs = os.path.join(self.work, "nodes.onnx"), os.path.join(self.work, "nodes.npz")
        onnx.save(helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version), path)
        np.savez(inputs, **feeds)
        out = run(self.program, path, inputs, ARITHMETICS[kind], os.path.join(self.work, "single.npz"))
        return {name: (equal, out[own]) for name, (equal, own) in wanted.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("file")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--types", default=",".join(ARITHMETICS), help="of %(default)s")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--at-least", type=float, default=0)
    given = parser.parse_args()
    recorded = np.load(given.file)
    facts, program = json.loads(bytes(recorded["meta"])), os.path.abspath(given.program)
    count = collections.defaultdict(lambda: [0, 0])  # equal, all
    networks = {}
    with tempfile.TemporaryDirectory() as work:
        for index, entry in enumerate(facts["runs"]):
            model, kind = entry["model"], entry["type"]
            folders = [f for f in (os.path.join(given.data, room, model) for room in ("models", "generated")) if os.path.exists(f)]
            if not folders or kind not in given.types.split(",") or (given.models and model not in given.models):
                continue
            if model not in networks:
                networks = {model: Network(program, folders[0], work)}
            table = {n["output"]: (h[0], h[1], h[2], p) for n, h, p in zip(entry["nodes"], recorded[f"r{index}.hash"], recorded[f"r{index}.part"])}
            single, whole = networks[model].single(kind, table), networks[model].whole(kind)
            first = None
            for node in entry["nodes"]:
                name = node["output"]
                if name not in single:
                    continue
                inputs_equal, values = single[name]
                _, own, its, parts = table[name]
                mine = bits(values, kind)
                same = digest(mine) == own
                if inputs_equal:
                    for key in ((kind, "single", "all"), (kind, "single", node["op"]), (kind, "single", model)):
                        count[key][0] += same
                        count[key][1] += 1
                    if given.list and not same:
                        part = mine[np.linspace(0, len(mine) - 1, 64).astype(np.int64)]
                        print(f"  {kind} {model} {node['op']} {node['node']} {node['shape']}: {np.sum(part == parts[0])} of 64")
                else:
                    count[(kind, "left out", "all")][1] += 1
                if name in whole.files:
                    same = digest(bits(whole[name], kind)) == its
                    first = first or (None if same else f"{node['op']} {node['node']}")
                    for key in ((kind, "whole", "all"), (kind, "whole", node["op"]), (kind, "whole", model)):
                        count[key][0] += same
                        count[key][1] += 1
            print(f"{model:26} {kind:4}  on equal inputs {count[(kind, 'single', model)][0]:4} of {count[(kind, 'single', model)][1]:4}   whole {count[(kind, 'whole', model)][0]:4} of {count[(kind, 'whole', model)][1]:4}   first that differs: {first or 'none'}", flush=True)
    print(f"\n{facts['device']}, PyTorch {facts['torch']}\n\n{'':22}" + "".join(f"{kind:>16}{'whole':>16}" for kind in ARITHMETICS))
    for op in sorted({key[2] for key in count if key[1] == "single" and (key[2] in ROUNDING or key[2] == "all")}, key=lambda o: (o == "all", o)):
        print(f"{op:22}" + "".join(f"{count[(kind, what, op)][0]:9} / {count[(kind, what, op)][1]:4}" for kind in ARITHMETICS for what in ("single", "whole")))
    shares = {(kind, what): count[(kind, what, "all")][0] / max(1, count[(kind, what, "all")][1]) for kind in ARITHMETICS for what in ("single", "whole")}
    print("\n" + "; ".join(f"{kind}: {shares[(kind, 'single')]:.1%} on equal inputs ({count[(kind, 'left out', 'all')][1]} left out), {shares[(kind, 'whole')]:.1%} in whole runs" for kind in ARITHMETICS))
    sys.exit(any(shares[(kind, "single")] < given.at_least for kind in ("f16", "bf16")))


if __name__ == "__main__":
    main()
