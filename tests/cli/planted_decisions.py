#!/usr/bin/env python3
"""Random graphs whose decision was moved by one planted rounding, and twins without it: doctor names the rounding first, and calls the twin fine.

    planted_decisions.py PROGRAM [FIRST COUNT]

Graph n is of kind n % 7: what decides is TopK over experts, TopK over rows, ArgMax, a comparison before Where, Floor, a Cast to an index of a Gather, or NonMaxSuppression. Products
with random nodes between them make the values that decide; a large number is added to them, which FP16 rounds to steps as large as their differences; the twin adds a small one. The
oracle is numpy: in FP64 with this one rounding to FP16 a tenth of the rows decide otherwise, and in the twin every margin is above CLEAR, far more than FP16's errors there; graphs and
rows of which that does not hold are not taken. Sets and lists are counted by numpy, too. Printed is what fails, and a line; exit 1 below 90 % named first or 98 % fine."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import block, node, write_model  # noqa: E402

ROWS, WIDTH, EXPERTS, PICKS = 48, 24, 12, 3
KINDS = ("experts", "rows", "argmax", "comparison", "floor", "index", "boxes")
CLEAR = {"experts": 0.006, "boxes": 0.02}  # else 0.03
FAR = {"boxes": 4096.0, "index": 1024.0, "floor": 1024.0}


class Graph:
    """Nodes with what they give for x, in FP64."""
    def __init__(self, turn, x):
        self.turn, self.nodes, self.constants, self.value = turn, [], {}, {"x": x}

    def constant(self, array, name):
        self.constants[name] = np.asarray(array)
        return name

    def give(self, op, reads, name, value, **attributes):
        self.nodes.append(node(op, reads, name, **attributes))
        self.value[name] = value
        return name

    def product(self, read, width, name):
        w = (self.turn.normal(size=(self.value[read].shape[-1], width)) / np.sqrt(self.value[read].shape[-1])).astype("f")
        self.constant(w, f"w_{name}")
        return self.give("MatMul", f"{read} w_{name}", name, self.value[read] @ w)

    def wander(self, read, name):
        """A few random nodes."""
        for k in range(self.turn.integers(1, 4)):
            op = ("Tanh", "Sigmoid", "Abs", "Neg")[self.turn.integers(4)]
            v = self.value[read]
            read = self.give(op, read, f"{name}_{k}", {"Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v)), "Abs": np.abs, "Neg": np.negative}[op](v))
        return read

    def plant(self, read, far, name="planted"):
        """The rounding: `far` is added."""
        self.constant(np.float32(far), "far")
        return self.give("Add", f"{read} far", name, self.value[read] + far)


def build(kind, seed, bad, x):
    """The graph, and the name of the values that decide."""
    turn = np.random.default_rng([seed, KINDS.index(kind)])
    g = Graph(turn, x)
    rows = len(x)
    body = g.wander(g.product("x", WIDTH, "body"), "walk")
    scores = g.product(body, EXPERTS, "scores")
    far = (FAR.get(kind, 512.0) if bad else 0.25) * float(turn.integers(1, 3))
    if kind == "experts":
        planted = g.plant(g.give("Sigmoid", scores, "gate", 1 / (1 + np.exp(-g.value[scores]))), far / 4 if bad else far)
        g.constant(np.array([PICKS]), "k")
        g.constant(turn.normal(size=(EXPERTS, WIDTH)).astype("f"), "table")
        g.nodes += [node("TopK", f"{planted} k", "best chosen", axis=-1), node("Gather", "table chosen", "rows"), node("ReduceSum", "rows one", "mixed", keepdims=0), node("Add", f"{body} mixed", "y")]
        g.constant(np.array([1]), "one")
    elif kind == "rows":
        planted = g.plant(g.give("ReduceMax", scores, "most", g.value[scores].max(-1), axes=[1], keepdims=0), far)
        g.constant(np.array([rows // 4]), "k")
        g.nodes += [node("TopK", f"{planted} k", "best chosen", axis=0), node("Gather", f"{body} chosen", "y", axis=0)]
    elif kind == "argmax":
        planted = g.plant(scores, far)
        g.constant(turn.normal(size=(EXPERTS, WIDTH)).astype("f"), "table")
        g.nodes += [node("ArgMax", planted, "class", axis=-1, keepdims=0), node("Gather", "table class", "y")]
    elif kind == "comparison":
        planted = g.plant(scores, far)
        g.constant(np.float32(far + 0.0625), "limit")
        g.nodes += [node("Greater", f"{planted} limit", "over"), node("Neg", scores, "other"), node("Where", f"over {scores} other", "y")]
    elif kind == "floor":
        planted = g.plant(scores, far)
        g.nodes += [node("Floor", planted, "whole"), node("Sub", "whole far", "cell"), node("Add", f"cell {scores}", "y")]
    elif kind == "index":
        planted = g.plant(g.give("Abs", scores, "size", np.abs(g.value[scores])), far)
        g.constant(turn.normal(size=4096).astype("f"), "table")
        g.nodes += [node("Mul", f"{planted} two", "place"), node("Cast", "place", "cell", to=7), node("Gather", "table cell", "y")]
        g.constant(np.float32(1.25), "two")
    else:
        corner = g.give("Mul", f"{g.product(body, 2, 'corner')} spread", "spread_out", g.value["corner"] * 60)
        g.constant(np.float32(60), "spread")
        planted = g.plant(corner, far)
        for name, array in {"size": np.float32(20), "front": np.array([0]), "flat": np.array([1, 1, rows]), "all": np.array([rows]), "iou": np.float32(0.5), "column": np.array(2),
                            "ends": np.array([0, 1], "f")}.items():
            g.constant(array, name)
        most = g.give("ReduceMax", scores, "most", g.value[scores].max(-1), axes=[1], keepdims=0)
        g.nodes += [node("Add", f"{planted} size", "end"), node("Concat", f"{planted} end", "box", axis=1), node("Unsqueeze", "box front", "boxes"), node("Reshape", "most flat", "score"),
                    node("NonMaxSuppression", "boxes score all iou", "chosen"), node("Gather", "chosen column", "places", axis=1), node("OneHot", "places all ends", "hot", axis=-1),
                    node("ReduceSum", "hot front", "mask", keepdims=0), node("Mul", f"mask {most}", "y")]
    return g, planted


def suppress(v, scores):
    """Which boxes remain, and the least margin."""
    order, kept, least = np.argsort(-scores, kind="stable"), [], np.inf
    side = np.clip(20 - abs(v[:, None] - v[None]), 0, None).prod(-1)
    overlap = side / (800 - side)
    for i in order:
        if not (overlap[i, kept] > 0.5).any():
            kept.append(i)
    near = (overlap > 0.4) & ~np.eye(len(v), dtype=bool)
    least = min(abs(overlap - 0.5).min(), abs(scores[:, None] - scores[None])[near].min(initial=np.inf))
    return np.isin(np.arange(len(v)), kept)[:, None], least


def decide(kind, g, v):
    """What is decided by the values, row by row, and by which margin."""
    ordered = -np.sort(-v, axis=-1)
    if kind == "experts":
        return np.sort(np.argsort(-v, axis=-1, kind="stable")[:, :PICKS], axis=-1), ordered[:, PICKS - 1] - ordered[:, PICKS]
    if kind == "rows":
        k = len(v) // 4
        return np.isin(np.arange(len(v)), np.argsort(-v, kind="stable")[:k])[:, None], np.full(len(v), abs(np.diff(ordered[: k + 1])).min())
    if kind == "argmax":
        return v.argmax(-1)[:, None], ordered[:, 0] - ordered[:, 1]
    if kind == "comparison":
        limit = float(g.constants["limit"])
        return v > limit, abs(v - limit).min(-1)
    if kind == "boxes":
        return suppress(v, g.value["most"])
    v = v * 1.25 if kind == "index" else v
    return np.floor(v), abs(v - np.rint(v)).min(-1)


def draw(kind, seed):
    """The graph with the rounding, its twin, and the name of the values that decide; None: the rounding moves too little, or the twin's margins are small."""
    turn, rows = np.random.default_rng(seed), ROWS if kind in ("rows", "boxes") else 4000
    x = turn.normal(size=(rows, WIDTH)).astype("f").astype("f8")
    good, planted = build(kind, seed, False, x)
    clear = np.broadcast_to(decide(kind, good, good.value[planted])[1], len(x)) > CLEAR.get(kind, 0.03)
    if clear.sum() < ROWS:
        return None
    x = x[clear][:ROWS]
    bad = build(kind, seed, True, x)[0]
    v = bad.value[planted]
    turned = (decide(kind, bad, v)[0] != decide(kind, bad, v.astype("f2").astype("f8"))[0]).any(-1).mean()
    return (bad, build(kind, seed, False, x)[0], planted) if turned >= 0.1 else None


def write(g, path):
    write_model(path, g.nodes, {"x": [ROWS, WIDTH]}, ["y"], g.constants, opset=13)


def doctor(program, path):
    done = subprocess.run([program, "doctor", path, "-i", "x.npz", "-a", "fp16", "--task", "signal", "--no-plan", "-q", "-t", "1", "--json", "-"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def audit(program, constants, nodes, outputs, shape, x):
    np.savez("x.npz", x=x.astype("f"))
    write_model("m.onnx", nodes, {"x": shape}, outputs, constants, opset=13)
    done = subprocess.run([program, "audit", "m.onnx", "-i", "x.npz", "-a", "fp16", "-q", "-t", "1", "--json", "-"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["lanes"][0]


def best(v, k):
    return np.argsort(-v, axis=-1, kind="stable")[..., :k]


def count_sets(program):
    """Sets of TopK over what FP16 makes of x: others, and those whose margin is below the rms of its error, against numpy."""
    turn = np.random.default_rng(5)
    x = turn.uniform(512, 516, (64, EXPERTS)).astype("f").astype("f8")
    rounded, rows = x.astype("f2").astype("f8"), np.arange(64)
    others = (np.sort(best(x, PICKS)) != np.sort(best(rounded, PICKS))).any(-1).sum()
    order = best(x, EXPERTS)
    last, next_ = order[:, PICKS - 1], order[:, PICKS]  # without equals, as here
    margin = x[rows, last] - x[rows, next_]
    error = rounded[rows, last] - rounded[rows, next_] - margin
    near = (margin < np.sqrt(np.mean(error**2))).sum()
    lane = audit(program, {"k": np.array([PICKS])}, [node("TopK", "x k", "v i"), node("ReduceSum", "v", "y", keepdims=0)], ["y"], [64, EXPERTS], x)
    choices = next(n for n in lane["nodes"] if n["op"] == "TopK")["choices"]
    return [] if choices == {"count": 64, "differing": others, "near": near} and 0 < others < 64 else [f"sets: {choices}, not {others} and {near} of 64"]


def force_experts(program):
    """A QMoE whose router is rounded by a planted addition: its sets, and the error when rows go to the reference's experts, against numpy, where that is the only rounding."""
    turn = np.random.default_rng(8)
    rows, hidden, count, inner = 32, 16, 8, 16
    x = turn.normal(size=(rows, hidden)).astype("f2").astype("f8")
    router = turn.normal(size=(hidden, count)) / 4
    c = {"r": router.astype("f"), "far": np.float32(512), "f1": turn.integers(0, 256, (count, inner, hidden // 2)).astype("u1"), "s1": turn.uniform(0.02, 0.06, (count, inner)).astype("f"),
         "f2": turn.integers(0, 256, (count, hidden, inner // 2)).astype("u1"), "s2": turn.uniform(0.02, 0.06, (count, hidden)).astype("f")}

    def unpack(codes, scales):  # the lower half of a byte first; zero point 8
        return (np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:2], -1) - 8.0) * scales[..., None].astype("f8")

    def mix(values, chosen):
        weights = np.exp(np.take_along_axis(values, chosen, -1))
        weights /= weights.sum(-1, keepdims=True)
        y = np.zeros_like(x)
        for e in range(count):
            h = x @ unpack(c["f1"], c["s1"])[e].T
            y += (weights * (chosen == e)).sum(-1)[:, None] * ((h / (1 + np.exp(-h))) @ unpack(c["f2"], c["s2"])[e].T)
        return y

    values = x @ c["r"].astype("f8") + 512
    rounded = (x @ c["r"].astype("f8")).astype("f2").astype("f8") + 512
    rounded = rounded.astype("f2").astype("f8")
    truth, others = (count - 1 - best(v[:, ::-1], 2) for v in (values, rounded))  # of equals the later one
    r = mix(values, truth)
    forced, free = (10 * np.log10((r**2).sum() / ((mix(rounded, chosen) - r) ** 2).sum()) for chosen in (truth, others))
    nodes = [node("MatMul", "x r", "a"), node("Add", "a far", "b"), node("QMoE", "x b f1 s1 - f2 s2", "y", k=2, activation_type="silu", expert_weight_bits=4) + block(7, "com.microsoft")]
    np.savez("x.npz", x=x.astype("f"))
    write_model("m.onnx", nodes, {"x": [rows, hidden]}, ["y"], c, opset=21, domains={"com.microsoft": 1})
    done = subprocess.run([program, "audit", "m.onnx", "-i", "x.npz", "-a", "fp16", "-q", "-t", "1", "--json", "-"], capture_output=True, text=True, check=False)
    lane = json.loads(done.stdout)["lanes"][0]
    found, differing = lane["nodes"][2], (np.sort(truth) != np.sort(others)).any(-1).sum()
    followed = found["outputs"][0]["divergence"]["followed"]["metrics"]["sqnr_db"]
    # FP16's other roundings are 30 dB and more below the planted one, which is 2^-2 of router values of 1: they change it by 20 log10(1 + 10^-1.5) = 0.27 dB at most
    right = found["choices"]["differing"] == differing and abs(followed - forced) < 0.3 and forced > free + 3 and lane["nodes"][1]["share"] > 0.9
    return [] if right else [f"QMoE: {found['choices']}, {followed:.2f} dB, share {lane['nodes'][1]['share']}; not {differing}, {forced:.2f} dB (free {free:.2f})"]


def compare_lists(program):
    """Labels in another order beside boxes are one list: objects that one side alone has are counted, against numpy."""
    turn = np.random.default_rng(6)
    x = turn.uniform(512, 640, (1, 300)).astype("f").astype("f8")
    labels = turn.integers(0, 80, 300)
    truth, value = best(x, 100)[0], best(x.astype("f2").astype("f8"), 100)[0]
    alone, turned = len(set(value) - set(truth)), sum(t != v and t in value for t, v in zip(truth, value))
    nodes = [node("TopK", "x k", "v i"), node("Squeeze", "i front", "j"), node("Gather", "boxes j", "picked", axis=1), node("Gather", "labels j", "classes", axis=1)]
    constants = {"k": np.array([100]), "front": np.array([0]), "boxes": turn.normal(size=(1, 300, 4)).astype("f"), "labels": labels[None]}
    lane = audit(program, constants, nodes, ["picked", "classes", "v"], [1, 300], x)
    said = next(o for o in lane["outputs"] if o["name"] == "classes")["judged"]
    found = sum(said.get(what) or 0 for what in ("lost", "moved", "renamed", "ended"))
    return [] if said["task"] == "objects" and found == alone and said["turned"] >= turned > 30 else [f"labels: {said}, not {alone} of them, {turned} elsewhere"]


def decide_again(program):
    """A TopK of rows that another has put in another order: what moved the second one's margins is named, by rows of one index."""
    turn = np.random.default_rng(8)
    x = turn.permutation(np.arange(300) / 16 + 512)[None]  # of which FP16 makes steps of 0.5
    x[0, np.argsort(-x[0])[100:]] -= 64
    constants = {"k": np.array([100]), "front": np.array([0]), "again": np.array([20]), "table": (turn.integers(-512, 512, 300) / 512).astype("f"), "far": np.float32([1024]),
                 "boxes": turn.integers(0, 512, (300, 4)).astype("f")}
    nodes = [node("TopK", "x k", "v i"), node("Squeeze", "i front", "j"), node("Gather", "table j", "rows"), node("Add", "rows far", "planted"), node("TopK", "planted again", "v2 i2"),
             node("Gather", "j i2", "ids"), node("Gather", "boxes ids", "picked"), node("Identity", "ids", "indices")]
    lane = audit(program, constants, nodes, ["picked", "indices"], [1, 300], x)
    share = lane["nodes"][3].get("share")
    return [] if share and share > 0.9 else [f"two in series: {share} of what the second one's rounding causes"]


def decide_on_fewer(program):
    """The second one's row is shorter in the lane: some of the reference's indices it does not have, and rows stay in the lane's own order."""
    turn = np.random.default_rng(1)
    x = 1 + turn.normal(size=(1, 4000)) * 2e-3
    limit = np.float32(1.0000001)
    rows = [int((above > limit).sum()) for above in (x.astype("f"), x.astype("f2"))]
    constants = {"k": np.array([3000]), "limit": limit, "front": np.array([0]), "again": np.array([200])}
    nodes = [node("TopK", "x k", "v i"), node("Greater", "v limit", "above"), node("Squeeze", "above front", "those"), node("Compress", "v those", "some"), node("TopK", "some again", "v2 i2", largest=0)]
    lane = audit(program, constants, nodes, ["v2", "i2"], [1, 4000], x)
    said = next(o for o in lane["outputs"] if o["name"] == "i2")["judged"]
    return [] if rows[0] > rows[1] > 200 and said["differing"] > 190 else [f"indices of {rows} rows: {said}"]


def main():
    program = os.path.abspath(sys.argv[1])
    first, count = (int(word) for word in sys.argv[2:4]) if len(sys.argv) > 3 else (0, 28)
    named = fine = 0
    os.chdir(tempfile.mkdtemp())
    for n in range(first, first + count):
        kind = KINDS[n % len(KINDS)]
        bad, good, planted = next(drawn for seed in range(n, n + 4000000, 1000) if (drawn := draw(kind, seed)))
        np.savez("x.npz", x=bad.value["x"].astype("f"))
        write(bad, "bad.onnx")
        write(good, "good.onnx")
        said, twin = doctor(program, "bad.onnx"), doctor(program, "good.onnx")
        cause = (said["causes"] or [{}])[0]
        right = cause.get("node") in (planted, "end") and cause["reason"] == "decision"  # the other corners are as far
        named += right
        fine += twin["grade"] == "fine"
        if not right:
            print(f"{n} {kind}: {said['grade']}, {cause.get('reason')}: {cause.get('text')}")
        if twin["grade"] != "fine":
            print(f"{n} {kind}, twin: {twin['verdict'] if 'verdict' in twin else twin['grade']}")
    wrong = count_sets(program) + force_experts(program) + compare_lists(program) + decide_again(program) + decide_on_fewer(program)
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    print(f"{named} of {count} roundings that moved a decision named first, {fine} twins fine")
    sys.exit(bool(wrong) or named < 0.9 * count or fine < 0.98 * count)


if __name__ == "__main__":
    main()
