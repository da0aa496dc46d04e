#!/usr/bin/env bash
# Weights of 4 bits, in files of external data and inside the model: they stay packed, are widened where a node reads them, and give the
# bits of the same numbers in bytes. Blocks of scales, even ones and a last short one, by DequantizeLinear; a Gather and a Cast.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: packed weights are not compared"; exit 77; }
python <<'END' || exit 99
turn = np.random.default_rng(3)
INT4, UINT4, INT8, UINT8 = 22, 21, 3, 2
signed, unsigned = turn.integers(-8, 8, (1024, 2051)), turn.integers(0, 16, (2051, 1100))
zeros = turn.integers(0, 16, (2051, 35))
small = lambda *shape: (turn.standard_normal(shape) / 30).astype("f4")
floats = {"s1": small(32, 2051), "s2": small(2051, 35), "s3": small(1)}
nodes = [node("DequantizeLinear", "w1 s1", "d1", axis=0, block_size=32), node("MatMul", "x d1", "p"), node("Tanh", "p", "q"),
         node("DequantizeLinear", "w2 s2 z2", "d2", axis=1, block_size=32),  # 1100 = 34 * 32 + 12
         node("MatMul", "q d2", "r"), node("Gather", "w1 ids", "rows"), node("DequantizeLinear", "rows s3", "t"),
         node("Cast", "w2", "u", to=1), node("ReduceSum", "u", "v", keepdims=0), node("Identity", "w1", "same"), node("Cast", "same", "wide", to=3)]


def pack(array):
    codes = np.append(array.reshape(-1) & 15, [0] * (array.size % 2)).astype("u1")
    return (codes[::2] | codes[1::2] << 4).tobytes()


for name, kinds, inside in (("bytes", (INT8, UINT8), True), ("inside", (INT4, UINT4), True), ("outside", (INT4, UINT4), False),
                            ("few_bytes", (INT8, UINT8), True), ("few", (INT4, UINT4), False)):
    tensors, at = [initialiser(*item) for item in floats.items()] + [initialiser("ids", np.array([1023, 0, 7]))], 0
    with open("packed.data", "wb") as data:
        for key, array, kind in (("w1", signed, kinds[0]), ("w2", unsigned, kinds[1]), ("z2", zeros, kinds[1])):
            raw = array.astype("u1").tobytes() if kinds[0] == INT8 else pack(array)
            places = {"location": "packed.data", "offset": at + 1, "length": len(raw)}
            tensors.append(b"".join(number(1, size) for size in array.shape) + number(2, kind) + block(8, key) + (
                block(9, raw) if inside else number(14, 1) + b"".join(
                    block(13, block(1, entry) + block(2, str(what))) for entry, what in places.items())))
            if not inside:
                data.write(b"\0" + raw)
                at += 1 + len(raw)
    few = name.startswith("few")
    graph = (b"".join(block(1, item) for item in nodes[:2 if few else None]) + block(2, "g") + b"".join(block(5, item) for item in tensors) +
             block(11, value("x", [3, 1024])) + b"".join(block(12, value(key, None, kind)) for key, kind in
                                                         ((("p", 1),) if few else (("r", 1), ("t", 1), ("v", 1), ("wide", 3)))))
    with open(f"{name}.onnx", "wb") as file:
        file.write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, 21)))
x = turn.standard_normal((3, 1024)).astype("f4")
np.savez("x.npz", x=x)
# what the definition says, with FP64 sums of products that are exact in it
d1 = signed * np.repeat(floats["s1"], 32, axis=0).astype(float)
d2 = (unsigned - np.repeat(zeros, 32, axis=1)[:, :1100]) * np.repeat(floats["s2"], 32, axis=1)[:, :1100].astype(float)
np.savez("wanted.npz", r=np.tanh(x @ d1) @ d2, t=signed[[1023, 0, 7]] * floats["s3"][0], v=unsigned.sum(), wide=signed)
END

for name in bytes inside outside; do
    expect 0 "$name" "$program" run "$name.onnx" -i x.npz -a fp32 -o "$name.npz"
done
cmp bytes.npz inside.npz || fail "packed inside the model differs"
cmp bytes.npz outside.npz || fail "packed in a file differs"
# a weight of 2 MiB as bytes is nowhere in memory where it is packed in a file
for name in few_bytes few; do
    expect 0 "$name" "$program" run $name.onnx -i x.npz -a fp32 -o $name.npz
    cat out err | sed -n 's/.* tensors, \([0-9.]*\) in all.*/\1/p' >$name.memory
done
expect 0 "few at 128 bits" "$program" run few.onnx -i x.npz -a mpfr:128 -o few128.npz
expect 0 "few_bytes at 128 bits" "$program" run few_bytes.onnx -i x.npz -a mpfr:128 -o few_bytes128.npz
cmp few_bytes128.npz few128.npz || fail "128 bits: packed in a file differs"
cmp few_bytes.npz few.npz || fail "one product: packed in a file differs"
awk 'NR == FNR { bytes = $1; next } !($1 > 0 && $1 < bytes - 2) { exit 1 }' few_bytes.memory few.memory ||
    fail "packed: $(cat few.memory) MiB, as bytes $(cat few_bytes.memory)"
expect 0 "in FP64" "$program" run outside.onnx -i x.npz -a fp64 -o fp64.npz
# FP64 sums of 2,051 products are within 2,051 * 2^-53 of the magnitudes' sum, some 100 times the result; what is written may be FP32
python <<'END' || fail "not what the definition says"
got, wanted = np.load("fp64.npz"), np.load("wanted.npz")
assert np.array_equal(got["wide"], wanted["wide"]) and got["v"] == wanted["v"]
for key in "r", "t":
    assert got[key].shape == wanted[key].shape and np.abs(got[key] - wanted[key]).max() <= 2.0 ** -24 * np.abs(wanted[key]).max()
END
expect 0 "an audit" "$program" audit outside.onnx -i x.npz -a fp16 --reference fp64 -o packed
expect 0 "the same of bytes" "$program" audit bytes.onnx -i x.npz -a fp16 --reference fp64 -o bytes
expect 0 "an audit beside FP64" "$program" audit few.onnx -i x.npz -a fp16 --reference fp64
expect 0 "a proof" "$program" prove few.onnx -i x.npz
python <<'END' || fail "reports differ"
a, b = (json.load(open(f"{name}/report.json"))["lanes"] for name in ("packed", "bytes"))
assert [x["outputs"] for x in a] == [x["outputs"] for x in b] and a
END
exit $failed
