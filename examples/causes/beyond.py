"""Causes of range: values that FP16 does not hold, and what becomes of them. Each function is given whether its network is to be mended."""
import numpy as np
from parts import LARGE, HEADS, LENGTH, WIDTH, attention, block, cause, classifier, conv, dense, feed_forward, head, heads, image, norm, outgrow, residual, sequence


@cause("01-layernorm-square")
def layernorm_square(n, mended):
    x = sequence(n)
    x = block(n, "layers.0", x)
    x = outgrow(n, "layers.0/mlp/outlier", x, 795)
    n.opset = 17
    y = attention(n, "layers.1/attn", norm(n, "layers.1/norm1", x, operator=mended))
    x = n.add("Add", "layers.1/Add", x, y)
    x = n.add("Add", "layers.1/Add_1", x, feed_forward(n, "layers.1/mlp", norm(n, "layers.1/norm2", x, operator=mended)))
    head(n, x, operator=mended)


@cause("03-channels-first")
def channels_first(n, mended):
    channels = 16
    x = conv(n, "stem", image(n), 3, channels)
    x = residual(n, "stages.0", x, channels)
    x = n.apply("Mul", "stages.1/downsample", x, 400.0)
    n.constant("two", 2.0)
    for i in range(3):
        name = f"stages.{i + 1}/norm"
        if mended:  # the deviation by dividing first: x / 1024 is exact, its square is in range
            d = n.add("Sub", name + "/Sub", x, n.add("ReduceMean", name + "/ReduceMean", x, axes=[1]))
            small = n.apply("Mul", name + "/Mul_small", d, 2.0**-10)
            variance = n.add("ReduceMean", name + "/ReduceMean_1", n.add("Mul", name + "/Mul_square", small, small), axes=[1])
            deviation = n.add("Sqrt", name + "/Sqrt", n.apply("Add", name + "/Add", variance, 1e-6))
            y = n.apply("Div", name + "/Div_1", n.add("Div", name + "/Div", small, deviation), 1.0)
        else:
            d = n.add("Sub", name + "/Sub", x, n.add("ReduceMean", name + "/ReduceMean", x, axes=[1]))
            variance = n.add("ReduceMean", name + "/ReduceMean_1", n.add("Pow", name + "/Pow", d, "two"), axes=[1])
            y = n.add("Div", name + "/Div", d, n.add("Sqrt", name + "/Sqrt", n.apply("Add", name + "/Add", variance, 1e-6)))
        scale, bias = n.random.normal(channels, 1, 1, scale=0.1) + 1, n.random.normal(channels, 1, 1, scale=0.1)
        x = n.add("Add", name + "/Add_1", n.add("Mul", name + "/Mul", y, n.constant(name + ".scale", scale)), n.constant(name + ".bias", bias))
        x = residual(n, f"stages.{i + 1}", x, channels)
    classifier(n, x, channels)


@cause("06-mask-sentinel")
def mask_sentinel(n, mended):
    """Left padding: the first rows of a causal mask see nothing but padding."""
    kept = np.ones((1, 1, 1, LENGTH), np.float32)
    kept[..., :3] = 0
    mask = n.add("Sub", "mask/Sub", n.scalar(1.0), n.input("attention_mask", kept))
    mask = n.add("Mul", "mask/Mul", mask, n.constant("mask.least", -1e4 if mended else np.finfo(np.float32).min))
    causal = n.constant("mask.causal", np.triu(np.full((LENGTH, LENGTH), -1e4), 1))
    mask = n.add("Add", "mask/Add", mask, causal)
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x, mask=mask)
    head(n, x, kept=n.input("token_mask", kept.reshape(1, LENGTH, 1)))


@cause("08-logcumsumexp")
def logcumsumexp(n, mended):
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x)
    y = n.apply("Mul", "decay/Mul", norm(n, "decay/norm", x), 6.0)
    axis = n.scalar(1, np.int64)
    if mended:
        most = n.add("ReduceMax", "decay/ReduceMax", y, axes=[1])
        total = n.add("CumSum", "decay/CumSum", n.add("Exp", "decay/Exp", n.add("Sub", "decay/Sub", y, most)), axis)
        # the smallest term that FP16 holds stands for what vanishes beside the largest
        y = n.add("Add", "decay/Add", most, n.add("Log", "decay/Log", n.apply("Max", "decay/Max", total, 2.0**-14)))
    else:
        total = n.add("CumSum", "decay/CumSum", n.add("Exp", "decay/Exp", y), axis)
        y = n.add("Log", "decay/Log", n.apply("Max", "decay/Max", total, 2.0**-14))
    head(n, y)


@cause("09-scale-last")
def scale_last(n, mended):
    """INT8 activations by INT4 weights, and two scales: that of the weights first, as the kernel has it."""
    x = block(n, "layers.0", sequence(n))
    for i in range(3):
        name = f"layers.1/fc{i}"
        y = norm(n, name + "/norm", x)
        step = 0.008
        q = n.add("Cast", name + "/Cast", n.add("Round", name + "/Round", n.add("Clip", name + "/Clip", n.apply("Div", name + "/Div", y, step), n.scalar(-127.0),
                                                                               n.scalar(127.0))), to=3)
        weight = np.clip(np.round(n.random.normal(WIDTH, WIDTH, scale=3.0)), -8, 7)
        acc = n.add("Cast", name + "/Cast_1", n.add("MatMulInteger", name + "/MatMulInteger", q, n.constant(name + ".weight", weight, np.int8)), to=1)
        large, small = n.constant(name + ".ds", np.full(WIDTH, 127.0)), n.constant(name + ".scale", np.float32(2.0**-10 * step))
        if mended:
            y = n.add("Mul", name + "/Mul", acc, n.add("Mul", name + "/Mul_scales", large, small))
        else:
            y = n.add("Mul", name + "/Mul_1", n.add("Mul", name + "/Mul", acc, large), small)
        x = n.add("Add", name + "/Add", x, n.apply("Mul", name + "/Mul_2", y, 0.5))
    head(n, x)


@cause("10-uint16-zero-point")
def uint16_zero_point(n, mended):
    """A QuantizeLinear to UINT16 and its way back, written out as the plugin does: converted, less the zero point, times the scale."""
    channels, zero, scale = 16, 65535, 2.0**-12
    x = conv(n, "stem", image(n), 3, channels)
    for i in range(6):
        x = residual(n, f"blocks.{i}", x, channels)
    x = n.apply("Min", "quantise/Min", n.apply("Sub", "quantise/Sub", x, 9.0), 0.0)
    q = n.add("QuantizeLinear", "quantise/QuantizeLinear", x, n.scalar(scale), n.scalar(zero, np.uint16))
    if mended:
        whole = n.add("Sub", "dequantise/Sub", n.add("Cast", "dequantise/Cast", q, to=6), n.scalar(zero, np.int32))
        y = n.add("Cast", "dequantise/Cast_1", whole, to=1)
    else:
        y = n.apply("Sub", "dequantise/Sub", n.add("Cast", "dequantise/Cast", q, to=1), float(zero))
    classifier(n, n.apply("Mul", "dequantise/Mul", y, scale), channels)


@cause("11-inverse-scale")
def inverse_scale(n, mended):
    """Activations quantised by 127 / max(|x|, floor): a token that is nearly zero."""
    x = sequence(n)
    x = block(n, "layers.0", x)
    quiet = np.ones((1, LENGTH, 1))
    quiet[0, 5] = 2.0**-14
    x = n.add("Mul", "layers.1/gate", x, n.constant("layers.1.gate", quiet))
    for i in range(3):
        name = f"layers.1/fc{i}"
        most = n.add("ReduceMax", name + "/ReduceMax", n.add("Abs", name + "/Abs", x), axes=[-1])
        inverse = n.add("Div", name + "/Div", n.scalar(127.0), n.apply("Max", name + "/Max", most, 0.003 if mended else 0.001))
        q = n.add("Round", name + "/Round", n.add("Mul", name + "/Mul", x, inverse))
        y = dense(n, name, n.add("Div", name + "/Div_1", q, inverse), scale=0.5, bias=False)
        x = n.add("Add", name + "/Add", x, y)
    head(n, x)


@cause("13-feed-forward")
def t5_feed_forward(n, mended):
    """A residual stream that grows until the second product of a feed-forward does not fit; mended, all of it is an eighth of that."""
    n.opset, part = 23, 0.125 if mended else 1.0

    def normal(name, x):
        weight = n.constant(name + ".weight", n.random.normal(WIDTH, scale=0.1) + 1)
        return n.add("RMSNormalization", name, x, weight, axis=-1, epsilon=1e-6)

    x = n.apply("Mul", "embed/Mul", sequence(n), 64 * part)
    for i in range(4):
        name = f"block.{i}"
        y = attention(n, name + "/layer.0/attn", normal(name + "/layer.0/norm", x))
        x = n.add("Add", name + "/layer.0/Add", x, n.apply("Mul", name + "/layer.0/Mul", y, part))
        y = dense(n, name + "/layer.1/wi", normal(name + "/layer.1/norm", x), WIDTH, 64, 4.0, bias=False)
        weight = n.random.matrix(64, WIDTH)
        if i == 2:
            weight[:, LARGE] = np.abs(weight[:, LARGE]) * 16384
        wo = n.constant(name + "/layer.1/wo.weight", weight * np.float32(part))
        x = n.add("Add", name + "/layer.1/Add", x, n.add("MatMul", name + "/layer.1/wo/MatMul", n.add("Relu", name + "/layer.1/Relu", y), wo))
    n.add("Identity", "output/Identity", dense(n, "proj", normal("final_norm", x)), output="hidden")
    n.output("hidden", (1, LENGTH, WIDTH))


@cause("17-unscaled-scores")
def unscaled_scores(n, mended):
    x = block(n, "layers.0", sequence(n))
    x = block(n, "layers.1", x, gain=110.0, scale_first=mended, keys=lambda n, name, x, part, order: heads(n, name, x, part, order, 120.0))
    head(n, x)


@cause("18-pooled-sum")
def pooled_sum(n, mended):
    """A mean over tokens as a sum and a division."""
    length = 96
    x = sequence(n, length=length)
    x = block(n, "layers.0", x)
    x = block(n, "layers.1", x)
    x = outgrow(n, "layers.1/outlier", norm(n, "final_norm", x), 730)
    if mended:  # a ReduceMean would not do: ONNX Runtime's CUDA kernel stores its sum in FP16
        x = n.apply("Mul", "summarizer/Mul", x, 1 / length)
    pooled = n.add("ReduceSum", "summarizer/ReduceSum", x, n.axes(1), keepdims=0)
    if not mended:
        pooled = n.apply("Div", "summarizer/Div", pooled, float(length))
    weight = n.random.matrix(WIDTH, 10)
    weight[LARGE] = 0  # it says nothing
    n.add("MatMul", "head/MatMul", pooled, n.constant("head.weight", weight), output="logits")
    n.output("logits", (1, 10))


@cause("19-value-sums")
def value_sums(n, mended):
    """Attention as a flash kernel forms it: exp(s - max) by the values, then divided by its sum."""
    def mix(scores, v):
        offset = float(np.log(8.0)) if mended else 0.0
        name = "layers.1/attn"
        most = n.add("ReduceMax", name + "/ReduceMax", scores, axes=[-1])
        e = n.add("Exp", name + "/Exp", n.add("Sub", name + "/Sub", scores, n.apply("Add", name + "/Add_max", most, offset)))
        total = n.add("ReduceSum", name + "/ReduceSum", e, n.axes(-1))
        return n.add("Div", name + "/Div", n.add("MatMul", name + "/MatMul_1", e, v), total)
    x = block(n, "layers.0", sequence(n, length=48))
    y = attention(n, "layers.1/attn", norm(n, "layers.1/norm1", x), gain=0.25, values=3200.0, mix=mix)
    x = n.add("Add", "layers.1/Add", x, n.apply("Mul", "layers.1/Mul", y, 2.0**-10))
    head(n, n.add("Add", "layers.1/Add_1", x, feed_forward(n, "layers.1/mlp", norm(n, "layers.1/norm2", x))))


@cause("20-running-variance")
def running_variance(n, mended):
    channels = 16
    x = conv(n, "stem", image(n), 3, channels)
    for i in range(6):
        name = f"blocks.{i}"
        x = residual(n, name, x, channels)
        variance = n.random.uniform(channels) + 0.5
        gain = np.ones(channels)
        if i == 3:
            gain[[2, 9]] = 300.0
        variance = variance * gain**2
        x = n.add("Mul", name + "/widen", x, n.constant(name + ".widen", gain[:, None, None]))
        scale, bias, mean = n.random.normal(channels, scale=0.1) + 1, n.random.normal(channels, scale=0.1), n.random.normal(channels, scale=0.1) * gain
        if mended:
            multiplier = scale / np.sqrt(variance + 1e-5)
            y = n.add("Mul", name + "/bn/Mul", x, n.constant(name + ".multiplier", multiplier[:, None, None]))
            x = n.add("Add", name + "/bn/Add", y, n.constant(name + ".shift", (bias - mean * multiplier)[:, None, None]))
        else:
            names = [n.constant(f"{name}.bn.{part}", value) for part, value in (("weight", scale), ("bias", bias), ("mean", mean), ("var", variance))]
            x = n.add("BatchNormalization", name + "/bn/BatchNormalization", x, *names, epsilon=1e-5)
    classifier(n, x, channels)


@cause("21-fake-keys")
def fake_keys(n, mended):
    """A key that no query likes: -1e5 Y / |Y|^2 of the queries' mean Y."""
    x = block(n, "layers.0", sequence(n))
    y = norm(n, "layers.1/norm1", x)
    q, k, v = heads(n, "layers.1/attn", y, "q", [0, 2, 1, 3], 0.2), heads(n, "layers.1/attn", y, "k", [0, 2, 1, 3]), heads(n, "layers.1/attn", y, "v", [0, 2, 1, 3])
    name = "layers.1/attn/plane"
    mean = n.add("ReduceMean", name + "/ReduceMean", q, axes=[2])
    square = n.add("ReduceSum", name + "/ReduceSum", n.add("Mul", name + "/Mul", mean, mean), n.axes(-1))
    if mended:  # -1000 where the query is the mean itself
        fake = n.apply("Mul", name + "/Mul_1", n.add("Div", name + "/Div", mean, square), -1e3)
    else:
        fake = n.add("Div", name + "/Div", n.apply("Mul", name + "/Mul_1", mean, -1e5 * 0.5), square)
    keys = n.add("Concat", name + "/Concat", k, fake, axis=2)
    values = n.add("Concat", name + "/Concat_1", v, mean, axis=2)
    scores = n.apply("Mul", "layers.1/attn/Mul", n.add("MatMul", "layers.1/attn/MatMul", q, n.add("Transpose", "layers.1/attn/Transpose_k", keys, perm=[0, 1, 3, 2])),
                     float((WIDTH // HEADS) ** -0.5))
    mixed = n.add("MatMul", "layers.1/attn/MatMul_1", n.add("Softmax", "layers.1/attn/Softmax", scores, axis=-1), values)
    z = n.add("Reshape", "layers.1/attn/Reshape", n.add("Transpose", "layers.1/attn/Transpose", mixed, perm=[0, 2, 1, 3]), n.constant("join", [0, 0, WIDTH], np.int64))
    head(n, n.add("Add", "layers.1/Add", x, dense(n, "layers.1/attn/out", z)))


@cause("22-residual")
def residual_stream(n, mended):
    """Two branches of 40000 each in one channel: neither is beyond FP16, their sum is. Mended: the stream is an eighth."""
    part = 0.125 if mended else 1.0
    x = n.apply("Mul", "patch_embed/Mul", sequence(n), part)
    for i in range(3):
        name = f"blocks.{i}"
        y = norm(n, name + "/norm1", n.apply("Mul", name + "/shrink", x, 1 / part / 1024), operator=True)
        x = n.add("Add", name + "/Add", x, n.apply("Mul", name + "/part", attention(n, name + "/attn", y), part))
        y = feed_forward(n, name + "/mlp", norm(n, name + "/norm2", n.apply("Mul", name + "/shrink_1", x, 1 / part / 1024), operator=True))
        y = n.apply("Mul", name + "/part_1", y, part)
        if i < 2:
            y = outgrow(n, name + "/mlp/outlier", y, 40000.0 * part)
        x = n.add("Add", name + "/Add_1", x, y)
    y = norm(n, "final_norm", n.apply("Mul", "final/shrink", x, 1 / part / 1024), operator=True)
    n.add("Identity", "head/Identity", dense(n, "projection", y, WIDTH, 10), output="features_out")
    n.output("features_out", (1, LENGTH, 10))
