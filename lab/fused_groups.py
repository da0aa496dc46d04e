#!/usr/bin/env python3
"""Write the kernels that torch.compile made of a network (gpu/h200_fused.json.gz) as groups for fuse=FILE.

    lab/fused_groups.py DATA MODEL OUT.json [--mode f16|tf32]

A recorded kernel lists every ONNX node that contributes to it, those included whose results it reads from memory. Here a
group has what the kernel computes: of what it lists, the nodes that no kernel before it has, and those they are made of
up to results that are in memory: what a library reads or adds a bias to. A library's kernel has its product
alone (the one it lists that no library before it did), which a fused kernel behind it has, too, where the bias is added
there: not behind addmm. A kernel that adds a bias may have nothing else: when another library reads the sum with its bias,
or where the library's factors were padded. A kernel that lists a product still to come lays its factor out: what it stores
is that library's own copy, and other kernels compute the value again. Needs onnx.
"""
import argparse
import gzip
import json
import os

import onnx

PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum"}


class Graph:
    """Names as the recording and ulpscope have them (OP_index where a node has none), and who reads whom."""

    def __init__(self, path):
        nodes = onnx.load(path, load_external_data=False).graph.node
        self.names = [node.name or f"{node.op_type}_{i}" for i, node in enumerate(nodes)]
        self.ops = {name: node.op_type for name, node in zip(self.names, nodes)}
        self.order = {name: i for i, name in enumerate(self.names)}
        made = {value: name for name, node in zip(self.names, nodes) for value in node.output}
        self.sources = {name: [made[value] for value in node.input if value in made] for name, node in zip(self.names, nodes)}


def is_library(group):
    return group["kind"].startswith("Extern") and group["name"].startswith("extern_kernels")


def find_groups(graph, recorded):
    stored, computed, products, groups = set(), set(), set(), []
    copied = {}   # by product: nodes whose values were stored for it alone
    bare = set()  # products that a library stored without their bias, which no kernel has added yet
    for group in recorded:
        nodes = [name for name in group["nodes"] if name in graph.order]
        if is_library(group):
            own = [name for name in nodes if graph.ops[name] in PRODUCTS and name not in products]
            own = own[-1:] if own else []
            products.update(own)
            for name in own:
                stored.update(set(graph.sources[name]) - copied.get(name, set()))
            if group["name"].endswith("addmm"):
                stored.update(own)
            else:
                bare.update(own)
            if own:
                groups.append({"name": group["name"], "nodes": own})
            continue
        for name in nodes:
            if graph.ops[name] in PRODUCTS and name not in products:
                copied.setdefault(name, set()).update(nodes)
        nodes = [name for name in nodes if graph.ops[name] not in PRODUCTS or name in products]
        new = [name for name in nodes if name not in computed and name not in products]
        if group["kind"].startswith("Extern"):
            continue
        if not new:
            last = max(nodes, key=graph.order.get, default=None)
            if last in bare:
                bare.discard(last)
                groups.append({"name": f"kernel {len(groups)}", "nodes": [last]})
            continue
        inside, stack = set(), list(new)
        while stack:
            name = stack.pop()
            if name in inside or name in stored or name not in nodes:
                continue
            inside.add(name)
            if name not in products:
                stack.extend(graph.sources[name])
        computed.update(inside)
        bare -= inside
        if inside:
            groups.append({"name": f"kernel {len(groups)}", "nodes": sorted(inside, key=graph.order.get)})
    return groups


def write(data, model, mode, out):
    with gzip.open(os.path.join(data, "gpu", "h200_fused.json.gz")) as file:
        recorded = {network["model"]: network for network in json.load(file)}[model]
    for folder in ("models", "generated"):
        path = os.path.join(data, folder, model, "model.onnx")
        if os.path.exists(path):
            break
    graph = Graph(path)
    groups = find_groups(graph, recorded["modes"][mode]["groups"])
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"groups": groups}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--mode", default="f16")
    options = parser.parse_args()
    write(options.data, options.model, options.mode, options.out)


if __name__ == "__main__":
    main()
