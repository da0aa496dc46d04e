#!/usr/bin/env python3
"""Record LSTM and GRU of PyTorch (cuDNN) on an NVIDIA GPU: outputs' bits, whether steps one at a time give the same, and which kernels a shape gets.

    lab/record_recurrent.py FOLDER

Writes FOLDER/recurrent.npz and FOLDER/recurrent_kernels.json. In the first `meta` (JSON as bytes) has the cases {key, kind, type, shape [T, B, I, H], seed, kernels, stepwise_equal}: inputs are
default_rng(seed): x standard_normal (T, B, I), then W (G H, I), R (G H, H), b, bR uniform(-3 / sqrt(H), 3 / sqrt(H)), float32, cast; PyTorch's order of gates. KEY.y: the output; KEY.step: the same, one call a
step; KEY.c, KEY.c1: LSTM's c after all and after one step. TYPE.bB.FUNCTION: a gate's function of all 65,536 numbers, B rows at a time. The second has rows [kind, type, T, B, I, H, directions, layers, kernels].
A minute on an H100."""
import json
import pathlib
import sys

import numpy as np
import torch

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
GATES = {"lstm": 4, "gru": 3}
SHAPES = [(20, 1, 32, 64), (100, 4, 40, 128), (200, 2, 64, 256), (20, 1, 64, 100), (20, 2, 64, 64), (20, 4, 64, 64), (20, 8, 64, 64), (20, 16, 64, 64), (6, 64, 64, 64), (6, 128, 128, 128), (6, 16, 64, 256),
          (6, 4, 256, 256), (6, 8, 256, 256), (6, 8, 512, 512), (6, 64, 512, 512), (6, 16, 1024, 1024)]
HIDDEN = (16, 32, 64, 96, 100, 128, 136, 160, 192, 256, 320, 384, 512, 768, 1024, 1280)
BATCHES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, 96, 128, 256)
# what the four gates' biases are, in the order i f g o, so that h depends on one function; the row of that gate
FUNCTIONS = {"sigmoid_o": (3, (30, -60, 30, 0)), "tanh_tanh_g": (2, (30, -60, 0, 30)), "tanh_sigmoid_i": (0, (0, -60, 30, 30))}


def bits(tensor):
    return tensor.detach().contiguous().cpu().view(torch.int16).numpy()


def make(kind, dtype, size, hidden, weights=None, directions=1, layers=1):
    net = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(size, hidden, num_layers=layers, bidirectional=directions == 2).to("cuda", dtype)
    if weights:
        with torch.no_grad():
            for name, values in zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights):
                getattr(net, name).copy_(torch.from_numpy(values))
    net.flatten_parameters()
    return net


def run(net, x, state=None):
    """Output, state, LSTM's c."""
    with torch.no_grad():
        y, after = net(x, state)
    return y, after, after[1] if isinstance(after, tuple) else after


def kernels(net, x):
    """How often each of cuDNN's kernels runs."""
    run(net, x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(net, x)
        torch.cuda.synchronize()
    names = [event.name.replace("void ", "").split("(")[0] for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return {name: names.count(name) for name in sorted(set(names)) if not name.startswith("at::")}


def record_case(kind, kind_of, shape, seed, arrays):
    steps, batch, size, hidden = shape
    random, gates, dtype = np.random.default_rng(seed), GATES[kind], TYPES[kind_of]
    x = torch.from_numpy(random.standard_normal((steps, batch, size)).astype(np.float32)).to("cuda", dtype)
    uniform = lambda *shape: random.uniform(-3 / np.sqrt(hidden), 3 / np.sqrt(hidden), shape).astype(np.float32)
    net = make(kind, dtype, size, hidden, (uniform(gates * hidden, size), uniform(gates * hidden, hidden), uniform(gates * hidden), uniform(gates * hidden)))
    y, _, c = run(net, x)
    state, parts = None, []
    for step in range(steps):
        part, state, now = run(net, x[step:step + 1], state)
        parts.append(part)
        if step == 0:
            arrays[f"r{seed}.c1"] = bits(now)
    alone = torch.cat(parts)
    arrays.update({f"r{seed}.y": bits(y), f"r{seed}.step": bits(alone), f"r{seed}.c": bits(c)})
    return {"key": f"r{seed}", "kind": kind, "type": kind_of, "shape": shape, "seed": seed, "kernels": kernels(net, x), "stepwise_equal": float((alone == y).float().mean())}


def record_functions(kind_of, batch, hidden, arrays):
    dtype = TYPES[kind_of]
    every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype).to("cuda")
    every = torch.where(every.isfinite(), every, torch.zeros_like(every)).view(-1, batch, hidden).contiguous()
    for name, (row, biases) in FUNCTIONS.items():
        weights = np.concatenate([np.eye(hidden, dtype=np.float32) * (gate == row) for gate in range(4)])
        net = make("lstm", dtype, hidden, hidden, (weights, np.zeros((4 * hidden, hidden), np.float32), np.repeat(np.float32(biases), hidden), np.zeros(4 * hidden, np.float32)))
        arrays[f"{kind_of}.b{batch}.{name}"] = bits(run(net, every)[0])


def main(folder):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    arrays, cases, table, seed = {}, [], [], 100
    for kind in GATES:
        for kind_of in TYPES:
            for shape in SHAPES:
                seed += 1
                cases.append(record_case(kind, kind_of, shape, seed, arrays))
    for kind_of in TYPES:
        for batch, hidden in ((4, 64), (8, 64), (1, 512)):
            record_functions(kind_of, batch, hidden, arrays)
    facts = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "cases": cases}
    np.savez_compressed(out / "recurrent.npz", meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    shapes = [(steps, batch, 64, hidden, 1, 1) for hidden in HIDDEN for batch in BATCHES for steps in (1, 20)]
    shapes += [(20, batch, size, hidden, directions, layers) for hidden in (64, 256, 512) for batch in (1, 4, 8, 64) for size in (40, 128, hidden) for directions in (1, 2) for layers in (1, 2)]
    for kind in GATES:
        for kind_of, dtype in TYPES.items():
            for steps, batch, size, hidden, directions, layers in shapes:
                net = make(kind, dtype, size, hidden, None, directions, layers)
                table.append([kind, kind_of, steps, batch, size, hidden, directions, layers, kernels(net, torch.randn(steps, batch, size, device="cuda", dtype=dtype))])
    (out / "recurrent_kernels.json").write_text(json.dumps(table))


if __name__ == "__main__":
    main(sys.argv[1])
