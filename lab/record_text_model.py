#!/usr/bin/env python3
"""The logits of the model that lab/train_text_model.py trained, in PyTorch on a GPU.

    lab/record_text_model.py written.onnx text.npz OUT.npz

OUT.npz has, of the given row (one) and of eight parts of it (eight), ids, f64 and by type (f32, bf16, f16) TYPE.ROTARY.ATTENTION as eager PyTorch gives them: the rotary embedding rounded once or
in steps, attention written out or scaled_dot_product_attention (kernel); TYPE.compiled: torch.compile of what is written out. lab/record_text_model.py compare OUT.npz prints nats of the given tokens, divergence and
first choices that change. Needs numpy; recording: PyTorch, onnx and a GPU."""
import sys

import numpy as np

LAYERS, HEADS, GROUPS, SIZE = 3, 6, 2, 16  # of lab/train_text_model.py


def record(model, text, out):
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    held = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()).cuda() for tensor in onnx.load(model).graph.initializer}

    def forward(ids, kind, rotary, attention):
        w, n = {name: value.to(kind) if value.is_floating_point() else value for name, value in held.items()}, ids.shape[1]

        def turn(x):
            inside = kind if rotary == "steps" or kind == torch.float64 else torch.float32
            a, b, cos, sin = (value.to(inside) for value in (*x.chunk(2, -1), w["cos"][:n], w["sin"][:n]))
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(kind)

        def norm(x, scale):
            return F.rms_norm(x, (x.shape[-1],), scale, 1e-6)

        def heads(x, count):
            return x.reshape(*x.shape[:2], count, SIZE).transpose(1, 2)
        x = w["embed"][ids]
        for layer in range(LAYERS):
            at = f"layers.{layer}."
            h = norm(x, w[at + "n1"])
            q, k, v = heads(h @ w[at + "q"], HEADS), heads(h @ w[at + "k"] + w[at + "kb"], GROUPS), heads(h @ w[at + "v"], GROUPS)
            q, k = turn(q), turn(k)
            k, v = (value.repeat_interleave(HEADS // GROUPS, 1) for value in (k, v))
            if attention == "kernel":
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                least = -65504 if kind == torch.float16 else -1e9
                mask = torch.where(torch.ones(n, n, dtype=torch.bool, device="cuda").tril(), 0, least).to(kind)
                y = (q @ k.transpose(2, 3) * torch.tensor(SIZE**-0.5, dtype=kind, device="cuda") + mask).softmax(-1) @ v
            x = x + y.transpose(1, 2).reshape(*ids.shape, HEADS * SIZE) @ w[at + "o"]
            h = norm(x, w[at + "n2"])
            g = h @ w[at + "gate"]
            x = x + (g * g.sigmoid() * (h @ w[at + "up"])) @ w[at + "down"]
        return norm(x, w["norm"]) @ w["head"]
    ids, arrays = torch.from_numpy(np.load(text)["input_ids"]).cuda(), {}
    for title, rows in (("one", ids), ("eight", torch.cat([ids[:, s:s + 128] for s in range(0, 128, 16)]))):
        arrays[title + ".ids"], arrays[title + ".f64"] = rows.cpu().numpy(), forward(rows, torch.float64, "once", "written").cpu().numpy()
        for name, kind in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
            for rotary in ("once", "steps"):
                for attention in ("written", "kernel"):
                    arrays[f"{title}.{name}.{rotary}.{attention}"] = forward(rows, kind, rotary, attention).float().cpu().numpy()
            arrays[f"{title}.{name}.compiled"] = torch.compile(forward, dynamic=False)(rows, kind, "steps", "written").float().cpu().numpy()
    np.savez_compressed(out, **arrays)
    print(torch.__version__, torch.cuda.get_device_name())


def compare(path):
    data = np.load(path)

    def logarithms(x):
        x = x.astype(np.float64) - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))
    for title in ("one", "eight"):
        given, truth = data[title + ".ids"][:, 1:, None].astype(np.int64), logarithms(data[title + ".f64"])
        for key in (name for name in data.files if name.startswith(title + ".") and not name.endswith((".ids", ".f64"))):
            found = logarithms(data[key])
            nats = np.abs(np.take_along_axis((found - truth)[:, :-1], given, 2))
            error = data[key].astype(np.float64) - data[title + ".f64"]
            print(f"{key:24} {-10 * np.log10((error**2).sum() / (data[title + '.f64']**2).sum()):6.2f} dB, {nats.mean():.5f} nats a token, KL {(np.exp(truth) * (truth - found)).sum(-1).mean():.3g}, "
                  f"{(found.argmax(-1) != truth.argmax(-1)).sum()} of {truth[..., 0].size} first choices")


if __name__ == "__main__":
    compare(sys.argv[2]) if sys.argv[1] == "compare" else record(*sys.argv[1:4])
