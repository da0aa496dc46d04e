"""Causes within range: what vanishes, cancels, is rounded, decides otherwise, or is a NaN from the start."""
import numpy as np
from parts import HEADS, INT64, LENGTH, WIDTH, attention, block, cause, classifier, conv, dense, feed_forward, grid, head, heads, image, norm, residual, sequence


def lengths(n, name, length, mended):
    """Three convolutions of stride 2, as lengths: floor((length - 1) / 2) + 1, in floats or in integers."""
    for i in range(3):
        at = f"{name}/{i}"
        if mended:
            one, two = n.scalar(1, np.int64), n.scalar(2, np.int64)
            length = n.add("Add", at + "/Add", n.add("Div", at + "/Div", n.add("Sub", at + "/Sub", length, one), two), one)
            continue
        if i == 0:
            length = n.add("Cast", at + "/Cast", length, to=1)
        half = n.apply("Div", at + "/Div", n.apply("Sub", at + "/Sub", length, 1.0), 2.0)
        length = n.apply("Add", at + "/Add", n.add("Floor", at + "/Floor", half), 1.0)
    return length if mended else n.add("Cast", name + "/Cast", length, to=7)


@cause("02-lengths")
def lengths_in_floats(n, mended):
    length = n.input("length", np.array([12001]), kind=INT64)
    n.add("Identity", "encoded_lengths/Identity", lengths(n, "pre_encode", length, mended), output="encoded_lengths")
    n.output("encoded_lengths", (1,), INT64)
    head(n, block(n, "layers.0", sequence(n)))


def mish(mended):
    def activation(n, name, x):
        if not mended:
            return n.add("Mul", name + "/Mul", x, n.add("Tanh", name + "/Tanh", n.add("Softplus", name + "/Softplus", x)))
        small = n.add("Exp", name + "/Exp", n.add("Neg", name + "/Neg", n.add("Abs", name + "/Abs", x)))
        y = n.add("Add", name + "/Add", n.add("Relu", name + "/Relu", x), n.add("Log", name + "/Log", n.apply("Add", name + "/Add_1", small, 1.0)))
        return n.add("Mul", name + "/Mul", x, n.add("Tanh", name + "/Tanh", y))
    return activation


@cause("04-softplus")
def softplus(n, mended):
    channels = 16
    x = conv(n, "stem", image(n), 3, channels)
    for i in range(5):
        if i == 3:
            x = n.apply("Mul", "blocks.3/gain", x, 4.0)
        x = residual(n, f"blocks.{i}", x, channels, mish(mended))
    classifier(n, n.apply("Mul", "pool/gain", x, 0.25), channels)


@cause("05-logsumexp")
def logsumexp(n, mended):
    channels = 32
    x = conv(n, "stem", image(n), 3, channels)
    for i in range(8):
        x = residual(n, f"blocks.{i}", x, channels)
    x = n.apply("Mul", "energy/Mul", x, 4.0)
    if mended:
        most = n.add("ReduceMax", "energy/ReduceMax", x, axes=[1])
        total = n.add("ReduceSum", "energy/ReduceSum", n.add("Exp", "energy/Exp", n.add("Sub", "energy/Sub", x, most)), n.axes(1))
        y = n.add("Add", "energy/Add", most, n.add("Log", "energy/Log", total))
    else:
        y = n.add("ReduceLogSumExp", "energy/ReduceLogSumExp", x, axes=[1], keepdims=1)
    n.add("Sub", "posterior/Sub", x, y, output="log_posterior")
    n.output("log_posterior", (1, channels, 16, 16))


@cause("07-log-softmax")
def log_softmax(n, mended):
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x)
    y = dense(n, "vocabulary", norm(n, "final_norm", x), WIDTH, 40, 12.0)
    if mended:
        d = n.add("Sub", "loss/Sub", y, n.add("ReduceMax", "loss/ReduceMax", y, axes=[-1]))
        total = n.add("ReduceSum", "loss/ReduceSum", n.add("Exp", "loss/Exp", d), n.axes(-1))
        n.add("Sub", "loss/Sub_1", d, n.add("Log", "loss/Log", total), output="log_probabilities")
    else:
        n.add("Log", "loss/Log", n.add("Softmax", "loss/Softmax", y, axis=-1), output="log_probabilities")
    n.output("log_probabilities", (1, LENGTH, 40))


def nvfp4(n, name, rows, columns, broken_block):
    """Weights in E2M1 by blocks of 16 with scales in E4M3 and one of the tensor, as NVFP4 has them; the NaN byte where a scale was beyond 448."""
    codes = n.random.integers(0, 16, rows, columns)
    packed = (codes.reshape(-1)[::2] | codes.reshape(-1)[1::2] << 4).astype(np.uint8)
    scales = n.random.integers(0x48, 0x58, rows // 16, columns).astype(np.uint8)  # 4 to 15
    scales.reshape(-1)[columns * (rows // 32) + 7] = 0x7F if broken_block else 0x7E  # 448
    n.constants[name + ".codes"] = (23, (rows, columns), packed.tobytes())
    n.constants[name + ".scales"] = (17, (rows // 16, columns), scales.tobytes())
    blocks = n.add("DequantizeLinear", name + "/scales", name + ".scales", n.scalar(2.0**-9))
    return n.add("DequantizeLinear", name + "/weight", name + ".codes", blocks, axis=0, block_size=16)


@cause("12-nan-scale")
def nan_scale(n, mended):
    n.opset = 23
    x = sequence(n)
    for i in range(3):
        name = f"layers.{i}"
        y = norm(n, name + "/norm1", x, operator=True)
        y = attention(n, name + "/attn", y)
        weight = nvfp4(n, name + "/o_proj", WIDTH, WIDTH, i == 1 and not mended)
        x = n.add("Add", name + "/Add", x, n.add("MatMul", name + "/o_proj/MatMul", y, weight))
    last = n.add("ReduceMean", "pool/ReduceMean", norm(n, "final_norm", x, operator=True), n.axes(1), keepdims=0)
    n.add("MatMul", "head/MatMul", last, n.constant("head.weight", n.random.matrix(WIDTH, 10)), output="logits")
    n.output("logits", (1, 10))


@cause("14-normalize-epsilon")
def normalize_epsilon(n, mended):
    """F.normalize of the embeddings, of which one is all zeros: padding."""
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x)
    kept = np.ones((1, LENGTH, 1), np.float32)
    kept[0, -2:] = 0
    x = n.add("Mul", "embedding/Mul", x, n.input("mask", kept))
    length = n.add("ReduceL2", "embedding/ReduceL2", x, axes=[-1])
    length = n.apply("Max", "embedding/Max", length, 2.0**-14 if mended else 1e-12)
    n.add("Div", "embedding/Div", x, length, output="embedding")
    n.output("embedding", (1, LENGTH, WIDTH))


@cause("15-min-max-epsilon")
def min_max_epsilon(n, mended):
    """Scores between 0 and 1, by their own range: four documents that are scored alike."""
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x)
    query = n.add("ReduceMean", "score/ReduceMean", norm(n, "score/norm", x), axes=[1])
    documents = np.repeat(n.random.normal(3, 1, WIDTH), 4, axis=1)
    documents[:2] += n.random.normal(2, 4, WIDTH)
    d = n.input("documents", documents)
    scores = n.add("ReduceSum", "score/ReduceSum", n.add("Mul", "score/Mul", d, query), n.axes(-1), keepdims=0)
    least, most = n.add("ReduceMin", "range/ReduceMin", scores, axes=[-1]), n.add("ReduceMax", "range/ReduceMax", scores, axes=[-1])
    width = n.apply("Add", "range/Add", n.add("Sub", "range/Sub", most, least), 2.0**-10 if mended else 1e-8)
    n.add("Div", "range/Div", n.add("Sub", "range/Sub_1", scores, least), width, output="scores")
    n.output("scores", (3, 4))


def rotate(n, name, x, cos, sin):
    half = WIDTH // HEADS // 2
    first = n.add("Slice", name + "/Slice", x, n.constant("begin", [0], np.int64), n.constant("middle", [half], np.int64), n.axes(-1))
    second = n.add("Slice", name + "/Slice_1", x, n.constant("middle", [half], np.int64), n.constant("end", [2 * half], np.int64), n.axes(-1))
    turned = n.add("Concat", name + "/Concat", n.add("Neg", name + "/Neg", second), first, axis=-1)
    return n.add("Add", name + "/Add", n.add("Mul", name + "/Mul", x, cos), n.add("Mul", name + "/Mul_1", turned, sin))


def rotary(n, start, inverse, table):
    """Rotary positions from `start` on: computed in floats as the graph goes, or read from a table that was made in FP32."""
    positions = n.input("positions", np.arange(start, start + LENGTH), kind=INT64)
    if table:
        angles = np.outer(np.arange(start + 64), np.tile(inverse, 2))
        cos, sin = (n.add("Gather", f"rotary/Gather_{name}", n.constant(f"rotary.{name}", grid(function(angles))), positions, axis=0)
                    for name, function in (("cos", np.cos), ("sin", np.sin)))
    else:
        column = n.add("Unsqueeze", "rotary/Unsqueeze", n.add("Cast", "rotary/Cast", positions, to=1), n.axes(1))
        phase = n.add("MatMul", "rotary/MatMul", column, n.constant("rotary.inv_freq", inverse[None, :]))
        both = n.add("Concat", "rotary/Concat", phase, phase, axis=-1)
        cos, sin = n.add("Cos", "rotary/Cos", both), n.add("Sin", "rotary/Sin", both)
    x = sequence(n)
    for i in range(2):
        name = f"layers.{i}"
        y = norm(n, name + "/norm1", x)
        q = n.apply("Mul", name + "/Mul", rotate(n, name + "/rotate_q", heads(n, name, y, "q", [0, 2, 1, 3], 3.0), cos, sin), float((WIDTH // HEADS) ** -0.5))
        k = rotate(n, name + "/rotate_k", heads(n, name, y, "k", [0, 2, 1, 3], 3.0), cos, sin)
        scores = n.add("MatMul", name + "/MatMul", q, n.add("Transpose", name + "/Transpose", k, perm=[0, 1, 3, 2]))
        mixed = n.add("MatMul", name + "/MatMul_1", n.add("Softmax", name + "/Softmax", scores, axis=-1), heads(n, name, y, "v", [0, 2, 1, 3]))
        y = n.add("Reshape", name + "/Reshape", n.add("Transpose", name + "/Transpose_1", mixed, perm=[0, 2, 1, 3]), n.constant("join", [0, 0, WIDTH], np.int64))
        x = n.add("Add", name + "/Add", x, dense(n, name + "/out", y))
        x = n.add("Add", name + "/Add_1", x, feed_forward(n, name + "/mlp", norm(n, name + "/norm2", x)))
    head(n, x)


@cause("16-rotary-positions")
def rotary_positions(n, mended):
    rotary(n, 4001, 10000.0 ** (-np.arange(4) / 4), mended)


@cause("23-variance-cancels")
def variance_cancels(n, mended):
    """A variance as E[x^2] - E[x]^2, of channels whose mean is large beside their deviation."""
    channels = 16
    x = conv(n, "stem", image(n), 3, channels)
    for i in range(5):
        x = residual(n, f"blocks.{i}", x, channels)
    mean, deviation = np.full((channels, 1, 1), 0.5), np.full((channels, 1, 1), 0.5)
    mean[[3, 8]], deviation[[3, 8]] = 5.0, 0.03
    x = n.add("Add", "shift/Add", n.add("Mul", "shift/Mul", x, n.constant("shift.deviation", deviation)), n.constant("shift.mean", mean))
    mean = n.add("ReduceMean", "batch_norm/ReduceMean", x, axes=[0, 2, 3])
    d = n.add("Sub", "batch_norm/Sub_1", x, mean)
    if mended:
        variance = n.add("ReduceMean", "batch_norm/ReduceMean_1", n.add("Mul", "batch_norm/Mul", d, d), axes=[0, 2, 3])
    else:
        square = n.add("ReduceMean", "batch_norm/ReduceMean_1", n.add("Mul", "batch_norm/Mul", x, x), axes=[0, 2, 3])
        variance = n.add("Sub", "batch_norm/Sub", square, n.add("Mul", "batch_norm/Mul_1", mean, mean))
    root = n.add("Sqrt", "batch_norm/Sqrt", n.apply("Add", "batch_norm/Add", variance, 1e-5))
    x = residual(n, "blocks.5", n.add("Div", "batch_norm/Div", d, root), channels)
    classifier(n, x, channels)


ALPHA = (4.89352455891786e-3, 6.37261928875436e-4, 1.48572235717979e-5, 5.12229709037114e-8, -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16)
BETA = (4.89352518554385e-3, 2.26843463243900e-3, 1.18534705686654e-4, 1.19825839466702e-6)


def rational_tanh(n, name, x):
    """x P(x^2) / Q(x^2) of x within 9, by coefficients that were fitted for FP32."""
    x = n.add("Clip", name + "/Clip", x, n.scalar(-9.0), n.scalar(9.0))
    z = n.add("Mul", name + "/Mul", x, x)
    parts = []
    for part, coefficients in (("p", ALPHA), ("q", BETA)):
        y = n.constant(f"tanh.{part}{len(coefficients) - 1}", coefficients[-1])
        for i in range(len(coefficients) - 2, -1, -1):
            y = n.add("Add", f"{name}/{part}/Add_{i}", n.add("Mul", f"{name}/{part}/Mul_{i}", y, z), n.constant(f"tanh.{part}{i}", coefficients[i]))
        parts.append(y)
    return n.add("Div", name + "/Div", n.add("Mul", name + "/Mul_1", x, parts[0]), parts[1])


def fast_gelu(mended):
    def activation(n, name, x):
        x = n.apply("Mul", name + "/gain", x, 12.0)
        cube = n.add("Mul", name + "/Mul_1", n.add("Mul", name + "/Mul", x, x), x)
        inner = n.apply("Mul", name + "/Mul_3", n.add("Add", name + "/Add", x, n.apply("Mul", name + "/Mul_2", cube, 0.044715)), 0.79788456)
        y = n.add("Tanh", name + "/Tanh", inner) if mended else rational_tanh(n, name + "/tanh", inner)
        return n.add("Mul", name + "/Mul_5", n.apply("Mul", name + "/Mul_4", x, 0.5), n.apply("Add", name + "/Add_1", y, 1.0))
    return activation


@cause("24-vanishing-coefficients")
def vanishing_coefficients(n, mended):
    x = block(n, "layers.0", sequence(n))
    head(n, block(n, "layers.1", x, activation=fast_gelu(mended)))


@cause("25-rotary-phases")
def rotary_phases(n, mended):
    """Positions that FP16 holds; the four fastest of the sixteen frequencies of a head of 32."""
    rotary(n, 1850, 10000.0 ** (-np.arange(4) / 16), mended)
