#!/usr/bin/env bash
# Formats of caches (keys=, values=, kv=, cached=): attention of keys and values that numpy rounds, in every layout, in GroupQueryAttention, Attention and attention that is written out;
# beside ONNX Runtime's GroupQueryAttention with INT8 caches of the same scales. What they cannot reach is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import ml_dtypes, numpy, onnx' 2>/dev/null || { echo "no numpy, onnx and ml_dtypes: there is nothing to compare with"; exit 77; }
python "$program" <<'END' || fail "a cache is another than numpy's"
import ml_dtypes
from onnx import TensorProto, helper, numpy_helper
program, turn = sys.argv[1], np.random.default_rng(3)
B, H, G, S, P, D = 2, 4, 2, 6, 5, 32
T, bad = S + P, 0
f = lambda *s: turn.standard_normal(s).astype("f4")
pk, pv, q, k, v = f(B, G, P, D), f(B, G, P, D), f(B, S, H * D), f(B, S, G * D), f(B, S, G * D)
k[..., 3] *= 30; pk[..., 3] *= 30  # a channel that stands out
heads = lambda x, n: x.reshape(B, S, n, D).transpose(0, 2, 1, 3)
K, V, Q = np.concatenate([pk, heads(k, G)], 2), np.concatenate([pv, heads(v, G)], 2), heads(q, H)
causal = np.arange(T)[None] <= P + np.arange(S)[:, None]

def model(name, nodes, inputs, held, opset):
    info = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    graph = helper.make_graph([helper.make_node(o, i.split(), [x], name=x, domain=d, **a) for o, i, x, d, a in nodes], name, [info(*i) for i in inputs.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(a, n) for n, a in held.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    made.ir_version = 10
    open(f"{name}.onnx", "wb").write(made.SerializeToString())
    np.savez(f"{name}.npz", **inputs)
lengths = {"l": np.full(B, T - 1, "i4"), "t": np.array([T], "i4")}
model("grouped", [("GroupQueryAttention", "q k v pk pv l t", "y", "com.microsoft", dict(num_heads=H, kv_num_heads=G))], dict(q=q, k=k, v=v, pk=pk, pv=pv), lengths, 17)
model("paged", [("PagedAttention", "q k v pk pv l l t", "y", "com.microsoft", dict(num_heads=H, kv_num_heads=G))], dict(q=q, k=k, v=v, pk=pk, pv=pv), lengths, 17)
model("standard", [("Attention", "q k v  pk pv".replace("  ", " m "), "y", "", dict(q_num_heads=H, kv_num_heads=G))], dict(q=q, k=k, v=v, pk=pk, pv=pv), {"m": np.where(causal, 0, -np.inf).astype("f4")}, 23)
KT, VT = np.repeat(K, H // G, 1), np.repeat(V, H // G, 1)
model("written", [("MatMul", "q k", "s", "", {}), ("Mul", "s scale", "z", "", {}), ("Add", "z m", "c", "", {}), ("Softmax", "c", "p", "", dict(axis=-1)), ("MatMul", "p v", "y", "", {})],
      dict(q=Q, k=np.ascontiguousarray(KT.transpose(0, 1, 3, 2)), v=VT), {"scale": np.float32(D ** -0.5), "m": np.where(causal, 0, -np.inf).astype("f4")}, 17)

model("product", [("MatMul", "q k", "y", "", {})], dict(q=Q, k=np.ascontiguousarray(KT.transpose(0, 1, 3, 2))), {}, 17)

def e2m1(x):
    return np.clip(x, -6, 6).astype(ml_dtypes.float4_e2m1fn).astype("f4")
def e4m3(x):
    return np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype("f4")
def integers(bits):
    top = 2 ** (bits - 1) - 1
    return lambda x: np.clip(np.rint(x), -top, top), top
def blocks(x, size, axis=-1):
    return x.reshape(*x.shape[:-1], -1, size)

def rounded(x, how, cached):
    """as the format's definition says (doc/scales.md), a row along the last axis; scales and elements in FP32"""
    x = x.astype("f4")
    if cached == "channel":
        return rounded(x.swapaxes(2, 3), how, "token").swapaxes(2, 3)
    how, _, fixed = how.partition(",key-scale=")
    element, top = (e4m3, 448) if how.startswith("fp8") else (e2m1, 6) if how == "nvfp4" else integers(4 if "int4" in how else 8)
    kind = how.split("-")[-1]
    if kind == "cast":
        return element(x)
    if fixed:
        s = np.float32(fixed.split(",")[0])
        return element(x / s) * s
    if how == "nvfp4":
        t = np.float32(np.maximum(np.float32(np.abs(x).max()) / np.float32(6 * 448), 2.0 ** -126))
        z = blocks(x, 16)
        s = e4m3(np.abs(z).max(-1, keepdims=True) / np.float32(6) / t)
        whole = s * t
        return (e2m1(np.divide(z, whole, out=np.zeros_like(z), where=whole != 0)) * whole).reshape(x.shape)
    if kind == "32":
        z = blocks(x, 32) if x.shape[-1] % 32 == 0 else x[..., None, :]
        s = np.abs(z).max(-1, keepdims=True) / np.float32(top)
        return (element(z / s) * s).reshape(x.shape)
    axes = (2, 3) if cached == "head" else None if kind == "tensor" else (3,)
    s = np.abs(x).max(axes, keepdims=True) / np.float32(top)
    return element(x / s) * s

def attend(k, v):
    k, v = np.repeat(k, H // G, 1).astype("f8"), np.repeat(v, H // G, 1).astype("f8")
    s = np.where(causal, Q.astype("f8") @ k.swapaxes(2, 3) / np.sqrt(D), -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v

for how in ("fp8-tensor,key-scale=0.003,value-scale=0.003", "int8-tensor,key-scale=0.05,value-scale=0.05", "fp8-tensor", "fp8-cast", "fp8-row", "int8-tensor", "int8-row", "int4-row", "int4-32", "nvfp4"):
    for cached in ("token", "channel", "head"):
        if cached != "token" and "scale=" in how:
            continue
        if (cached == "head") != (how.endswith("tensor")) and cached != "token" or (cached == "channel" and how == "nvfp4"):  # 11 tokens are no blocks of 16
            continue
        for sides in ("kv", "keys", "values") if "scale=" not in how else ("kv",):
            rk = K if sides == "values" else rounded(K, how, cached)
            rv = V if sides == "keys" else rounded(V, how, cached)
            truth = attend(rk, rv)
            for name in ("grouped", "standard", "written"):
                part = f",cached={cached}" if cached != "token" else ""
                done = subprocess.run([program, "run", f"{name}.onnx", "-i", f"{name}.npz", "-a", f"fp64,{sides}={how}{part}", "-q", "-o", "out.npz"], capture_output=True, text=True)
                if done.returncode:
                    bad += print(f"{name} {sides}={how}{part}: {done.stderr.strip()}") or 1
                    continue
                y = np.load("out.npz")["y"]
                y = y if name == "written" else y.reshape(B, S, H, D).transpose(0, 2, 1, 3)
                # a quotient that FP32 rounds to a tie may go either way: one step of one element of 2,816, of which a query sees at most all
                apart = np.abs(y - truth).max() / np.abs(truth).max()
                if not apart < 1e-6:
                    bad += print(f"{name} {sides}={how}{part}: {apart:.2g} from numpy's") or 1
try:
    import onnxruntime as ort
except ImportError:
    sys.exit(bad > 0)
for how in ("int8-tensor", "int8-row,cached=channel"):
    per = "PER_TENSOR" if how == "int8-tensor" else "PER_CHANNEL"
    # one batch: the channel of a head is of one batch here, of all there
    scale = lambda x: (np.array([np.abs(x[:1]).max() / 127], "f4") if per == "PER_TENSOR" else (np.abs(x[:1]).max(2, keepdims=True) / 127).astype("f4").reshape(-1))
    codes = lambda x, s: np.clip(np.rint(x[:1] / (s if per == "PER_TENSOR" else s.reshape(1, G, 1, D))), -127, 127).astype("i1")
    sk, sv = scale(K), scale(V)
    inputs = dict(q=q[:1], k=k[:1], v=v[:1], pk=codes(pk, sk), pv=codes(pv, sv))
    held = {"l": np.full(1, T - 1, "i4"), "t": np.array([T], "i4"), "sk": sk, "sv": sv}
    model("coded", [("GroupQueryAttention", "q k v pk pv l t - - - - - sk sv".replace("-", "_"), "y", "com.microsoft", dict(num_heads=H, kv_num_heads=G, k_quant_type=per, v_quant_type=per, kv_cache_bit_width=8))], inputs, held, 17)
    import onnx
    m = onnx.load("coded.onnx")
    m.graph.node[0].input[:] = [n if n != "_" else "" for n in m.graph.node[0].input]
    m.graph.node[0].output.extend(["nk", "nv"])
    m.graph.output.extend([helper.make_tensor_value_info(n, TensorProto.INT8, None) for n in ("nk", "nv")])
    onnx.save(m, "coded.onnx")
    theirs = ort.InferenceSession("coded.onnx", providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    np.savez("one.npz", q=q[:1], k=k[:1], v=v[:1], pk=pk[:1], pv=pv[:1])
    model("one", [("GroupQueryAttention", "q k v pk pv l t", "y", "com.microsoft", dict(num_heads=H, kv_num_heads=G))], dict(q=q[:1], k=k[:1], v=v[:1], pk=pk[:1], pv=pv[:1]), {n: held[n] for n in "lt"}, 17)
    subprocess.run([program, "run", "one.onnx", "-i", "one.npz", "-a", f"fp32,kv={how}", "-q", "-o", "out.npz"], check=True)
    apart = np.abs(np.load("out.npz")["y"] - theirs).max() / np.abs(theirs).max()
    if not apart < 2e-6:  # FP32 sums of 32 and 11 products
        bad += print(f"ONNX Runtime, {how}: {apart:.2g} apart") or 1
sys.exit(bad > 0)
END
for t in 1 2; do "$program" run grouped.onnx -i grouped.npz -a bf16,kv=int4-32 -t $t -q -o t$t.npz || fail "threads"; done
cmp -s t1.npz t2.npz || fail "other bits with two threads"
says 0 "the name is canonical" "bf16,keys=int8-row,values=int8-row,cached=channel" list bf16,kv=int8-row,cached=channel
expect 2 "no format" "$program" list bf16,cached=head
expect 2 "no scales" "$program" list bf16,kv=fp16
says 0 "scales are said as they are" "bf16,keys=fp8-tensor,key-scale=0.05" list bf16,keys=fp8-tensor,key-scale=5e-2
for scale in 0 -1 1e-60 nan x ""; do expect 2 "the scale $scale" "$program" list bf16,kv=fp8-tensor,key-scale=$scale; done
expect 2 "a scale of rows" "$program" list bf16,kv=int8-row,key-scale=1
expect 2 "a scale of nothing" "$program" list bf16,values=int8-tensor,key-scale=1
expect 2 "MPFR" "$program" list mpfr:100,kv=int8-row
says 4 "pages: what to do" "PagedAttention of domain com.microsoft, opset 1, is not supported: export with GroupQueryAttention, which" audit paged.onnx -i grouped.npz -q
says 4 "no attention" "formats of caches need attention" run product.onnx -i product.npz -a bf16,kv=int8-row -q -o none.npz
expect 2 "another arithmetic beside" "$program" audit written.onnx -i written.npz -a bf16 -a bf16,kv=int8-row -q
# beside FP32 all but 2^-24 over 2^-8 of what a node introduces is the caches' format, which rounds what it reads
for of in grouped written; do
    tells 0 "causes: $of" '[abs(n["causes"]["inputs"] / n["share"] - 1) < 1e-3 for n in r["lanes"][0]["nodes"] if n.get("share", 0) > 0.1] == [True]' audit $of.onnx -i $of.npz -a fp32,kv=int8-row -q
done
# a plan whose attention is one node is of no types of the graph's nodes; one of an operator is
expect 0 "a plan of written attention" "$program" plan written.onnx -i written.npz -a bf16,kv=int8-row --tolerance sqnr_db=1 -q --out joined
expect 0 "a plan of an operator" "$program" plan grouped.onnx -i grouped.npz -a bf16,kv=int8-row --tolerance sqnr_db=1 -q --out whole
[ ! -e joined/mixed.onnx ] && [ -s joined/plan.json ] && [ -s whole/mixed.onnx ] || fail "files of plans: $(ls joined whole)"
expect 0 "beside" "$program" audit grouped.onnx -i grouped.npz -a bf16 -a bf16,kv=int8-row -q
exit $failed
