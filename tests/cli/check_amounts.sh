#!/usr/bin/env bash
# Integers that are made of floats and only computed with until they are floats again are amounts: a step of difference is an error to
# measure. The same integers as an index, in a comparison, or as an output are decisions. In all graphs x / s lies between two integers, so
# that FP16 takes the other one.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: amounts are not looked at"; exit 77; }
python <<'END' || exit 99
# 0.3 and 1 / 0.3 are rounded in FP16: of 64 quotients near halves some end on the other side
turn = np.random.RandomState(4)
x = ((turn.randint(-100, 100, (1, 64)) + 0.5) * 0.3).astype("f4")
np.savez("x.npz", x=x)
front = [node("Div", "x s", "d"), node("Round", "d", "r")]
matrix = turn.randint(-8, 8, (64, 8)).astype("i1")
numbers = {"s": np.float32(0.3), "w": matrix, "axis": np.array([1])}
graphs = {
    "product": [node("Cast", "r", "q", to=3), node("MatMulInteger", "q w", "a"), node("Cast", "a", "y", to=1)],
    "zero_point": [node("Cast", "r", "q", to=6), node("Sub", "q five", "a"), node("Reshape", "a shape", "b"), node("Cast", "b", "y", to=1)],
    "index": [node("Cast", "r", "q", to=7), node("Abs", "q", "a"), node("Gather", "table a", "y")],
    "compared": [node("Cast", "r", "q", to=7), node("Greater", "q zero", "g"), node("Where", "g x s", "y")],
    "quotient": [node("Mul", "d d", "y")],
    "output": [node("Cast", "r", "y", to=7)],
}
numbers.update(five=np.array([5], "i4"), shape=np.array([8, 8]), table=turn.standard_normal(200).astype("f4"), zero=np.array([0]))
for name, nodes in graphs.items():
    write_model(name + ".onnx", front + nodes, {"x": (1, 64)}, {"y": None}, numbers, opset=17, types={"y": INT64} if name == "output" else None)
# pixels that are indices: 255 times as large they are outside of the table
pixels = turn.uniform(0, 1, (1, 3, 8, 8)).astype("f4")
write_model("pixels.onnx", [node("Mul", "x n", "a"), node("Cast", "a", "i", to=7), node("Gather", "table i", "b"), node("Add", "b x", "y")], {"x": pixels.shape}, {"y": None}, {"n": np.float32(20), "table": numbers["table"][:21]}, opset=17)
np.savez("pixels.npz", x=pixels)
# the last row of a table by a number just below the next: other roundings leave the table
edge = np.nextafter(np.float32(1), np.float32(0)) * np.ones((1, 4), "f4")
write_model("edge.onnx", [node("Mul", "x n", "a"), node("Cast", "a", "i", to=7), node("Gather", "table i", "b"), node("Add", "b x", "y")], {"x": edge.shape}, {"y": None}, {"n": np.float32(20), "table": numbers["table"][:20]}, opset=17)
np.savez("edge.npz", x=edge)
np.savez("other.npz", y=turn.standard_normal(pixels.shape).astype("f4"))
END
for name in product zero_point; do
    says 0 "$name" "y is at " audit $name.onnx -i x.npz -a fp16 -q --json $name.json
    grep -q '"first_decided"' $name.json && fail "$name: amounts are taken for decisions"
done
for name in index compared output; do
    expect 0 "$name" "$program" audit $name.onnx -i x.npz -a fp16 -q --json $name.json
    shows $name.json '"first_decided"' "$name is a decision"
done
# an exact recording does not look as if FP16 had made it; of what FP16 decides otherwise its size says nothing
for name in quotient index; do
    expect 0 "$name, exactly" "$program" run $name.onnx -i x.npz -a fp64 -o exact.npz -q
    expect 0 "$name compared" "$program" compare $name.onnx -i x.npz exact.npz -a fp16 -q
    tr -s " \n" " " <out | grep -q "does not look as if" && looks=no || looks=open
    [ $name,$looks = quotient,no ] || [ $name,$looks = index,open ] || fail "$name, exactly: $(head -5 out)"
done
# nor is a trial that leaves an axis, or a neighbour: both are said
expect 0 "edge, exactly" "$program" run edge.onnx -i edge.npz -a fp64 -o exact.npz -q
expect 0 "edge compared" "$program" compare edge.onnx exact.npz -i edge.npz -a fp32 -q --out edge
fields edge/compare.json 'r["ended"] and "outside an axis" in r["ended_by"] and "outside an axis" in r["unranked"]' "trials that end"
# an input that no run survives is not what was recorded, and no error of the comparison
expect 1 "pixels, recorded otherwise" "$program" compare pixels.onnx -i pixels.npz other.npz -a fp32 -q
exit $failed
