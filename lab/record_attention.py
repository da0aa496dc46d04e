#!/usr/bin/env python3
"""Record on an NVIDIA GPU attention of few positions, and what torch.compile makes of attention that a graph writes out.

    lab/record_attention.py OUT.npz

OUT.npz: `meta`, JSON as bytes: {torch, cudnn, device, cases: [{key, seed, shape [heads, queries, keys, size], type, causal, backend, kernels}], compiled: {form.type: kernels}}, and of each case the bits of the result; q, k and v are drawn one after
the other by numpy's generator of the seed, rounded to the type. turn.TYPE.{x,cos,sin,y}: heads whose halves were turned by angles as lab/record_bits.py turns them. FORMS are the ways in which graphs write attention out."""
import json
import math
import sys

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from record_bits import turned
from record_h200 import DEVICE, HALVES, bits, kernels

LENGTHS = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (8, 8), (9, 9), (12, 12), (16, 16), (17, 17), (24, 24), (32, 32), (48, 48), (1, 16), (1, 40)]
HEADS = 8
BACKENDS = {"default": None, "cudnn": SDPBackend.CUDNN_ATTENTION, "flash2": SDPBackend.FLASH_ATTENTION}
FORMS = {  # q, k, v: [batch, positions, heads, size]
    "torch": lambda q, k, v: torch.matmul(torch.softmax(torch.matmul(q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3).transpose(-2, -1)) / math.sqrt(q.shape[-1]), -1), v.permute(0, 2, 1, 3)),
    "onnx": lambda q, k, v: torch.matmul(torch.softmax(torch.matmul(q.permute(0, 2, 1, 3), k.permute(0, 2, 3, 1)) / math.sqrt(q.shape[-1]), -1), v.permute(0, 2, 1, 3)),
    "onnx, scaled before": lambda q, k, v: torch.matmul(torch.softmax(torch.matmul(q.permute(0, 2, 1, 3) * q.shape[-1]**-0.25, k.permute(0, 2, 3, 1) * q.shape[-1]**-0.25), -1), v.permute(0, 2, 1, 3)),
    "torch, masked": lambda q, k, v: torch.matmul(torch.softmax(torch.matmul(q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3).transpose(-2, -1)) / math.sqrt(q.shape[-1]) + torch.zeros(q.shape[1], k.shape[1], device=q.device, dtype=q.dtype), -1), v.permute(0, 2, 1, 3)),
}


def record_cases(arrays):
    cases = []
    for kind, dtype in HALVES.items():
        for queries, keys in LENGTHS:
            for size in (64, 32):
                for causal in (False, True) if queries == keys and queries > 1 else (False,):
                    seed = len(cases)
                    turn = np.random.default_rng(seed)
                    q, k, v = (torch.from_numpy(turn.standard_normal((1, HEADS, length, size)).astype(np.float32)).to(DEVICE, dtype) for length in (queries, keys, keys))
                    for name, backend in BACKENDS.items():
                        def call(backend=backend, q=q, k=k, v=v, causal=causal):
                            if backend is None:
                                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                            with sdpa_kernel([backend]):
                                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                        try:
                            out, names = kernels(call)
                        except RuntimeError as error:
                            print(kind, queries, keys, size, name, str(error).splitlines()[0])
                            continue
                        key = f"{seed}.{name}"
                        arrays[key] = bits(out)
                        cases.append({"key": key, "seed": seed, "shape": [HEADS, queries, keys, size], "type": kind, "causal": causal, "backend": name, "kernels": [one[:160] for one in names]})
    return cases


def record_turns(arrays):
    for kind, dtype in HALVES.items():
        turn = np.random.default_rng(3)
        x = torch.from_numpy(turn.standard_normal((1, 8, 16, 64)).astype(np.float32)).to(DEVICE, dtype)
        angles = np.outer(np.arange(16), 500000.0 ** (-np.arange(0, 64, 2) / 64))
        cos, sin = (torch.from_numpy(function(angles)).to(DEVICE, dtype) for function in (np.cos, np.sin))
        for name, value in (("x", x), ("cos", cos), ("sin", sin), ("y", turned(x, cos, sin))):
            arrays[f"turn.{kind}.{name}"] = bits(value)


def record_compiled():
    found = {}
    for form, function in FORMS.items():
        for kind, dtype in {**HALVES, "f32": torch.float32}.items():
            torch._dynamo.reset()  # pylint: disable=protected-access
            q, k, v = (torch.randn(2, 64, 4, 32, device=DEVICE, dtype=dtype) for _ in range(3))
            compiled = torch.compile(function, dynamic=False)
            found[f"{form}.{kind}"] = [one[:160] for one in kernels(lambda compiled=compiled, q=q, k=k, v=v: compiled(q, k, v))[1]]
            print(form, kind, found[f"{form}.{kind}"], flush=True)
    return found


def main(out):
    arrays = {}
    with torch.no_grad():
        facts = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "cases": record_cases(arrays)}
        record_turns(arrays)
        facts["compiled"] = record_compiled()
    np.savez_compressed(out, meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    print(len(facts["cases"]), "cases", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[2].strip())
    main(sys.argv[1])
