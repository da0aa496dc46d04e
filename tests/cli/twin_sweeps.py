"""A group of a larger output, from as large as the rest down to 1e-12 of it, lost or right.

A group is lost by a sum that swamps it, whatever its size; below FP16's least number it is lost by itself. What a user minds: a lost group of a thousandth of the output and more;
nothing of 1e-10 and less; in between nothing is expected but that what is fine at one size is no worse at a smaller one. A right group is fine at every size."""
import numpy as np
from twin_cases import boxes
from twin_net import swamped

RATIOS = [10.0 ** -k for k in range(13)]


def group(net, x, axis, start, stop, ratio, wrong):
    """x has its group at the size of the whole already; what is lost is a sum 4096 times as large."""
    size = float(np.sqrt(np.mean(x ** 2)) * ratio)
    at = (slice(None),) * (axis % x.ndim) + (slice(start, stop),)
    x = x.copy()
    x[at] *= size / np.sqrt(np.mean(x[at] ** 2))
    y = net.input(x)
    return net.on(y, axis, start, stop, lambda s: swamped(s, 4096 * size if wrong else 0.0)), at


def column(net, ratio, wrong):
    """Its first choices stay: a class that is never likely; in between it depends on who sums them."""
    x = net.random.randn(20, 8)
    x[:, 3] = x.max(-1) + net.random.uniform(-1, 1, 20) if ratio == 1 else x.max(-1) - 1 + np.log(ratio)
    y = net("Softmax", net.input(x), axis=-1)
    net.output("probabilities", net.on(y, 1, 3, 4, lambda s: swamped(s, 4096 * ratio if wrong else 0.0)))
    return (slice(None), slice(3, 4))


def sweep(name, minded, output, draw, *place):
    """The group is at (axis, start, stop) of what is drawn."""
    def build(net, ratio, wrong):
        y, at = group(net, draw(net.random), *place, ratio, wrong)
        net.output(output, y)
        return at
    return name, minded, 1e-10, build


# Name, the smallest ratio at which every user minds a loss, the largest at which none does (1e-10), the network.
SWEEPS = [
    sweep("score among boxes in pixels", 1e-3, "detections",
          lambda random: np.concatenate([boxes(random, 100), random.uniform(0.05, 0.95, (100, 1)), random.randint(0, 80, (100, 1))], -1)[None], 2, 4, 5),
    sweep("channel of a map", 1e-3, "maps", lambda random: random.randn(1, 8, 16, 16), 1, 3, 4),
    sweep("quantity in rows of five", 1e-3, "regression", lambda random: random.uniform(500, 1500, (40, 5)) * np.sign(random.randn(40, 5)), 1, 2, 3),
    sweep("one number in a row", 1e-3, "params", lambda random: random.uniform(500, 1500, (1, 6)), 1, 4, 5),
    sweep("sample of a batch", 1e-3, "vectors", lambda random: random.randn(4, 64) * 100, 0, 2, 3),
    sweep("all dimensions of a vector but one", 1e-3, "pooled", lambda random: random.randn(12, 40) * 100 + 100 * (np.arange(40) == 0), 1, 1, 40),
    sweep("coefficients of a row of a matrix", 1e-3, "matrix", lambda random: random.uniform(200, 2000, (1, 4, 4)), 1, 0, 3),
    sweep("hidden state of the last step", 1e-3, "last_hidden_state", lambda random: np.tanh(random.randn(1, 10, 32)), 1, 9, 10),
    sweep("quiet end of a sound", 1e-2, "wav", lambda random: np.sin(np.arange(2000) / 3).reshape(1, 1, -1) * 0.3, 2, 1500, 2000),
    ("column of probabilities behind Softmax", 1, 1e-7, column),
]
