#!/usr/bin/env bash
# Static scales: ranges from samples by each calibrator, and runs with them, against numpy and a table of all E4M3 numbers.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: no models"; exit 77; }

cat >make.py <<'END'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model
random = np.random.RandomState(7)
def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
def draw(*shape):
    return bf16(random.standard_normal(shape))
# one product an output: its sum is exact in any order
write_model("one.onnx", [node("MatMul", "x w", "y", "product")], {"x": (4, 32)}, {"y": (4, 32)}, {"w": np.eye(32, dtype=np.float32)})
samples = [draw(4, 32), 2 * draw(4, 32)]
beyond = draw(4, 32)
beyond[0, :8] = [100, -1e30, 3e38, 1e-30, -0.0, np.nan, np.inf, -np.inf]
for name, x in (("s0", samples[0]), ("s1", samples[1]), ("beyond", beyond), ("zero", 0 * samples[0])):
    np.savez(f"{name}.npz", x=x)
np.savez("finite.npz", x=np.where(np.isfinite(beyond), beyond, 1))
constants = {"wide": draw(32, 32, 3, 3) / 16, "single": draw(32, 1, 3, 3), "w": draw(64, 48)}
nodes = [node("Conv", "image wide", "wide_out", "conv"), node("Conv", "image single", "single_out", "depthwise", group=32), node("MatMul", "rows w", "rows_out", "weight"),
         node("MatMul", "rows columns", "values_out", "values"), node("MatMul", "values_out rows", "more_out", "more")]
inputs = {"image": (1, 32, 9, 9), "rows": (6, 64), "columns": (64, 6)}
outputs = {"wide_out": (1, 32, 7, 7), "single_out": (1, 32, 7, 7), "rows_out": (6, 48), "values_out": (6, 6), "more_out": (6, 64)}
write_model("m.onnx", nodes, inputs, outputs, constants)
np.savez("in.npz", **{name: draw(*shape) for name, shape in inputs.items()})
END
cat >oracle.py <<'END'
import json, sys
import numpy as np
codes = np.arange(0x7f)
table = np.where(codes >> 3, (8 + (codes & 7)) * 2.0 ** ((codes >> 3) - 10), (codes & 7) * 2.0 ** -9)  # of all E4M3 magnitudes, exact
middles = (table[1:] + table[:-1]) / 2
def element(x):  # nearest, ties to the even code; 448 is the largest
    size = np.abs(x.astype(np.float64))
    low = np.searchsorted(middles, size, "left")
    low += (low < len(middles)) & (size == middles[np.minimum(low, len(middles) - 1)]) & (low & 1)
    return np.where(np.isfinite(x), np.copysign(table[low], x), np.nan).astype(np.float32)
def scale(largest):
    return np.float32(np.float64(largest) / 448) if largest else np.float32(1)
def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return np.where(np.isnan(x), np.float32(np.nan), ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32))
def least(x):
    best = np.inf, 0
    size = np.abs(x).ravel()
    for i in range(128, 0, -1):
        r = np.float32(np.float64(size.max()) * i / 128)
        s = scale(r)
        error = ((element(size / s).astype(np.float64) * np.float64(s) - size) ** 2).sum()
        best = min(best, (error, -r))
    return -best[1]
def ranges(path):
    return {(r["node"], r["factor"]): r["largest"] for r in json.load(open(path))["ranges"]}
def same(a, b):
    return a.shape == b.shape and np.all((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b))
samples = np.concatenate([np.load(f"s{i}.npz")["x"] for i in (0, 1)])
def calibrated(calibrator):
    size = np.sort(np.abs(samples).ravel())
    wanted = {"max": size[-1], "p": size[int(np.ceil(size.size * 0.9)) - 1], "mse": least(samples), "zero": 0}[calibrator]
    assert ranges(f"{calibrator}.json") == {("product", "input 0"): wanted}, (calibrator, ranges(f"{calibrator}.json"), wanted)
def ran(calibrator, sample, out, fake):
    x, s, one = np.load(f"{sample}.npz")["x"], scale(ranges(f"{calibrator}.json")["product", "input 0"]), scale(1)
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        e = element(x / s)
    row_nan = np.isnan(e).any(axis=1)
    if fake:
        y = bf16(e * s) * bf16(element(np.float32(1) / one) * one)
    else:
        y = bf16((e * np.float32(448)) * (s * one))
    y[row_nan] = np.nan  # NaN times the zeros of the identity
    y = np.where(y == 0, np.float32(0), y)  # and zeros of a sum are positive
    got = np.load(out)["y"].astype(np.float32)
    got = np.where(got == 0, np.float32(0), got)
    assert same(got, y), (calibrator, sample, got[got != y][:8], y[got != y][:8])
def clipped(calibrator, sample, path):
    x, largest = np.load(f"{sample}.npz")["x"], ranges(f"{calibrator}.json")["product", "input 0"]
    told = json.load(open(path))
    told = {t["name"]: t["clipped"] for t in (told["tensors"] if "tensors" in told else told["lanes"][0]["scaled"])}["x"]
    beyond = int((np.abs(x) > largest * 464 / 448).sum())  # half a step of 32 beyond 448
    assert told == beyond > 0, (told, beyond)
globals()[sys.argv[1]](*sys.argv[2:])
END
sed -i 's/globals()\[sys.argv\[1\]\](\*sys.argv\[2:\])/function, *words = sys.argv[1:]\nglobals()[function](*(word == "fake" if word in ("fake", "unit") else word for word in words))/' oracle.py
python3 make.py "$source/examples" || fail "no model"
oracle() { python3 oracle.py "$@" >wrong 2>&1 || fail "$*: $(tail -3 wrong)"; }
calibrate() { "$program" quantise one.onnx -i "${@:4}" -a "$2" --calibrate "$1.json" --calibrator "$3" -q >out 2>err || fail "$1: $(cat err)"; }

fp8=bf16,factor=fp8-tensor
calibrate max $fp8 max s0.npz -i s1.npz
shows out "2 samples. Take them with -a $fp8,scales=max.json" "the word for the ranges"
calibrate p $fp8 percentile=90 s0.npz -i s1.npz
calibrate mse $fp8 mse s0.npz -i s1.npz
calibrate zero $fp8 max zero.npz
for calibrator in max p mse zero; do
    oracle calibrated $calibrator
    for sample in s1 beyond; do
        for unit in fake unit; do
            arithmetic=$fp8,scales=$calibrator.json
            [ $unit = fake ] && arithmetic=$arithmetic,unit=none
            "$program" run one.onnx -i $sample.npz -a $arithmetic -o y.npz -t 1 -q >out 2>err || fail "$arithmetic: $(cat err)"
            "$program" run one.onnx -i $sample.npz -a $arithmetic -o y4.npz -t 4 -q >out 2>err || fail "$arithmetic: $(cat err)"
            cmp -s y.npz y4.npz || fail "$arithmetic: other bits with other threads"
            oracle ran $calibrator $sample y.npz $unit
        done
    done
done
"$program" quantise one.onnx -i finite.npz -a $fp8,scales=p.json --json told.json --no-choices -q >out 2>err || fail "scales with ranges: $(cat err)"
oracle clipped p finite told.json
"$program" audit one.onnx -i finite.npz -a $fp8,scales=p.json --json audited.json -q >out 2>err || fail "audit with ranges: $(cat err)"
oracle clipped p finite audited.json
[[ $(tr -s ' \n' ' ' <out) == *"'x' of product: "*" values are clipped, which makes "*"; calibrate with samples that reach as far"* ]] || fail "audit does not say what is clipped"

# of the same sample the largest magnitudes are those of dynamic scales: every bit is equal
for arithmetic in $fp8 fp16,factor=fp8-e5m2-tensor $fp8,unit=none bf16,factor=nvfp4 bf16,factor=nvfp4,scale=four-six fp16,factor=fp8-tensor,scaled=modelopt; do
    "$program" quantise m.onnx -i in.npz -a $arithmetic --calibrate own.json -q >out 2>err || fail "$arithmetic: $(cat err)"
    "$program" run m.onnx -i in.npz -a $arithmetic -o dynamic.npz -q >out 2>err || fail "$arithmetic: $(cat err)"
    "$program" run m.onnx -i in.npz -a $arithmetic,scales=own.json -o static.npz -q >out 2>err || fail "$arithmetic, static: $(cat err)"
    python <<'END' || fail "$arithmetic: static scales of the same sample give other bits"
a, b = np.load("dynamic.npz"), np.load("static.npz")
# a product of products is calibrated with the exact ones
assert all(a[n].tobytes() == b[n].tobytes() for n in a.files if n != "more_out"), [n for n in a.files if a[n].tobytes() != b[n].tobytes()]
END
done
"$program" quantise m.onnx -i in.npz -a $fp8 --calibrate own.json -q >out 2>err || fail "calibrate: $(cat err)"
"$program" audit m.onnx -i in.npz -a $fp8,scales=own.json,$fp8 -q >out 2>err || fail "audit: $(cat err)"
shows out "scales=own.json" "the name of the lane"

# a plan of static scales has their ranges with it
"$program" quantise m.onnx -i in.npz -a $fp8 --calibrate own.json -q >out 2>err || fail "calibrate: $(cat err)"
"$program" plan m.onnx -i in.npz -a $fp8,scales=own.json --tolerance sqnr_db=32 --confidence 0.5 -o planned -q >planned.out 2>err || fail "plan: $(cat err)"
python <<'END' || fail "plan.json has other ranges than the file"
plan, own = json.load(open("planned/plan.json")), json.load(open("own.json"))
key = lambda r: (r["node"], r["factor"], r["largest"])
assert plan["arithmetic"] == "bf16,factor=fp8-tensor,scales=static" and plan["keep"], plan["arithmetic"]
assert sorted(map(key, plan["ranges"])) == sorted(map(key, own["ranges"]))
END
"$program" audit m.onnx -i in.npz --plan planned/plan.json --fail-above sqnr_db=32 -q >out 2>err || fail "the plan's audit: $(cat out err)"
expect 2 "ranges of two files" "$program" plan m.onnx -i in.npz -a $fp8,scales=own.json,scales=max.json --tolerance sqnr_db=32
python <<'END'
plan = json.load(open("planned/plan.json"))
del plan["ranges"]
json.dump(plan, open("bare.json", "w"))
END
expect 3 "a plan without its ranges" "$program" audit m.onnx -i in.npz --plan bare.json

says 2 "a file where none is taken" "scales=max.json: no file is taken here, but by -a of audit" doctor one.onnx -i s0.npz -a $fp8,scales=max.json
expect 0 "what runs against it" "$program" audit one.onnx -i s0.npz -a $fp8,scales=max.json -q
[[ $(tr -s ' \n' ' ' <out) == *" ulpscope quantise one.onnx -i s0.npz -a $fp8,scales=max.json # "* ]] || fail "what runs against it: $(cat out)"
says 2 "no file" "scales=ranges.json" audit one.onnx -i s0.npz -a $fp8,scales=static -q
expect 3 "no such file" "$program" run one.onnx -i s0.npz -a $fp8,scales=nowhere.json -o y.npz
says 3 "another model's ranges" "max.json has no range of node 'conv', input 0" run m.onnx -i in.npz -a $fp8,scales=max.json -o y.npz
expect 2 "no scale of a tensor" "$program" run one.onnx -i s0.npz -a bf16,factor=mxfp8,scales=max.json -o y.npz
expect 2 "no scale to calibrate" "$program" quantise one.onnx -i s0.npz -a bf16,factor=fp8-row --calibrate y.json
expect 2 "the error of NVFP4's range" "$program" quantise one.onnx -i s0.npz -a bf16,factor=nvfp4 --calibrate y.json --calibrator mse
for calibrator in min percentile= percentile=x percentile=0 percentile=101 percentile=nan delayed; do
    expect 2 "$calibrator" "$program" quantise one.onnx -i s0.npz -a $fp8 --calibrate y.json --calibrator $calibrator
done
echo '{"ranges": [{"node": "product", "factor": "input 0", "largest": -1}]}' >bad.json
expect 3 "a negative range" "$program" run one.onnx -i s0.npz -a $fp8,scales=bad.json -o y.npz
exit $failed
