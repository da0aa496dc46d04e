"""Outputs as real networks have them, each with a twin that is right and one that is wrong, from the user's view alone.

A case builds a network for `wrong` in False, True. In both FP16 computes the same graph of operators but for one step, which in the wrong twin loses what
the user wants: a sum that swamps it, a scale below FP16's least number, a difference of large numbers, an overflow. `lost(exact, got)` is the user's own look at the
output, in words beside it; numpy's FP16 must say so of each twin before anything else is asked (twin_sweeps.py has groups of every size)."""
import numpy as np
from twin_net import sunk, swamped

CASES = []


def case(name, right, wrong, lost):
    def keep(build):
        CASES.append((name, right, wrong, lost, build))
    return keep


def off(got, exact):
    """The error's rms over the exact rms; infinite where something is not finite."""
    exact, got = (np.asarray(v, np.float64) for v in (exact, got))
    with np.errstate(all="ignore"):
        error = np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact ** 2))
    return error if np.isfinite(error) else np.inf


def first(axis=-1, at_least=0.0):
    """More than a part of the first choices change."""
    return lambda e, g: (e.argmax(axis) != g.argmax(axis)).mean() > at_least


def crossing(e, g, at=0.5, by=0.05):
    """A decision at a threshold changes, by more than anybody would call a tie."""
    return bool(((e > at) != (g > at))[abs(e - at) > by].any())


def worse(part=(), than=0.1):
    """A part of the output is off by more than 10 % of itself, or not finite."""
    return lambda e, g: off(g[part], e[part]) > than


def unlike(e, g):
    """Rows point elsewhere: a cosine below 0.98."""
    e, g = (v.reshape(-1, v.shape[-1]) for v in (e, g))
    with np.errstate(all="ignore"):
        return not ((e * g).sum(-1) / np.linalg.norm(e, axis=-1) / np.linalg.norm(g, axis=-1) > 0.98).all()


def pick(values, wrong):
    return values[int(wrong)]


def logits(net, rows, classes, margin=3.0):
    """Rows of logits as an input of the head; the second choice is `margin` below the first."""
    x = net.random.randn(rows, classes)
    top = x.argsort(-1)
    for i in range(rows):
        x[i, top[i, -1]] = x[i, top[i, -2]] + margin
    return x


def boxes(random, count):
    corner = random.uniform(0, 400, (count, 2))
    return np.concatenate([corner, corner + random.uniform(20, 200, (count, 2))], -1)


def scene(net, *shape):
    """A smooth picture in [0, 1]: waves, some edges and a little texture."""
    y, x = np.mgrid[0:1:shape[-2] * 1j, 0:1:shape[-1] * 1j]
    planes = [0.5 + 0.3 * np.sin(6 * x + k) * np.cos(5 * y - k) + 0.15 * (x + y > 1 + 0.1 * k) + 0.02 * net.random.randn(*x.shape) for k in range(shape[-3])]
    return np.clip(planes, 0.02, 0.98).reshape(shape)


def logit(p):
    return np.log(p / (1 - p))


# Classes, scores, choices

@case("class probabilities behind Softmax", "the same first class by a wide margin", "the first class is another", first())
def _(net, wrong):
    x = logits(net, 1, 1000, 1.0)
    net.output("probs", net("Softmax", swamped(net.input(x), pick((1.0, 4096.0), wrong)), axis=-1))


@case("logits by name behind a written-out normalisation", "the same first classes", "squares overflow, every sample gets the biases' class", first())
def _(net, wrong):
    x = net.input(net.random.randn(8, 64) * pick((3.0, 600.0), wrong))
    y = x - net.over("ReduceMean", x, -1)
    y = y / net("Sqrt", net.over("ReduceSum", y * y, -1) * (1 / 64) + 1e-5)
    net.output("logits", net.dense(y, 10, 4.0) + net.random.randn(10))


case("log-probabilities of text", "0.001 of a nat", "log-probabilities are off by nats, first tokens change", first())(
     lambda net, wrong: net.output("log_probs", net("LogSoftmax", swamped(net.input(logits(net, 6, 50, 0.6)), pick((2.0, 3000.0), wrong)), axis=-1)))


case("log-probabilities as Log of Softmax", "likely tokens, all digits", "unlikely tokens are minus infinity: a sentence's likelihood is lost", worse())(
     lambda net, wrong: net.output("logp", net("Log", net("Softmax", net.input(logits(net, 4, 30) * pick((1.0, 8.0), wrong)), axis=-1))))


@case("several labels behind Sigmoid", "no label crosses 0.5", "labels cross 0.5", crossing)
def _(net, wrong):
    x = net.random.uniform(-3, 3, (4, 20))
    net.output("scores", net("Sigmoid", swamped(net.input(x), pick((8.0, 4000.0), wrong))))


case("one probability of one sample", "0.93 stays 0.93", "0.93 becomes 0.5", crossing)(
     lambda net, wrong: net.output("prob", net("Sigmoid", sunk(net.input([[2.6]]), pick((8, 30), wrong)))))


@case("characters of a recogniser, Softmax over time", "the same characters; probabilities of blanks' tails are nobody's", "characters change", first())
def _(net, wrong):
    x = logits(net, 40, 97, 2.0) * 4
    net.output("output", net("Softmax", swamped(net.shaped(net.input(x), 1, 40, 97), pick((4.0, 16384.0), wrong)), axis=-1))


case("logits of tokens", "the same tokens", "a quarter of the next tokens are others", first(at_least=0.1))(
     lambda net, wrong: net.output("token_logits", net.shaped(swamped(net.input(logits(net, 16, 500, 1.0) * 2), pick((1.0, 6000.0), wrong)), 1, 16, 500)))


@case("labels of pixels as integers", "the same labels", "a third of the pixels get another label", lambda e, g: (e != g).mean() > 0.1)
def _(net, wrong):
    x = logits(net, 32 * 32, 5, 0.8).reshape(1, 32, 32, 5).transpose(0, 3, 1, 2)
    net.output("labels", net("ArgMax", swamped(net.input(x), pick((1.0, 3000.0), wrong)), axis=1, keepdims=0), "int64")


@case("masks of classes, logits of pixels", "the same mask", "the mask is another", first(1, 0.1))
def _(net, wrong):
    x = logits(net, 32 * 32, 5, 0.8).reshape(1, 32, 32, 5).transpose(0, 3, 1, 2)
    net.output("seg", swamped(net.input(x), pick((1.0, 3000.0), wrong)))


@case("mask of one class behind Sigmoid", "the same pixels", "a third of the pixels is on the other side", crossing)
def _(net, wrong):
    x = net.random.uniform(0.3, 3, (1, 1, 40, 40)) * np.sign(net.random.randn(1, 1, 40, 40))
    net.output("mask", net("Sigmoid", swamped(net.input(x), pick((4.0, 4000.0), wrong))))


case("logits of occupancy of points", "the same side everywhere", "points change sides", lambda e, g: crossing(e, g, 0, 0.1))(
     lambda net, wrong: net.output("occupancy", swamped(net.input(net.random.randn(1, 500, 1)), pick((1.0, 2000.0), wrong))))


@case("actions' logits and a value", "the same action, the value to 0.1 %", "the value of the state is 0 while the logits are exact", worse())
def _(net, wrong):
    net.output("policy", net.input(logits(net, 1, 6)) + 1.0)
    net.output("value", sunk(net.input([[0.37]]), pick((6, 30), wrong)))


# Boxes, points, poses

@case("detections: boxes in pixels, score, class", "scores to 0.001", "all scores are 0 or 1, boxes exact", lambda e, g: abs(g - e)[..., 4].max() > 0.2)
def _(net, wrong):
    x = np.concatenate([boxes(net.random, 100), net.random.uniform(0.05, 0.95, (100, 1)), net.random.randint(0, 80, (100, 1))], -1)[None]
    net.output("detections", net.on(net.input(x), 2, 4, 5, lambda s: swamped(s, pick((0.5, 1024.0), wrong))))


@case("raw rows of a detector: boxes, objectness, 80 scores", "scores to 0.001", "scores are 0 or 1", lambda e, g: abs(g - e)[..., 4:].max() > 0.2)
def _(net, wrong):
    x = np.concatenate([boxes(net.random, 60), net.random.uniform(0, 1, (60, 81)) ** 4], -1)[None]
    net.output("output0", net.on(net.input(x), 2, 4, 85, lambda s: sunk(s, pick((4, 24), wrong))))


@case("two scores behind four coordinates", "all to 0.1 %", "boxes right, both scores lost", worse((Ellipsis, slice(4, 6))))
def _(net, wrong):
    x = np.concatenate([boxes(net.random, 64), net.random.uniform(0.1, 0.9, (64, 2))], -1)
    net.output("pred", net.on(net.input(x), 1, 4, 6, lambda s: swamped(s, pick((1.0, 2048.0), wrong))))


@case("raw heads of anchors", "every channel to 0.1 %", "widths and heights of every anchor are lost", worse((slice(None), [2, 3, 8, 9, 14, 15])))
def _(net, wrong):
    y = net.input(net.random.randn(1, 18, 13, 13))
    for k in range(3):
        y = net.on(y, 1, 6 * k + 2, 6 * k + 4, lambda s: swamped(s, pick((1.0, 2048.0), wrong)))
    net.output("head", y)


@case("boxes in [0, 1] and logits in two outputs", "both to 0.1 %", "boxes are multiples of 1/8, logits exact", worse())
def _(net, wrong):
    net.output("pred_logits", net.input(logits(net, 50, 20)[None]) * 2.0)
    net.output("pred_boxes", swamped(net.input(net.random.uniform(0.05, 0.6, (1, 50, 4))), pick((0.5, 255.0), wrong)))


case("landmarks in pixels, one row", "a quarter of a pixel", "16 pixels off", lambda e, g: abs(g - e).max() > 4)(
     lambda net, wrong: net.output("landmarks", swamped(net.input(net.random.uniform(0, 1, (1, 136))), pick((1.0, 120.0), wrong)) * 256.0))


case("landmarks in [0, 1]", "0.1 %", "10 % of the face", lambda e, g: abs(g - e).max() > 0.05)(
     lambda net, wrong: net.output("points", swamped(net.input(net.random.uniform(0, 1, (1, 68, 2))), pick((1.0, 255.0), wrong))))


@case("landmarks in pixels and whether they are seen", "both to 0.1 %", "seen is 0 or 1 at random, pixels exact", worse((Ellipsis, slice(3, 5))))
def _(net, wrong):
    x = np.concatenate([net.random.uniform(-200, 200, (1, 33, 3)), net.random.uniform(0.1, 0.95, (1, 33, 2))], -1)
    net.output("world", net.on(net.input(x), 2, 3, 5, lambda s: swamped(s, pick((1.0, 1024.0), wrong))))


def peak(e, g):
    return (e.reshape(17, -1).argmax(-1) != g.reshape(17, -1).argmax(-1)).mean() > 0.2


@case("heatmaps of keypoints", "peaks at the same pixels", "peaks move: the top of each hill is flat", peak)
def _(net, wrong):
    y, x = np.mgrid[0:16, 0:12]
    at = net.random.uniform(2, 10, (17, 2))
    hills = np.array([0.7 * np.exp(-((y - a) ** 2 + (x - b) ** 2) / 8) for a, b in at])[None]
    net.output("heatmaps", swamped(net.input(hills), pick((0.25, 512.0), wrong)))


@case("heatmap of one joint of seventeen", "peaks at the same pixels", "one joint's map is 0, sixteen are exact", lambda e, g: off(g[:, 5], e[:, 5]) > 0.5)
def _(net, wrong):
    y, x = np.mgrid[0:16, 0:12]
    hills = np.exp(-((y - net.random.uniform(3, 9, (17, 1, 1))) ** 2 + (x - 5) ** 2) / 8)[None]
    net.output("heatmaps", net.on(net.input(hills), 1, 5, 6, lambda s: sunk(s, pick((4, 30), wrong))))


@case("pose matrix, translation in millimetres", "rotation and translation to 0.1 %", "the rotation is the identity or nothing, translation exact", worse((Ellipsis, slice(0, 3))))
def _(net, wrong):
    q, _ = np.linalg.qr(net.random.randn(3, 3))
    x = np.concatenate([q, net.random.uniform(-2000, 2000, (3, 1))], -1)[None]
    net.output("pose", net.on(net.input(x), 2, 0, 3, lambda s: swamped(s, pick((1.0, 3000.0), wrong))))


@case("quaternion", "0.1 %", "squares below FP16's least number: divided by 0", worse())
def _(net, wrong):
    x = net.input(net.random.randn(1, 4) * pick((1.0, 3e-5), wrong))
    net.output("rotation", x / net("Sqrt", net.over("ReduceSum", x * x, -1)))


case("angles of joints", "a thousandth of a radian", "multiples of 1 radian", worse())(
     lambda net, wrong: net.output("theta", swamped(net("Atan", net.input(net.random.randn(1, 24))), pick((1.0, 1500.0), wrong))))


@case("sines of positions", "positions that FP16 counts", "positions in the thousands: phases are arbitrary", worse())
def _(net, wrong):
    t = net.input(np.arange(100).reshape(1, 100, 1) + pick((0, 4000), wrong))
    net.output("encoding", net("Sin", t * (pick((0.02, 1.0), wrong) / 1.3 ** np.arange(8))))


# Pictures, sound, fields

case("generated picture behind Sigmoid", "less than a step of 8 bits", "bands of 1/8", lambda e, g: abs(g - e).max() > 0.03)(
     lambda net, wrong: net.output("image", swamped(net("Sigmoid", net.input(logit(scene(net, 1, 3, 32, 32)))), pick((0.5, 200.0), wrong))))


@case("generated picture behind Tanh", "less than a step of 8 bits", "no blue", lambda e, g: off(g[:, 2], e[:, 2]) > 0.5)
def _(net, wrong):
    x = np.arctanh(scene(net, 1, 3, 32, 32) * 1.8 - 0.9)
    net.output("fake", net("Tanh", net.on(net.input(x), 1, 2, 3, lambda s: sunk(s, pick((2, 30), wrong)))))


@case("picture as UINT8", "off by 1 of 255 here and there", "16 greys are left", lambda e, g: abs(g.astype(int) - e).max() > 4)
def _(net, wrong):
    x = net("Round", net("Clip", swamped(net.input(scene(net, 1, 3, 32, 32)), pick((0.25, 100.0), wrong)) * 255.0, net.constant(np.float32(0)), net.constant(np.float32(255))))
    net.output("picture", net.cast(x, "uint8"), "uint8")


@case("picture taken at computed places", "the same picture", "odd pixels behind 2048 repeat their neighbours", lambda e, g: off(g, e) > 0.05)
def _(net, wrong):
    count = pick((1500, 6000), wrong)
    places = net.cast(net.input(np.arange(count)[::-1] / 8) * 8.0, "int64")
    net.output("warped", net.shaped(net("Gather", net.input(net.random.uniform(0, 1, count + 8)), places, axis=0), 1, 1, 30, count // 30))


case("noise that a diffusion model predicts", "60 dB", "12 dB", worse())(
     lambda net, wrong: net.output("noise_pred", swamped(net.input(net.random.randn(1, 4, 16, 16)), pick((1.0, 600.0), wrong))))


@case("depth in metres", "0.1 %", "far away is one wall: the disparity has three values there", lambda e, g: np.median(abs(g - e) / e) > 0.1)
def _(net, wrong):
    disparity = net("Sigmoid", net.input(net.random.uniform(-4.5, -1, (1, 1, 24, 32))))
    net.output("depth", net.constant(np.float32(1)) / swamped(disparity, pick((0.25, 120.0), wrong)))


@case("optical flow, mostly to the side", "both parts to 0.1 %", "the part that goes up is lost", worse((slice(None), 1)))
def _(net, wrong):
    x = np.stack([net.random.uniform(10, 40, (24, 24)), net.random.uniform(-0.5, 0.5, (24, 24))])[None]
    net.output("flow", net.on(net.input(x), 1, 1, 2, lambda s: swamped(s, pick((1.0, 1024.0), wrong))))


@case("colours and densities along rays", "both to 0.1 %", "colours are 0 or 1, densities exact", worse((Ellipsis, slice(0, 3))))
def _(net, wrong):
    x = np.concatenate([net.random.uniform(0, 1, (200, 3)), net.random.uniform(0, 500, (200, 1))], -1)
    net.output("rgb_sigma", net.on(net.input(x), 1, 0, 3, lambda s: swamped(s, pick((1.0, 2000.0), wrong))))


@case("sound", "the rounding of 10 bits and more", "hiss at a fifth of the sound", worse())
def _(net, wrong):
    t = np.arange(2000) / 16000
    x = 0.15 * np.sin(2 * np.pi * 220 * t) + 0.05 * np.sin(2 * np.pi * 777 * t)
    net.output("audio", swamped(net.input(x.reshape(1, 1, -1)), pick((0.125, 120.0), wrong)))


@case("logarithms of a spectrum", "loud bins to 0.01", "silent bins are minus infinity: 1e-10 is 0 in FP16", worse())
def _(net, wrong):
    power = 10 ** net.random.uniform(pick((-2, -8), wrong), 1, (1, 40, 50))
    net.output("log_mel", net("Log", net.input(power) + 1e-10))


@case("magnitudes of a spectrum", "tails a millionth of the loud bins are 0", "the loud bins overflow", worse())
def _(net, wrong):
    x = net.input(10 ** net.random.uniform(-5, 1, (1, 129, 30)) * pick((1.0, 200.0), wrong))
    net.output("magnitude", net("Sqrt", x * x))


# Vectors, states, numbers

@case("embeddings of unit length", "cosines of 0.9999", "squares overflow: vectors are 0", unlike)
def _(net, wrong):
    x = net.dense(net.input(net.random.randn(4, 96) * pick((1.0, 100.0), wrong)), 128)
    net.output("embedding", x / net("Sqrt", net.over("ReduceSum", x * x, -1)))


case("output of a product, no name", "60 dB", "10 dB", worse())(
     lambda net, wrong: net.output("output", swamped(net.dense(net.input(net.random.randn(3, 96)), 64), pick((1.0, 1020.0), wrong))))


@case("sentence vectors with one dimension far larger than all others", "all dimensions to 0.1 %", "all dimensions but the large one are lost: every sentence is alike", worse((Ellipsis, slice(1, None))))
def _(net, wrong):
    x = net.random.randn(6, 64)
    x[:, 0] = 60 + net.random.randn(6)
    net.output("pooled", net.on(net.input(x), 1, 1, 64, lambda s: swamped(s, pick((1.0, 4096.0), wrong))))


@case("similarities of speakers", "0.001", "products below FP16's least number: all are alike", worse())
def _(net, wrong):
    x = net.random.randn(5, 32)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    y = net.input(x) * pick((1.0, 2.0 ** -13), wrong)
    net.output("similarity", net("MatMul", y, net("Transpose", y, perm=[1, 0])) * pick((1.0, 2.0 ** 13), wrong) * pick((1.0, 2.0 ** 13), wrong))


@case("maps of attention", "0.1 %", "scores overflow where they are not scaled first: NaN", worse())
def _(net, wrong):
    q, k = (net.input(net.random.randn(4, 16, 32) * pick((1.0, 150.0), wrong)) for _ in range(2))
    net.output("attention", net("Softmax", net("MatMul", q, net("Transpose", k, perm=[0, 2, 1])) * pick((0.2, 1e-5), wrong), axis=-1))


case("several physical quantities in a row", "each to 0.1 %", "the pressure in Pa overflows", worse((0, 1)))(
     lambda net, wrong: net.output("state", net.input([[293.0, 101.325, 0.0123, 4.7, -1.2, 0.31]]) * np.array([1, pick((1, 1000), wrong), 1, 1, 1, 1], np.float32)))


@case("temperature, pressure and humidity of 24 hours", "each to 0.1 %", "the humidity is 0, all else exact", worse((Ellipsis, 2)))
def _(net, wrong):
    x = np.stack([288 + 5 * net.random.randn(24), 1010 + 8 * net.random.randn(24), net.random.uniform(0.2, 0.9, 24)], -1)[None]
    net.output("forecast", net.on(net.input(x), 2, 2, 3, lambda s: swamped(s, pick((1.0, 2048.0), wrong))))


@case("a forecast about its level", "0.1 %", "the level swallows the season: a flat line", worse())
def _(net, wrong):
    season = 5 * np.sin(np.arange(24) / 4)
    net.output("y_hat", swamped(net.input(season.reshape(1, 24)), pick((20.0, 30000.0), wrong)))


@case("lower, middle and upper forecast", "0.1 %", "all three are the same: no interval", lambda e, g: off(g[..., 2] - g[..., 0], e[..., 2] - e[..., 0]) > 0.5)
def _(net, wrong):
    x = net.random.uniform(1.0, 1.2, (8, 1)) + np.array([-0.2, 0, 0.2])
    net.output("quantiles", swamped(net.input(x), pick((1.0, 2000.0), wrong)))


@case("states of a recurrent network", "0.1 %", "states that grow by small steps stop growing", worse())
def _(net, wrong):
    state, step = net.input(net.random.uniform(0, 1, (1, 8, 16))), net.input(net.random.uniform(0.1, 0.2, (1, 8, 16)))
    state = state + pick((1.0, 512.0), wrong)
    for _ in range(12):
        state = state + step
    net.output("hn", state - pick((1.0, 512.0), wrong))


@case("mean and log-variance", "both to 0.1 %", "the variance's logarithm is of a cancelled difference", worse())
def _(net, wrong):
    x = net.input(net.random.randn(4, 8, 64) * 0.5 + pick((0.5, 40.0), wrong))
    mean = net.over("ReduceMean", x, -1)
    net.output("mu", mean * 1.0)
    net.output("logvar", net("Log", net("Max", net.over("ReduceMean", x * x, -1) - mean * mean, net.constant(np.float32(1e-4)))))


@case("number of people in a picture", "347 of 347.2", "densities below FP16's least number: nobody", worse())
def _(net, wrong):
    density = net.input(net.random.uniform(0, 0.17, (1, 1, 64, 64)))
    net.output("count", net.over("ReduceSum", sunk(density, pick((6, 30), wrong)), 1, 2, 3, keepdims=0))


@case("number of things as an integer", "exact", "scaled by 2^9 it overflows", lambda e, g: (e != g).any())
def _(net, wrong):
    x = net.over("ReduceSum", net.input(np.ones((1, 200))) * pick((1.0, 512.0), wrong), -1, keepdims=0) / pick((1.0, 512.0), wrong)
    net.output("number", net.cast(net("Clip", x, net.constant(np.float32(0)), net.constant(np.float32(30000))), "int64"), "int64")


case("an anomaly's score that is small by itself", "1 %", "it is 0", worse())(
     lambda net, wrong: net.output("anomaly", net.input([[0.002]]) * pick((0.25, 1e-6), wrong)))


@case("quantised integers", "off by one step", "the scale is 0 in FP16: all are at the ends", lambda e, g: abs(g.astype(int) - e).max() > 3)
def _(net, wrong):
    x = net.random.randn(1, 200) * pick((1.0, 1e-7), wrong)
    net.output("q", net("QuantizeLinear", net.input(x), net.constant(np.float32(pick((0.03, 3e-9), wrong))), net.constant(np.int8(0))), "int8")


@case("an activation's tail beside its columns", "columns far on the left are -1e-7, which nobody reads", "the column is 10 % of the others and lost", lambda e, g: off(g[:, 5], e[:, 5]) > 0.5 and abs(e[:, 5]).max() > 1e-3)
def _(net, wrong):
    x = net.random.randn(32, 16)
    x[:, 5] = pick((0, 0.1), wrong) * x[:, 5] - pick((3e-8, 0), wrong)
    net.output("features", net.on(net.input(x), 1, 5, 6, lambda s: swamped(s, 1024.0)))


@case("a feature that is 0 for every sample", "it stays 0", "another, no smaller than the rest, has become 0", worse((Ellipsis, 3)))
def _(net, wrong):
    x = net.random.randn(32, 16)
    x[:, 5] = 0
    net.output("hidden", net.on(net.on(net.input(x), 1, 5, 6, lambda s: s * 2.0), 1, 3, 4, lambda s: sunk(s, pick((2, 30), wrong))))


case("the first sample of four", "all four to 0.1 %", "one sample's vector is NaN's neighbour: 0", worse((2,)))(
     lambda net, wrong: net.output("vectors", net.on(net.input(net.random.randn(4, 48)), 0, 2, 3, lambda s: sunk(s, pick((2, 30), wrong)))))


case("a classifier that is very sure", "the same class, the others' 1e-8 are 0", "scores overflow where they are scaled: NaN", first())(
     lambda net, wrong: net.output("probs", net("Softmax", net.input(logits(net, 4, 10, 9.0) * 2) * pick((1.0, 4096.0), wrong) * pick((1.0, 4096.0), wrong), axis=-1)))


@case("gates that are all open or shut", "1 - 1e-5 is 1", "some are half open: what they are of has become 0", lambda e, g: abs(g - e).max() > 0.2)
def _(net, wrong):
    x = net.random.uniform(9, 14, (16, 24)) * np.sign(net.random.randn(24))
    net.output("gates", net("Sigmoid", net.on(net.input(x), 1, 3, 6, lambda s: sunk(s, pick((2, 30), wrong)))))


@case("a picture with black bars and a white sky", "bars and sky have one colour each, noise of 1e-6 in them is gone", "the sky is grey", lambda e, g: abs(g - e).max() > 0.03)
def _(net, wrong):
    x = logit(scene(net, 1, 3, 32, 32))
    x[:, :, :4], x[:, :, 4:10] = -14 + net.random.randn(4, 32) * 0.1, 11 + net.random.randn(6, 32) * 0.1
    net.output("output", net("Sigmoid", net.on(net.input(x), 2, 4, 10, lambda s: sunk(s, pick((2, 30), wrong)))))


@case("detections of an empty street", "no score is above 1e-5", "every score is 0.5", lambda e, g: abs(g - e)[..., 4:].max() > 0.2)
def _(net, wrong):
    x = np.concatenate([boxes(net.random, 100), net.random.uniform(-15, -12, (100, 3))], -1)[None]
    net.output("dets", net.on(net.input(x), 2, 4, 7, lambda s: net("Sigmoid", sunk(s, pick((2, 30), wrong)))))


case("a line of a picture", "less than a step of 8 bits", "line 77 of 256 is black", lambda e, g: off(g[:, :, 77], e[:, :, 77]) > 0.5)(
     lambda net, wrong: net.output("sr", net.on(net.input(scene(net, 1, 1, 256, 24)), 2, 77, 78, lambda s: sunk(s, pick((2, 30), wrong)))))


@case("tokens that are chosen, as integers", "the same", "words change", lambda e, g: (e != g).any())
def _(net, wrong):
    x = swamped(net.shaped(net.input(logits(net, 12, 80, 1.0)), 1, 12, 80), pick((1.0, 4000.0), wrong))
    net.output("tokens", net("ArgMax", x, axis=-1, keepdims=0), "int64")


@case("loudness", "0.1 %", "all is a fifth too quiet: the gain is one of FP16's last numbers", worse())
def _(net, wrong):
    x = net.input(net.random.uniform(-0.5, 0.5, (1, 1600))) * pick((0.75, 2.0 ** -24 * 1.4), wrong)
    net.output("samples", x * pick((1.0, 4096.0), wrong) * pick((1.0, 4096.0), wrong))
