#!/usr/bin/env python3
"""Record on an NVIDIA GPU in which order PyTorch's convolutions and products of matrices add, and which kernels they launch.

    lab/record_sum_order.py CASES.json OUT.npz [TYPE...]         on the GPU
    lab/record_sum_order.py --list DATA BITS.npz       write the cases of recorded networks (lab/record_bits.py) to stdout

A case is {op: conv, x, w, strides, dilations, group, bias}, x with its padding, or {op: matmul, x, w}; x and w are shapes. One result is looked at. Of its n products all are 1 but two, at places i and j, which are L and -L, so large
that what is added to either is lost: the sum is the number of products that enter behind the addition in which i and j meet. For i in PIVOTS that is asked of every j; j = i has n. So a chain shows as steps that fall
with j, a slice as a level. The products' places are in the weight's order (channel, then position). BF16 holds 256 as a whole number: there the ones are put in 256 by 256.

OUT.npz: `meta`, JSON as bytes: {torch, cudnn, device, cases: [{..., TYPE: kernels with grids}]}, cN.TYPE.count [pivot][j] and cN.TYPE.value, the first 4,096 elements of the result of operands(case, seed N), as bits."""
import glob
import json
import os
import sys

import numpy as np

TYPES = ("f16", "bf16", "tf32", "f32")
PIVOTS = (0, 1 / 2, 1)  # of the places
LONGEST = 4608  # products of a sum
FIRST = 4096  # elements of a result


def cases_of(data, recorded):
    """Each shape of the recorded networks once."""
    import onnx
    from onnx import helper, numpy_helper
    facts, found = json.loads(bytes(np.load(recorded)["meta"])), {}
    for run in facts["runs"]:
        folders = [f for room in ("models", "generated") if os.path.exists(f := os.path.join(data, room, run["model"]))]
        if run["type"] != "f16" or not folders:
            continue
        graph = onnx.load(os.path.join(folders[0], "model.onnx")).graph
        shape = {node["output"]: node["shape"] for node in run["nodes"]}
        shape.update({t.name: list(t.dims) for t in graph.initializer})
        shape.update({n.output[0]: list(numpy_helper.to_array(n.attribute[0].t).shape) for n in graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"})
        for path in glob.glob(os.path.join(folders[0], "inputs.npz")):
            shape.update({name: list(array.shape) for name, array in np.load(path).items()})
        for node in graph.node:
            if node.op_type not in ("Conv", "MatMul", "Gemm") or any(name not in shape for name in node.input[:2]):
                continue
            x, w = (list(shape[name]) for name in node.input[:2])
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Conv":
                rank, pads = len(x) - 2, list(given.get("pads", [0] * (2 * len(x) - 4)))
                strides, dilations = (list(given.get(key, [1] * rank)) for key in ("strides", "dilations"))
                if given.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
                    total = [max(0, (-(-x[2 + d] // strides[d]) - 1) * strides[d] + (w[2 + d] - 1) * dilations[d] + 1 - x[2 + d]) for d in range(rank)]
                    pads = total + [0] * rank
                x = x[:2] + [x[2 + d] + pads[d] + pads[d + rank] for d in range(rank)]
                case = {"op": "conv", "x": x, "w": w, "strides": strides, "dilations": dilations, "group": given.get("group", 1), "bias": len(node.input) > 2}
            else:
                x, w = x[::-1] if given.get("transA") else x, w[::-1] if given.get("transB") else w
                case = {"op": "matmul", "x": x, "w": w}
                if len(x) < 2 or len(w) < 2:
                    continue
            found.setdefault(json.dumps(case), {**case, "in": []})["in"].append(f"{run['model']} {node.name}")
    return [{**case, "in": case["in"][:3]} for case in found.values()]


def operands(case, seed):
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(case[name], np.float32) for name in ("x", "w")] + ([generator.standard_normal(case["w"][0], np.float32)] if case.get("bias") else [])


def places(case):
    """Flat places in x and w of the products of one result, and its own in the result's last dimensions."""
    x, w = (np.arange(int(np.prod(case[name]))).reshape(case[name]) for name in ("x", "w"))
    if case["op"] == "matmul":
        row, column = (case["x"][-2] // 2, case["w"][-1] // 2)
        return x.reshape(-1, *case["x"][-2:])[0][row], w.reshape(-1, *case["w"][-2:])[0][:, column], (row, column)
    rank = len(case["x"]) - 2
    out = [(case["x"][2 + d] - (case["w"][2 + d] - 1) * case["dilations"][d] - 1) // case["strides"][d] + 1 for d in range(rank)]
    at = tuple(size // 2 for size in out)
    window = tuple(slice(at[d] * case["strides"][d], at[d] * case["strides"][d] + (case["w"][2 + d] - 1) * case["dilations"][d] + 1, case["dilations"][d]) for d in range(rank))
    return x[0, :case["w"][1]][(slice(None), *window)].ravel(), w[0].ravel(), (0, *at)


def record(case, index, kinds, arrays, torch, launches):
    functional = torch.nn.functional

    def compute(x, w, bias=None):
        if case["op"] == "matmul":
            return x @ w
        run = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}[x.dim() - 2]
        return run(x, w, bias, stride=case["strides"], dilation=case["dilations"], groups=case["group"])

    x_at, w_at, at = places(case)
    n = len(x_at)
    for kind in kinds:
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16}.get(kind, torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
        given = [torch.from_numpy(array).to("cuda", dtype) for array in operands(case, index)]
        y, kernels = launches(lambda: compute(*given))
        case[kind] = kernels
        y = y.contiguous().ravel()[:FIRST]
        arrays[f"c{index}.{kind}.value"] = (y.view(torch.int16) if y.element_size() == 2 else y.view(torch.int32)).cpu().numpy()
        if n < 2 or n > LONGEST:
            continue
        large, one = (2.0**15, 2.0**-6) if kind == "f16" else (2.0**40, 1.0)
        step = 256 if kind == "bf16" else n
        bias = [torch.zeros(case["w"][0], device="cuda", dtype=dtype)] if case.get("bias") else []
        x, w = torch.zeros(case["x"], device="cuda", dtype=dtype), torch.zeros(case["w"], device="cuda", dtype=dtype)
        x_flat, w_flat, pivots = x.view(-1), w.view(-1), sorted({int(p * (n - 1)) for p in PIVOTS})
        counts = np.zeros((len(pivots), n))
        for first in range(0, n, step):
            x_flat[torch.from_numpy(x_at).cuda()] = w_flat[torch.from_numpy(w_at).cuda()] = 0
            own_x, own_w = (torch.from_numpy(places[first:first + step]).cuda() for places in (x_at, w_at))
            x_flat[own_x] = w_flat[own_w] = one
            before_x, before_w = x_flat[torch.from_numpy(x_at).cuda()], w_flat[torch.from_numpy(w_at).cuda()]
            for row, i in enumerate(pivots):
                x_flat[x_at[i]] = w_flat[w_at[i]] = large
                results = []
                for j in range(n):
                    if j == i:
                        results.append(torch.full((), 0, device="cuda", dtype=dtype))
                        continue
                    x_flat[x_at[j]], w_flat[w_at[j]] = large, -large
                    y = compute(x, w, *bias)
                    results.append(y.reshape(-1, *y.shape[-len(at):])[0][at].clone())
                    x_flat[x_at[j]], w_flat[w_at[j]] = before_x[j], before_w[j]
                x_flat[x_at[i]], w_flat[w_at[i]] = before_x[i], before_w[i]
                counts[row] += torch.stack(results).float().cpu().numpy() / one**2
        arrays[f"c{index}.{kind}.count"] = counts.astype(np.float32)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--list":
        print("[" + ",\n".join(json.dumps(case) for case in cases_of(*sys.argv[2:])) + "]")
        return
    if len(sys.argv) < 3:
        sys.exit("\n".join(__doc__.splitlines()[2:4]))
    import torch
    from record_h200 import launches
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    arrays, kinds = {}, sys.argv[3:] or TYPES
    with torch.no_grad():
        for index, case in enumerate(cases):
            record(case, index, kinds, arrays, torch, launches)
            print(index, case["op"], case["x"], case["w"], [case[kind][-1][0][:40] if case[kind] else "" for kind in kinds], flush=True)
    facts = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "cases": cases}
    np.savez_compressed(sys.argv[2], meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


if __name__ == "__main__":
    main()
