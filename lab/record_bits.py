#!/usr/bin/env python3
"""Record on an NVIDIA GPU, by PyTorch node by node, every tensor of networks as a hash and 64 of its elements.

    lab/record_bits.py RUNNER DATA OUT.npz [MODEL...]

RUNNER: a folder with onnx_in_torch.py, whose Net(path).run(feeds, dtype, single=table) returns every tensor of an ONNX graph by name. DATA: models/NAME and generated/NAME with model.onnx and inputs.npz or
test_data_set_0; what scripts/make_decoder.py writes, too. Each network runs in FP64, then in FP16, BF16 and FP32 with TF32 allowed: on its own values ("whole") and each node on the FP64 run's values rounded to the type ("single").

OUT.npz: `meta`, JSON as bytes: {torch, device, runs: [{model, type, nodes: [{node, op, output, shape}]}]}, and of run R the arrays rR.hash [node][3], the first 8 bytes of the SHA-256 of what the node had as single inputs (its float inputs one
behind the other, constants too), of the single result and of the whole one, and rR.part [node][2][64], elements of these two at places linspace(0, n - 1, 64), as bits. -0 counts as 0, and NaN as one NaN. lab/compare_bits.py reads it."""
import glob
import hashlib
import json
import os
import sys
import traceback

import numpy as np
import onnx
import torch
from onnx import numpy_helper

MODES = {"f16": (torch.float16, False), "bf16": (torch.bfloat16, False), "tf32": (torch.float32, True)}


def bits(tensor):
    tensor = torch.where(tensor == 0, torch.zeros_like(tensor), tensor).contiguous()
    tensor = torch.where(tensor.isnan(), torch.full_like(tensor, float("nan")), tensor)
    return (tensor.view(torch.int16) if tensor.element_size() == 2 else tensor.view(torch.int32)).cpu().numpy().ravel()


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(array.tobytes())
    return np.frombuffer(whole.digest()[:8], np.uint64)[0]


def part(array):
    return array[np.linspace(0, len(array) - 1, 64).astype(np.int64)].astype(np.int32)


def feeds_of(folder, model):
    path = os.path.join(folder, "inputs.npz")
    if os.path.exists(path):
        return dict(np.load(path))
    names = [i.name for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]
    files = sorted(glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb")), key=lambda f: int(f.rsplit("_", 1)[1][:-3]))
    return {name: numpy_helper.to_array(onnx.load_tensor(file)) for name, file in zip(names, files)}


def normalised(x, weight, given):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, given.get("epsilon", 1e-5))


def skip_normalised(read, given):
    total = read[0] + read[1]
    return [normalised(total, read[2], given), None, None, total]


def turned(x, cos, sin):
    """The halves of each head turned by the positions' angles, in FP32, stored once."""
    wide = torch.promote_types(x.dtype, torch.float32)
    (a, b), cos, sin = x.to(wide).chunk(2, -1), cos.to(wide), sin.to(wide)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def grouped_query(read, given):
    """GroupQueryAttention over one sequence as PyTorch's scaled_dot_product_attention has it."""
    query, key, value, past_key, past_value = read[:5]
    past, tokens = past_key.shape[2], query.shape[1]

    def heads(x, count):
        return x.reshape(1, tokens, count, -1).transpose(1, 2)

    query, key, value = (heads(x, given[count]) for x, count in ((query, "num_heads"), (key, "kv_num_heads"), (value, "kv_num_heads")))
    angles = [x[past:past + tokens] for x in read[7:9]]
    query, key = turned(query, *angles), turned(key, *angles)
    key, value = torch.cat([past_key, key], 2), torch.cat([past_value, value], 2)
    each = given["num_heads"] // given["kv_num_heads"]
    mask = None if past == 0 or tokens == 1 else torch.ones(tokens, past + tokens, dtype=torch.bool, device=query.device).tril(past)
    out = torch.nn.functional.scaled_dot_product_attention(query, key.repeat_interleave(each, 1), value.repeat_interleave(each, 1), mask, scale=given["scale"], is_causal=past == 0 and tokens > 1)
    return [out.transpose(1, 2).reshape(1, tokens, -1), key, value]


DECODER = {  # operators of scripts/make_decoder.py that RUNNER has not
    "SimplifiedLayerNormalization": lambda read, given: normalised(*read[:2], given),
    "SkipSimplifiedLayerNormalization": skip_normalised,
    "GroupQueryAttention": grouped_query,
}


def record(runner, folder, name, arrays, runs):
    path = os.path.join(folder, "model.onnx")
    net, is_float = runner.Net(path), runner.isf
    feeds = {key: runner.np2t(value) for key, value in feeds_of(folder, onnx.load(path)).items()}
    exact = net.run(feeds, torch.float64)
    for mode, (dtype, tf32) in MODES.items():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        whole, single = net.run(feeds, dtype), net.run(feeds, dtype, single=exact)
        nodes, hashes, parts = [], [], []
        for node in net.m.graph.node:
            for output in node.output:
                if not output or not is_float(single[output]) or not single[output].numel() or node.op_type == "Constant":
                    continue
                read = [bits((exact[x] if x in exact else net.init[x]).to(dtype)) for x in node.input if x and is_float(exact.get(x, net.init.get(x)))]
                own, its = bits(single[output]), bits(whole[output])
                nodes.append({"node": node.name, "op": node.op_type, "output": output, "shape": list(single[output].shape)})
                hashes.append([digest(*read), digest(own), digest(its)])
                parts.append([part(own), part(its)])
        key = f"r{len(runs)}"
        arrays[key + ".hash"], parts = np.array(hashes, np.uint64), np.array(parts, np.int32)
        arrays[key + ".part"] = parts if mode == "tf32" else parts.astype(np.int16)
        runs.append({"model": name, "type": mode, "nodes": nodes})


def main():
    runner_folder, data, out, *wanted = sys.argv[1:]
    sys.path.insert(0, runner_folder)
    import onnx_in_torch as runner  # pylint: disable=import-outside-toplevel
    runner.OPS.update(DECODER)
    arrays, runs = {}, []
    with torch.no_grad():
        for folder in sorted(glob.glob(os.path.join(data, "models", "*", "")) + glob.glob(os.path.join(data, "generated", "*", ""))):
            name = os.path.basename(folder.rstrip("/"))
            if wanted and name not in wanted:
                continue
            try:
                record(runner, folder, name, arrays, runs)
                print(name, len(runs[-1]["nodes"]), flush=True)
            except Exception:  # a graph that the runner does not know
                print(name, "not recorded:", traceback.format_exc().splitlines()[-1], flush=True)
                while runs and runs[-1]["model"] == name:
                    runs.pop()
    facts = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "runs": runs}
    np.savez_compressed(out, meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


if __name__ == "__main__":
    main()
