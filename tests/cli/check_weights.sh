#!/usr/bin/env bash
# Weights of 8 and 16 bits in files of external data: they stay there, are lowered in blocks under a memory limit that is less
# than they would take in FP32, and give the bits of the same weights inside the model, which are decoded when it is loaded.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: weights in files are not compared"; exit 77; }
PYTHONPATH=$source/examples python3 - <<'END' || exit 99
import numpy as np
from onnx_writer import block, number, node, value

turn = np.random.default_rng(1)


def encode(x, kind):
    if kind == 10:
        return x.astype("<f2").tobytes()
    if kind == 16:
        return (x.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return turn.integers(0, 0x70, x.shape, dtype=np.uint8).tobytes()  # FLOAT8E4M3FN, no NaN


def write(name, kind, opset=19):
    wide = lambda *shape: (turn.standard_normal(shape) / 30).astype("f4")
    weights = {"table": wide(2500, 512), "right": wide(512, 3001), "turned": wide(1027, 3001), "large": wide(1027, 700)}
    weights["table"][3] *= 1e-7  # becomes subnormal or zero in FP16
    if kind == 16:
        weights["table"][1] = 1e6  # beyond FP16
        weights["right"][5, 7], weights["right"][6, 8] = 3e38, 1e-30
    kinds = {key: kind for key in weights}
    nodes = [node("Gather", "table ids", "rows"), node("MatMul", "rows right", "p"), node("Tanh", "p", "q"), node("Gemm", "q turned", "r", transB=1),
             node("ReduceMean", "rest", "mean"), node("Add", "r mean", "s"), node("MatMul", "s large", "t")]
    weights["rest"] = wide(600, 1027)
    kinds["rest"] = kind
    if kind == 17:  # quantised weights: a Cast widens them
        weights, kinds = {"w": weights["right"]}, {"w": 17}
        nodes = [node("Cast", "w", "wide", to=1), node("MatMul", "x wide", "t")]
    for inside in (True, False):
        tensors, at = [], 0
        with open(f"{name}.data", "wb") as data:
            for key, array in weights.items():
                raw = encode(array, kinds[key])
                turn.bit_generator.state = np.random.default_rng(2).bit_generator.state
                raw = encode(array, kinds[key])
                head = b"".join(number(1, size) for size in array.shape) + number(2, kinds[key]) + block(8, key)
                places = {"location": f"{name}.data", "offset": at + 1, "length": len(raw)}  # odd: no element is aligned
                tensors.append(head + (block(9, raw) if inside else number(14, 1) + b"".join(
                    block(13, block(1, entry) + block(2, str(what))) for entry, what in places.items())))
                data.write(b"\0" + raw)
                at += 1 + len(raw)
        given = block(11, value("x", [3, 512])) if kind == 17 else block(11, value("ids", [20], 7))
        graph = b"".join(block(1, item) for item in nodes) + block(2, "g") + b"".join(block(5, item) for item in tensors) + given
        graph += block(12, value("t", None, 1 if kind == 17 else kind))
        path = f"{name}.{'inside' if inside else 'outside'}.onnx"
        with open(path, "wb") as file:
            file.write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, opset)))


write("fp16", 10)
write("bf16", 16)
write("fp8", 17)
np.savez("ids.npz", ids=turn.integers(0, 2500, 20))
np.savez("x.npz", x=turn.standard_normal((3, 512)).astype("f4"))
END

# The reports but for times and memory.
same() {
    python3 - "$1" "$2" <<'END'
import json, sys
def strip(x):
    if isinstance(x, dict):
        return {key: strip(item) for key, item in x.items() if not any(word in key for word in ("second", "bytes", "path", "model", "schedule_date"))}
    if isinstance(x, str):  # proposed commands name the model
        return x.replace("outside.onnx", "inside.onnx")
    return [strip(item) for item in x] if isinstance(x, list) else x
a, b = (strip(json.load(open(f"{name}/report.json"))) for name in sys.argv[1:])
assert len(json.dumps(a)) > 2000
sys.exit(a != b)
END
}

for kind in fp16 bf16 fp8; do
    given=ids.npz limit=20M
    [ $kind = fp8 ] && given=x.npz limit=24M
    for arith in fp32 fp16 bf16@h200 mpfr:128 fp16,round=sr fp16,constants=tensorrt; do
        expect 0 "$kind in $arith inside" "$program" run $kind.inside.onnx -i $given -a "$arith" -q -o inside.npz
        expect 0 "$kind in $arith" "$program" run $kind.outside.onnx -i $given -a "$arith" -q -o outside.npz
        cmp -s inside.npz outside.npz || fail "$kind in $arith: other bits than inside the model"
        [ $kind = fp8 ] && [ "$arith" = mpfr:128 ] && continue # what the Cast makes is wide
        case $arith in *=sr) continue ;; esac # draws are numbered in whole products
        expect 0 "$kind in $arith in $limit" "$program" run $kind.outside.onnx -i $given -a "$arith" -q -o outside.npz --max-memory $limit
        cmp -s inside.npz outside.npz || fail "$kind in $arith in $limit: other bits than inside the model"
    done
    expect 0 "$kind, twice" "$program" run $kind.outside.onnx -i $given -a fp16 -q -o outside.npz --repeat 3
    expect 0 "$kind, inside" "$program" run $kind.inside.onnx -i $given -a fp16 -q -o inside.npz
    cmp -s inside.npz outside.npz || fail "$kind in further runs: other bits than inside the model"
    expect 0 "$kind: audit inside" "$program" audit $kind.inside.onnx -i $given -a fp16,fp32 --reference fp64 -q -o inside
    expect 0 "$kind: audit" "$program" audit $kind.outside.onnx -i $given -a fp16,fp32 --reference fp64 -q -o outside
    same inside outside || fail "$kind: another report than inside the model"
    rm -r inside outside
done
# 28 MiB in FP32
expect 5 "the weights in memory" "$program" run bf16.inside.onnx -i ids.npz -a fp32 -q --max-memory 20M
expect 0 "an audit with little memory" "$program" audit bf16.outside.onnx -i ids.npz -a fp16,fp32 --reference fp64 --no-attribute -q -o little --max-memory 28M
expect 0 "an audit with much memory" "$program" audit bf16.inside.onnx -i ids.npz -a fp16,fp32 --reference fp64 --no-attribute -q -o much
same little much || fail "an audit with little memory: another report"
for place in inside outside; do
    expect 0 "shares, $place" "$program" audit bf16.$place.onnx -i ids.npz -a fp16 --attribute -q -o shares.$place
    grep -q '"share"' shares.$place/report.json || fail "shares, $place: there are none"
done
same shares.inside shares.outside || fail "shares: other ones than inside the model"
for command in lint overflow; do
    expect 0 "$command inside" "$program" $command bf16.inside.onnx
    mv out inside.txt
    expect 0 "$command" "$program" $command bf16.outside.onnx
    sed 's/outside/inside/g' out | cmp -s - inside.txt || fail "$command: other findings than inside the model"
done
exit $failed
