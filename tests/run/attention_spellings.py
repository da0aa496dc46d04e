"""Attention as exporters write it out: products, scales, masks, softmaxes and layouts, drawn in pairs. Each must become one kernel (formats of caches are taken), which is the
graph's own function: in FP64 what the nodes give one by one. attention_spellings.py PROGRAM [all]: all combinations that share a layout."""
import itertools, os, subprocess, sys
import numpy as np
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import INT64, FLOAT, node, write_model  # noqa: E402

PROGRAM, BOOL = sys.argv[1], 9
random = np.random.default_rng(5)
B, H, G, S, D = 2, 4, 2, 6, 8
SEEN = np.tril(np.ones((S, S), bool))
PADDED = np.ones((B, S), np.int64)
PADDED[1, 4:] = 0
f4, i8 = (lambda x: np.asarray(x, np.float32)), (lambda x: np.asarray(x, np.int64))
LOW = f4(np.finfo(np.float32).min)


class Graph:
    def __init__(self):
        self.nodes, self.held, self.given = [], {}, {}

    def __getattr__(self, operator):
        def add(*inputs, **attributes):
            names = [x if isinstance(x, str) else self.hold(x) for x in inputs]
            result = f"t{len(self.nodes)}"
            self.nodes.append(node(operator, " ".join(name or "-" for name in names), result, **attributes))
            return result
        return add

    def hold(self, x):
        self.held[f"c{len(self.held)}"] = np.asarray(x)
        return f"c{len(self.held) - 1}"

    def give(self, name, x):
        self.given[name] = x
        return name


def square(g):  # as an input
    return g.Cast(g.give("square", SEEN[None, None].astype(np.int64)), to=BOOL)


def computed(g):  # of a range
    r = g.Range(i8(0), i8(S), i8(1))
    return g.LessOrEqual(g.Unsqueeze(r, i8([0])), g.Unsqueeze(r, i8([1])))


def padding(g):
    return g.Unsqueeze(g.Cast(g.give("padding", PADDED), to=BOOL), i8([1, 2]))


def less(g):  # 1 where it is padded
    return g.Sub(f4(1), g.Cast(padding(g), to=FLOAT))


def relative(g):
    table = g.Gather(f4(random.standard_normal((2 * S - 1, H))), i8(np.arange(S)[:, None] - np.arange(S) + S - 1))
    return g.Unsqueeze(g.Transpose(table, perm=[2, 0, 1]), i8([0]))


shut = lambda low: f4(np.where(SEEN, 0, low))
MASKS = {
    "none": lambda g, s: s,
    "added": lambda g, s: g.Add(s, shut(-np.inf)),
    "added first": lambda g, s: g.Add(shut(-1e4)[None, None], s),
    "padding": lambda g, s: g.Add(s, g.Mul(less(g), f4(-1e4))),
    "subtracted": lambda g, s: g.Sub(s, g.Mul(less(g), f4(1e4))),
    "two added": lambda g, s: g.Add(g.Add(s, shut(-1e9)), g.Mul(less(g), f4(-1e4))),
    "slopes": lambda g, s: g.Add(g.Add(s, f4(np.arange(S) * -0.5 ** np.arange(1, H + 1)[:, None])[:, None]), shut(LOW)),
    "Trilu": lambda g, s: g.Add(s, g.Trilu(g.Expand(f4(-np.inf), i8([S, S])), i8(1), upper=1)),
    "relative": lambda g, s: g.Add(s, relative(g)),
    "by query": lambda g, s: g.Add(s, f4(random.standard_normal((S, 1)))),
    "Where": lambda g, s: g.Where(SEEN[None, None], s, LOW),
    "Where first": lambda g, s: g.Where(~SEEN[None, None], f4(-1e9), s),
    "of a range": lambda g, s: g.Where(computed(g), s, f4(-np.inf)),
    "of an input": lambda g, s: g.Where(square(g), s, f4(-1e4)),
    "Not": lambda g, s: g.Where(g.Not(square(g)), LOW, s),
    "Equal": lambda g, s: g.Where(g.Equal(f4(SEEN[None, None]), f4(0)), f4(-np.inf), s),
    "And": lambda g, s: g.Where(g.And(computed(g), padding(g)), s, LOW),
    "expanded": lambda g, s: g.Where(square(g), s, g.Expand(LOW, g.Shape(s))),
    "filled": lambda g, s: g.Where(square(g), s, g.ConstantOfShape(g.Shape(s), value=f4([-1e9]))),
    "weak": lambda g, s: g.Where(~SEEN[None, None], f4(-10), s),
    "two Wheres": lambda g, s: g.Where(padding(g), g.Where(SEEN, s, LOW), LOW),
    "Where, added": lambda g, s: g.Add(g.Where(SEEN[None, None], s, LOW), g.Mul(less(g), f4(-1e4))),
    "added, Where": lambda g, s: g.Where(square(g), g.Add(s, g.Mul(less(g), f4(-1e4))), f4(-np.inf)),
    "of a Where": lambda g, s: g.Add(s, g.Where(g.And(computed(g), padding(g)), f4(0), LOW)),
    "times": lambda g, s: g.Sub(g.Mul(s, f4(SEEN)[None, None]), g.Mul(f4(1e4), g.Sub(f4(1), f4(SEEN)[None, None]))),
    "Max": lambda g, s: g.Max(g.Add(s, shut(LOW)), LOW),
    "cap": lambda g, s: g.Add(g.Mul(g.Tanh(g.Div(s, f4(5))), f4(5)), shut(LOW)),
    "Clip": lambda g, s: g.Add(g.Clip(s, f4(-4), f4(4)), shut(-np.inf)),
}
same = lambda g, x: x
SCALES = {  # of queries, keys, scores
    "after": (same, same, lambda g, s: g.Mul(s, f4(D ** -0.5))),
    "root": (same, same, lambda g, s: g.Div(s, g.Sqrt(f4(D)))),
    "negative": (same, same, lambda g, s: g.Mul(s, f4(-0.25))),
    "before": (lambda g, q: g.Mul(q, f4(D ** -0.5)), same, same),
    "both": (lambda g, q: g.Mul(q, f4(D ** -0.25)), lambda g, k: g.Mul(k, f4(D ** -0.25)), same),
    "twice": (lambda g, q: g.Div(q, f4(2)), same, lambda g, s: g.Mul(s, f4(2 * D ** -0.5))),
}


def written(g, s):
    e = g.Exp(g.Sub(s, g.ReduceMax(s, i8([-1]), keepdims=1)))
    return g.Div(e, g.ReduceSum(e, i8([-1]), keepdims=1))


def numbers(g, s):
    p = g.Softmax(s, axis=-1)
    return g.Where(g.IsNaN(p), f4(0), p)


def sinks(g, s):
    c = g.Concat(s, f4(np.tile(random.standard_normal((1, H, 1, 1)), (B, 1, S, 1))), axis=-1)
    return g.Slice(g.Softmax(g.Sub(c, g.ReduceMax(c, i8([-1]), keepdims=1)), axis=-1), i8([0]), i8([-1]), i8([-1]))


ENDS = {
    "Softmax": lambda g, s: g.Softmax(s, axis=-1),
    "Cast": lambda g, s: g.Cast(g.Softmax(g.Cast(s, to=FLOAT), axis=-1), to=FLOAT),
    "Dropout": lambda g, s: g.Dropout(g.Softmax(s, axis=-1)),
    "written": written, "numbers": numbers, "sinks": sinks,
}


def layout(heads, turn, pack, unpack, equations=(None, None)):
    """heads of keys and values; how q, k and v become factors; what a mask and the result see"""
    def make(g, scale, mask, end):
        queries, keys, scores = scale
        q, k, v = (g.give(n, f4(random.standard_normal((B, S, h * D)))) for n, h in (("q", H), ("k", heads), ("v", heads)))
        multiply = lambda a, b, equation: g.Einsum(a, b, equation=equation) if equation else g.MatMul(a, b)
        s = scores(g, multiply(queries(g, turn(g, q, "q")), keys(g, turn(g, k, "k")), equations[0]))
        return unpack(g, multiply(end(g, pack(g, mask(g, pack(g, s, True)), False)), turn(g, v, "v"), equations[1]))
    return make


def split(g, x, heads, of):
    return g.Transpose(g.Reshape(x, i8([B, S, heads, D])), perm=[0, 2, 3, 1] if of == "k" else [0, 2, 1, 3])


def rows(shape):  # scores as the product has them, and as masks and Softmax do
    return lambda g, s, wide: g.Reshape(s, i8([B, H, S, S] if wide else shape))


def flat(g, x, of):
    x = g.Reshape(split(g, x, H, "q"), i8([B * H, S, D]))
    return g.Transpose(x, perm=[0, 2, 1]) if of == "k" else x


def repeated(g, x, of):
    if of == "q":
        return split(g, x, H, of)
    x = g.Reshape(g.Expand(g.Unsqueeze(split(g, x, G, "q"), i8([2])), i8([B, G, H // G, S, D])), i8([B, H, S, D]))
    return g.Transpose(x, perm=[0, 1, 3, 2]) if of == "k" else x


def grouped(g, x, of):
    return g.Reshape(split(g, x, H, of), i8([B, G, H // G, S, D])) if of == "q" else g.Unsqueeze(split(g, x, G, of), i8([2]))


def join(g, y):
    return g.Reshape(g.Transpose(g.Reshape(y, i8([B, H, S, D])), perm=[0, 2, 1, 3]), i8([B, S, H * D]))


as_is = lambda g, s, wide: s
LAYOUTS = {
    "heads": layout(H, lambda g, x, of: split(g, x, H, of), as_is, join),
    "flat": layout(H, flat, rows([B * H, S, S]), join),
    "repeated": layout(G, repeated, as_is, join),
    "one head": layout(1, lambda g, x, of: split(g, x, H if of == "q" else 1, of), as_is, join),
    "grouped": layout(G, grouped, rows([B, G, H // G, S, S]), join),
    "letters": layout(H, lambda g, x, of: split(g, x, H, "q"), as_is, join, ("bhid,bhjd->bhij", "b h i j, b h j d -> b h i d")),
    "packed": layout(H, lambda g, x, of: g.Reshape(x, i8([0, 0, H, D])), as_is, lambda g, y: g.Reshape(y, i8([B, S, H * D])), ("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd")),
}


def run(arithmetic):
    done = subprocess.run([PROGRAM, "run", "s.onnx", "-i", "s.npz", "-a", arithmetic, "-q", "-o", "o.npz"], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else np.load("o.npz")["y"]


def is_right(names):
    g = Graph()
    y = LAYOUTS[names[0]](g, SCALES[names[1]], MASKS[names[2]], ENDS[names[3]])
    write_model("s.onnx", g.nodes + [node("Identity", y, "y")], {name: x.shape for name, x in g.given.items()}, {"y": (B, S, H * D)}, g.held,
                opset=18, ir_version=9, types={name: INT64 for name, x in g.given.items() if x.dtype == np.int64})
    np.savez("s.npz", **g.given)
    nodes, kernel, cached = run("fp64"), run("fp64,written-attention=kernel"), run("fp64,kv=int8-row")
    if any(isinstance(x, str) for x in (nodes, kernel, cached)):
        return print(*names, sep=", ", end=f": {[x for x in (nodes, kernel, cached) if isinstance(x, str)][0]}\n")
    # both FP64, scores below 100: 100 * 2^-53 of each weight and as much of its exp; a scale that nodes compute is the float nearest to it
    apart, bound = np.abs(kernel - nodes).max() / np.abs(nodes).max(), 2e-7 if names[1] == "root" else 1e-12
    # keys of 8 bits move scores by about 2^-8 of them
    return (apart <= bound and 1e-5 < np.abs(cached - nodes).max() / np.abs(nodes).max() < 0.2) or print(*names, sep=", ", end=f": {apart:.2g} apart\n")


names = list(LAYOUTS)
draws = list(itertools.product(LAYOUTS, SCALES, MASKS, ENDS)) if sys.argv[2:] else [(names[n % 7 if turn else 0], "after", mask, "Softmax") for turn in (0, 1) for n, mask in enumerate(MASKS)] + [
    (name, scale, "padding", end) for n, name in enumerate(names) for end, scale in [(list(ENDS)[n % 6], list(SCALES)[n % 6]), (list(ENDS)[(n + 3) % 6], list(SCALES)[(n + 1) % 6])]]
draws = sorted({d for d in draws if not (d[3] == "sinks" and d[0] in ("flat", "grouped"))})  # whose sinks are of heads
right = sum(bool(is_right(d)) for d in draws)
print(f"{right} of {len(draws)} spellings right")
sys.exit(right < len(draws))
