#!/usr/bin/env python3
"""Record on an NVIDIA GPU what no document tells: the functions of compiled kernels, attention, FP8 products, FP16-accumulating products, TF32 and FP16-accumulating convolutions, single matrix instructions.

    lab/record_h200.py FOLDER [--parts functions,norms,attention,fp8,conv,conv16,gemm16,divide,units]

Writes FOLDER/PART.npz (arrays as bit patterns where numpy has no type) and FOLDER/record.log, which has versions, kernel names and whatever failed.
A part that fails is logged and does not stop the others. Needs PyTorch with Triton, and a GPU of compute capability 8.9 or more for FP8;
`units` (record_units.py) needs nvcc and a GPU of compute capability 9.0.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import sys
import tempfile
import time
import traceback

import numpy as np
import torch
import torch.nn.functional as F

import record_units

DEVICE = "cuda"
HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}


class Log:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def __call__(self, text):
        print(text, flush=True)
        print(text, file=self.file, flush=True)


def bits(tensor):
    """A numpy array of the tensor's bits."""
    tensor = tensor.detach().contiguous().cpu()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        return tensor.view(torch.int16).numpy().view(np.uint16)
    if tensor.element_size() == 1:
        return tensor.view(torch.uint8).numpy()
    return tensor.numpy()


def kernels(call):
    """What the call returns, and the names of the kernels it launched."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        out = call()
        torch.cuda.synchronize()
    return out, sorted({event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA})


def launches(call):
    """What the call returns, and of each kernel it launched the name and the grid: its third number counts the slices of a sum that is cut."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        out = call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return out, [(event["name"][:160], event["args"].get("grid")) for event in events if event.get("cat") == "kernel"]


def launches_each(calls):
    """Of each call the kernels that it launched, name and grid: a kernel that waits stands between them."""
    def run():
        for call in calls:
            torch.cuda._sleep(1)  # pylint: disable=protected-access
            call()
        torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    found = []
    for event in sorted(events, key=lambda e: e["ts"]):
        if "spin" in event["name"]:
            found.append([])
        elif found:
            found[-1].append((event["name"], event["args"]["grid"]))
    assert len(found) == len(calls), (len(found), len(calls))
    return found


def random(seed, *shape, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * scale).to(DEVICE)


def fp32_inputs():
    """All magnitudes, subnormals, what is near 1, and small whole numbers."""
    generator = np.random.default_rng(7)
    patterns = generator.integers(0, 1 << 32, 12288, dtype=np.uint64).astype(np.uint32)
    parts = [patterns.view(np.float32), generator.uniform(-12, 12, 12288), generator.uniform(-100, 100, 3072), generator.normal(1, 0.01, 2048),
             np.array([generator.integers(1, 1 << 23) for _ in range(1024)], np.uint32).view(np.float32),
             np.arange(-256, 256), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.17549435e-38, 88.7, -103.9, 709.0]]
    with np.errstate(all="ignore"):
        return np.concatenate([np.asarray(part).astype(np.float32) for part in parts])


FUNCTIONS = {
    "exp": torch.exp, "log": torch.log, "tanh": torch.tanh, "rsqrt": torch.rsqrt, "sqrt": torch.sqrt, "sigmoid": torch.sigmoid, "erf": torch.erf,
    "reciprocal": torch.reciprocal, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "sin": torch.sin, "cos": torch.cos,
    "pow2": lambda x: torch.pow(x, 2.0), "pow3": lambda x: torch.pow(x, 3.0), "pow_half": lambda x: torch.pow(x, 0.5), "pow1_7": lambda x: torch.pow(x, 1.7),
    "div7": lambda x: x / 7.0, "softplus": F.softplus, "exp2": torch.exp2, "log1p": torch.log1p, "hardsigmoid": F.hardsigmoid, "relu6": F.relu6,
}
PAIRS = {"div": torch.div, "pow": torch.pow, "fmod": torch.fmod}


def record_functions(out, log):
    x = torch.from_numpy(fp32_inputs()).to(DEVICE)
    y = x[torch.randperm(x.numel(), generator=torch.Generator().manual_seed(3)).to(DEVICE)]
    out["f32.x"], out["f32.y"] = bits(x), bits(y)
    half = torch.arange(0, 1 << 16, dtype=torch.int32).to(torch.int16).to(DEVICE)
    sources = {"f32": x, "f16": half.view(torch.float16), "bf16": half.view(torch.bfloat16)}
    from torch._inductor.utils import run_and_get_code
    for name, function in FUNCTIONS.items():
        for kind, source in sources.items():
            torch._dynamo.reset()
            compiled = torch.compile(lambda v, function=function: function(v), dynamic=False)
            result, code = run_and_get_code(compiled, source)
            out[f"{kind}.{name}"] = bits(result)
            if kind == "f32":
                out[f"eager.f32.{name}"] = bits(function(source))
                log(f"triton {name}: " + " ; ".join(line.strip() for line in "\n".join(code).splitlines() if re.match(r"\s+tmp\d+ = ", line)))
    for name, function in PAIRS.items():
        torch._dynamo.reset()
        result, code = run_and_get_code(torch.compile(lambda a, b, function=function: function(a, b), dynamic=False), x, y)
        out[f"f32.{name}"], out[f"eager.f32.{name}"] = bits(result), bits(function(x, y))
        log(f"triton {name}: " + " ; ".join(line.strip() for line in "\n".join(code).splitlines() if re.match(r"\s+tmp\d+ = ", line)))


def record_norms(out, log):
    """Rows of compiled kernels: softmax, layer norm (fused and decomposed), mean."""
    from torch._inductor.utils import run_and_get_code
    for width in (32, 192, 768, 3000):
        x = random(width, 64, width, scale=3.0) + 5
        weight, bias = random(1, width), random(2, width)
        out[f"{width}.x"], out[f"{width}.weight"], out[f"{width}.bias"] = bits(x), bits(weight), bits(bias)
        for kind, dtype in {"f32": torch.float32, **HALVES}.items():
            a, w, b = x.to(dtype), weight.to(dtype), bias.to(dtype)
            def decomposed(a):
                centred = a - a.mean(-1, keepdim=True)
                return centred / torch.sqrt((centred ** 2).mean(-1, keepdim=True) + 1e-5) * w + b
            rows = {"softmax": lambda a: torch.softmax(a, -1), "layer_norm": lambda a: F.layer_norm(a, (width,), w, b), "decomposed": decomposed,
                    "mean": lambda a: a.mean(-1), "sum": lambda a: a.sum(-1), "var": lambda a: torch.var_mean(a, -1, correction=0)[0]}
            for name, function in rows.items():
                torch._dynamo.reset()
                result, code = run_and_get_code(torch.compile(function, dynamic=False), a)
                out[f"{width}.{kind}.{name}"] = bits(result)
                out[f"{width}.{kind}.eager.{name}"] = bits(function(a))
                if kind == "f16" and width == 768:
                    log(f"triton rows {name}: " + " ; ".join(line.strip() for line in "\n".join(code).splitlines() if re.match(r"\s+tmp\d+ = |.*XBLOCK|.*num_warps", line)))


def record_attention(out, log):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    shapes = {"a": (1, 2, 64, 64, 64), "b": (1, 2, 200, 200, 64), "c": (1, 1, 77, 300, 128), "d": (2, 2, 256, 256, 32), "e": (1, 1, 64, 128, 64),
              "f": (1, 1, 64, 192, 64), "g": (1, 1, 64, 96, 128), "h": (1, 1, 16, 600, 64)}
    for label, (batch, heads, queries, keys, width) in shapes.items():
        q, k, v = (random(10 + i, batch, heads, n, width) for i, n in enumerate((queries, keys, keys)))
        for name, tensor in zip("qkv", (q, k, v)):
            out[f"{label}.{name}"] = bits(tensor)
        for kind, dtype in HALVES.items():
            for causal in (False, True):
                for backend in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):
                    try:
                        with sdpa_kernel(getattr(SDPBackend, backend)):
                            result, names = kernels(lambda: F.scaled_dot_product_attention(q.to(dtype), k.to(dtype), v.to(dtype), is_causal=causal))
                    except RuntimeError as error:
                        log(f"attention {label} {kind} {backend}: {str(error)[:100]}")
                        continue
                    out[f"{label}.{kind}.{backend}{'.causal' if causal else ''}"] = bits(result)
                    if not causal:
                        log(f"attention {label} {kind} {backend}: {names}")


def record_fp8(out, log):
    for k in (32, 128, 512, 2048):
        a, b = random(k, 64, k), random(k + 1, 64, k)
        for pair in (("e4m3", "e4m3"), ("e4m3", "e5m2")):
            types = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
            left, right = a.to(types[pair[0]]), b.to(types[pair[1]])
            out[f"{k}.{pair[0]}.{pair[1]}.a"], out[f"{k}.{pair[0]}.{pair[1]}.b"] = bits(left), bits(right)
            per_tensor = (torch.tensor(0.37, device=DEVICE), torch.tensor(1.9, device=DEVICE))
            rows = (torch.rand(64, 1, generator=torch.Generator().manual_seed(5)).to(DEVICE) + 0.5, torch.rand(1, 64, generator=torch.Generator().manual_seed(6)).to(DEVICE) + 0.5)
            out["scale.tensor"] = np.array([0.37, 1.9], np.float32)
            out["scale.rows.a"], out["scale.rows.b"] = bits(rows[0]), bits(rows[1])
            for scaling, (scale_a, scale_b) in {"one": (torch.ones((), device=DEVICE),) * 2, "tensor": per_tensor, "rows": rows}.items():
                for fast in (False, True):
                    for kind, dtype in {"f32": torch.float32, **HALVES}.items():
                        try:
                            result, names = kernels(lambda: torch._scaled_mm(left, right.t(), scale_a, scale_b, out_dtype=dtype, use_fast_accum=fast))
                        except RuntimeError as error:
                            log(f"fp8 {k} {pair} {scaling} {kind}: {str(error).splitlines()[0][:120]}")
                            continue
                        out[f"{k}.{pair[0]}.{pair[1]}.{scaling}.{'fast' if fast else 'slow'}.{kind}"] = bits(result)
                        log(f"fp8 {k} {pair} {scaling} fast={fast} {kind}: {names}")


CONVOLUTIONS = {  # batch, channels in, out, size, kernel, stride, padding, groups
    "3x3": (2, 32, 32, 14, 3, 1, 1, 1), "1x1": (2, 64, 48, 14, 1, 1, 0, 1), "7x7s2": (1, 3, 64, 56, 7, 2, 3, 1), "3x3s2": (2, 64, 64, 15, 3, 2, 1, 1),
    "5x5": (1, 16, 32, 20, 5, 1, 2, 1), "groups": (2, 32, 32, 14, 3, 1, 1, 4), "wide": (1, 256, 64, 10, 3, 1, 1, 1), "deep1x1": (4, 512, 128, 7, 1, 1, 0, 1),
    "128": (1, 128, 32, 12, 3, 1, 1, 1), "96": (2, 96, 64, 12, 3, 1, 1, 1), "72": (1, 72, 32, 12, 3, 1, 1, 1), "48": (1, 48, 64, 20, 3, 2, 1, 1),
}


def record_conv(out, log):
    for label, (batch, channels, outs, size, kernel, stride, padding, groups) in CONVOLUTIONS.items():
        x, w = random(1, batch, channels, size, size), random(2, outs, channels // groups, kernel, kernel, scale=0.1)
        out[f"{label}.x"], out[f"{label}.w"] = bits(x), bits(w)
        for kind, dtype, tf32 in (("f32", torch.float32, False), ("tf32", torch.float32, True), ("f16", torch.float16, False), ("bf16", torch.bfloat16, False)):
            torch.backends.cudnn.allow_tf32 = tf32
            for layout, memory in (("", torch.contiguous_format), (".nhwc", torch.channels_last)):
                a, b = x.to(dtype).contiguous(memory_format=memory), w.to(dtype).contiguous(memory_format=memory)
                result, names = kernels(lambda: F.conv2d(a, b, None, stride, padding, 1, groups))
                out[f"{label}.{kind}{layout}"] = bits(result)
                log(f"conv {label} {kind}{layout}: {[name[:120] for name in names]}")


def load_cudnn():
    folder = os.path.join(os.path.dirname(torch.__file__), "..", "nvidia", "cudnn", "lib")
    for path in sorted(glob.glob(os.path.join(folder, "libcudnn.so*"))) + ["libcudnn.so.9"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise RuntimeError("no cudnn library")


def record_conv16(out, log):
    """Convolutions that cuDNN is asked to sum in FP16 (compute type CUDNN_DATA_HALF), every algorithm that takes it."""
    lib = load_cudnn()
    handle = ctypes.c_void_p()

    def ask(name, *arguments):
        status = getattr(lib, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: status {status}")
    ask("cudnnCreate", ctypes.byref(handle))
    half, nchw, nhwc = 2, 0, 1
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    for label, (batch, channels, outs, size, kernel, stride, padding, groups) in CONVOLUTIONS.items():
        if groups != 1 or channels % 8:
            continue
        x, w = random(1, batch, channels, size, size).half(), random(2, outs, channels, kernel, kernel, scale=0.1).half()
        out[f"{label}.x"], out[f"{label}.w"] = bits(x), bits(w)
        side = (size + 2 * padding - kernel) // stride + 1
        for layout, memory in ((nhwc, torch.channels_last), (nchw, torch.contiguous_format)):
            a, b = x.contiguous(memory_format=memory), w.contiguous(memory_format=memory)
            for compute, code in (("acc16", half), ("acc32", 0)):
                for algorithm in range(8):
                    y = torch.zeros(batch, outs, side, side, device=DEVICE, dtype=torch.float16).contiguous(memory_format=memory)
                    made = [ctypes.c_void_p() for _ in range(4)]
                    try:
                        ask("cudnnCreateTensorDescriptor", ctypes.byref(made[0]))
                        ask("cudnnCreateFilterDescriptor", ctypes.byref(made[1]))
                        ask("cudnnCreateConvolutionDescriptor", ctypes.byref(made[2]))
                        ask("cudnnCreateTensorDescriptor", ctypes.byref(made[3]))
                        ask("cudnnSetTensor4dDescriptor", made[0], layout, half, batch, channels, size, size)
                        ask("cudnnSetFilter4dDescriptor", made[1], half, layout, outs, channels, kernel, kernel)
                        ask("cudnnSetConvolution2dDescriptor", made[2], padding, padding, stride, stride, 1, 1, 1, code)
                        ask("cudnnSetConvolutionMathType", made[2], 1)
                        ask("cudnnSetTensor4dDescriptor", made[3], layout, half, batch, outs, side, side)
                        needed = ctypes.c_size_t()
                        ask("cudnnGetConvolutionForwardWorkspaceSize", handle, made[0], made[1], made[2], made[3], algorithm, ctypes.byref(needed))
                        space = torch.empty(needed.value + 16, device=DEVICE, dtype=torch.uint8)

                        def call():
                            ask("cudnnConvolutionForward", handle, ctypes.byref(one), made[0], ctypes.c_void_p(a.data_ptr()), made[1], ctypes.c_void_p(b.data_ptr()), made[2],
                                algorithm, ctypes.c_void_p(space.data_ptr()), needed, ctypes.byref(zero), made[3], ctypes.c_void_p(y.data_ptr()))
                        _, names = kernels(call)
                    except RuntimeError as error:
                        log(f"conv16 {label} {compute} layout {layout} algorithm {algorithm}: {error}")
                        continue
                    out[f"{label}.{compute}.{'nhwc' if layout else 'nchw'}.{algorithm}"] = bits(y)
                    log(f"conv16 {label} {compute} layout {layout} algorithm {algorithm}: {[name[:140] for name in names]}")


GEMMS = [(64, 64, k) for k in (128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192)] + [(16, 256, 2048), (256, 128, 1024), (8, 64, 4096), (512, 512, 1024)]


def record_gemm16(out, log):
    """Products that add in FP16: of each shape the first 8 rows and columns, and the kernels with their grids."""
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    for rows, columns, k in GEMMS:
        a, b = random(k, rows, k).half(), random(k + 1, k, columns).half()
        result, seen = launches(lambda: a @ b)
        label = f"{rows}x{columns}x{k}"
        out[f"{label}.A"], out[f"{label}.B"], out[f"{label}.D"] = bits(a[:8]), bits(b[:, :8]), bits(result[:8, :8])
        out[f"{label}.slices"] = np.array((seen[0][1] or [1, 1, 1])[2], np.int64)
        log(f"gemm16 {label}: {seen}")
    torch.backends.cuda.matmul.allow_fp16_accumulation = False


def record_divide(out, log):
    """The instructions of compiled kernels' division: rcp.approx.ftz.f32 of every fraction, as steps from the nearest number, and div.full.f32 of pairs."""
    import triton
    import triton.language as tl

    @triton.jit
    def reciprocal(source, target, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(source + at)
        y = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
        tl.store(target + at, y)

    @triton.jit
    def divide(left, right, target, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        a, b = tl.load(left + at), tl.load(right + at)
        y = tl.inline_asm_elementwise("div.full.f32 $0, $1, $2;", "=f,f,f", [a, b], dtype=tl.float32, is_pure=True, pack=1)
        tl.store(target + at, y)
    x = (torch.arange(1 << 23, dtype=torch.int32) + 0x3F800000).view(torch.float32).to(DEVICE)
    y = torch.empty_like(x)
    reciprocal[(x.numel() // 1024,)](x, y, BLOCK=1024)
    nearest = (1.0 / x.double()).float()
    steps = y.view(torch.int32) - nearest.view(torch.int32)
    out["rcp.steps"] = steps.to(torch.int8).cpu().numpy()
    log(f"rcp: steps from the nearest {int(steps.min())} to {int(steps.max())}, {float((steps != 0).double().mean()):.4f} differ")
    generator = np.random.default_rng(11)
    patterns = generator.integers(0, 1 << 32, 1 << 16, dtype=np.uint64).astype(np.uint32).view(np.float32)
    plain = generator.normal(0, 3, 1 << 16).astype(np.float32)
    small = generator.integers(1, 1 << 25, 1 << 14).astype(np.uint32).view(np.float32)
    large = generator.integers(0x7D000000, 0x7F800000, 1 << 14).astype(np.uint32).view(np.float32)
    lefts = np.concatenate([patterns, plain, small, plain[:1 << 14], large, small, large, plain[:1 << 14]])
    rights = np.concatenate([np.roll(patterns, 1), np.roll(plain, 1), plain[:1 << 14], small, plain[:1 << 14], large, small, large])
    a, b = torch.from_numpy(lefts).to(DEVICE), torch.from_numpy(rights).to(DEVICE)
    y = torch.empty_like(a)
    compiled = divide[(a.numel() // 1024,)](a, b, y, BLOCK=1024)
    try:
        log("div.full.f32 in machine code:\n" + "\n".join(line for line in compiled.asm["sass"].splitlines() if re.search(r"\b(MUFU|FMUL|FFMA|FSETP|FSEL|FADD)", line)))
    except Exception as error:
        log(f"no machine code: {error}")
    out["div.a"], out["div.b"], out["div.y"] = lefts, rights, bits(y)


PARTS = {"functions": record_functions, "norms": record_norms, "attention": record_attention, "fp8": record_fp8, "conv": record_conv, "conv16": record_conv16,
         "gemm16": record_gemm16, "divide": record_divide, "units": record_units.record}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    log = Log(os.path.join(options.folder, "record.log"))
    log(f"{torch.cuda.get_device_name()} torch {torch.__version__} cuda {torch.version.cuda} cudnn {torch.backends.cudnn.version()}")
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = False
    failed = False
    for part in options.parts.split(","):
        arrays, start = {}, time.time()
        try:
            PARTS[part](arrays, log)
        except Exception:
            failed = True
            log(f"FAILED {part}: {traceback.format_exc()}")
        np.savez_compressed(os.path.join(options.folder, part + ".npz"), **arrays)
        log(f"{part}: {len(arrays)} arrays in {time.time() - start:.0f} s")
    sys.exit(failed)


if __name__ == "__main__":
    main()
