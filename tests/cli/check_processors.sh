#!/usr/bin/env bash
# Processors without VNNI, beside which sums of unsigned by signed bytes saturate in ONNX Runtime: doctor --for ort judges the worse of both kinds,
# says both and which this machine is; audit --for ort has a column of each; compare names what a recording from the other kind was computed in.
# Weights of 7 bits, and the same numbers as UINT8, are what the lint says of them: nothing to choose.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

PYTHONPATH=$source/examples python3 - <<'END' || exit 99
import numpy as np
from onnx_writer import node, write_model

random = np.random.RandomState(3)
x = (random.randint(-128, 128, (16, 64)) * np.float32(.02)).astype("f4")
w = random.randint(-127, 128, (64, 24))


def write(name, weights, zero):
    nodes = [node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "q sx zx", "f"), node("DequantizeLinear", "w sw zw", "g"), node("MatMul", "f g", "p", "product"),
             node("QuantizeLinear", "p sy zy", "r"), node("DequantizeLinear", "r sy zy", "y")]
    write_model(name, nodes, {"x": x.shape}, {"y": None}, {"w": weights, "zw": zero, "sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01), "sy": np.float32(.1),
                                                          "zy": np.uint8(128)}, opset=17)


write("full.onnx", w.astype("i1"), np.int8(0))
write("narrow.onnx", (w // 2).astype("i1"), np.int8(0))
write("unsigned.onnx", (w + 128).astype("u1"), np.uint8(128))
np.savez("x.npz", x=x)
# bytes of at most 10, whose sums do not saturate; and beside them digits that FP32 does not have
nodes = [node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "q sx zx", "f"), node("DequantizeLinear", "w sw zw", "g"), node("MatMul", "f g", "p", "product"),
         node("QuantizeLinear", "p sy zy", "r"), node("DequantizeLinear", "r sy zy", "y"), node("Add", "y large", "a", "added"), node("Sub", "a large", "z", "taken")]
write_model("lost.onnx", nodes, {"x": x.shape}, {"z": None}, {"w": w.astype("i1"), "zw": np.int8(0), "sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01),
                                                             "sy": np.float32(.3), "zy": np.uint8(128), "large": np.float32(1e8)}, opset=17)
np.savez("low.npz", x=((random.randint(0, 11, (16, 64)) - 128) * np.float32(.02)).astype("f4"))
END

this="without VNNI"
[ "$(uname -m)" = x86_64 ] && ! grep -qwE 'avx512_vnni|avx_vnni' /proc/cpuinfo && grep -qw avx2 /proc/cpuinfo || this="with VNNI"
expect 1 "both kinds" "$program" doctor full.onnx -i x.npz --for ort -q --json said.json
shows out "in ort-cpu,qdq=integer,integers=saturating16, on processors without VNNI: " "both kinds"
shows out "; with VNNI it is fine: " "both kinds"
shows out "(this machine: $this)" "this machine"
shows out "neighbouring weights add up to" "the cause"
shows out "session.x64quantprecision=1" "what to do"
shows out "remedy session.x64quantprecision=1, with which sums are those of the other kind of processors, at some speed: with VNNI it is fine: " "the option, by a run"
python3 - "$this" <<'END' || fail "doctor.json"
import json, sys
said = json.load(open("said.json"))
assert said["processor"] == "without VNNI" and said["this_processor"] == sys.argv[1] and said["other_processor"].startswith("with VNNI it is fine: "), said
cause = said["causes"][0]
assert cause["rule"] == "bytes-saturate" and cause["node"] == "product" and "UINT8" in cause["fix"], cause
END
# Where nothing saturates both kinds are one, and what is wrong is not the sums of bytes.
expect 0 "alike" "$program" doctor full.onnx -i low.npz --for ort -q
shows out "on processors with VNNI and without VNNI alike: " "alike"
! grep -q "this machine" out || fail "alike: this machine is spoken of"
expect 1 "alike, and wrong" "$program" doctor lost.onnx -i low.npz --for ort --no-plan -q
shows out "with VNNI and without VNNI alike: " "alike, and wrong"
shows out "added (Add)" "alike, and wrong"
! grep -q "saturate$\|saturate \|bytes-saturate" out || fail "alike, and wrong: sums of bytes are the cause"
for twin in narrow unsigned; do
    expect 0 "$twin" "$program" doctor $twin.onnx -i x.npz --for ort -q
    ! grep -q VNNI out || fail "$twin: VNNI is spoken of"
    expect 0 "$twin" "$program" lint $twin.onnx --for ort
    ! grep -q bytes-saturate out || fail "$twin: the lint finds something"
done
# The edit gives UINT8 weights: fine, in every sum of bytes the same as with VNNI.
expect 0 "fix" "$program" fix full.onnx -i x.npz --for ort -o fixed.onnx -q
shows out "1 edit" "fix"
expect 0 "fixed" "$program" doctor fixed.onnx -i x.npz --for ort -q
! grep -q VNNI out || fail "fixed: VNNI is spoken of"
expect 0 "exact" "$program" run full.onnx -i x.npz -a ort-cpu,qdq=integer -o exact.npz
expect 0 "fixed, run" "$program" run fixed.onnx -i x.npz -a ort-cpu,qdq=integer,integers=saturating16 -o fixed.npz
python3 -c "import numpy as np; assert (np.load('exact.npz')['y'] == np.load('fixed.npz')['y']).all()" || fail "fixed: other numbers"

expect 0 "an arithmetic that is named" "$program" doctor full.onnx -i x.npz --for ort -a ort-cpu -q
! grep -q "processors" out || fail "an arithmetic that is named: processors are spoken of"

expect 0 "audit --for" "$program" audit full.onnx -i x.npz --for ort -q
shows out "times as large without VNNI as with VNNI" "audit --for"
grep -q "^ort-cpu,qdq=integer,integers=saturating16: " out || fail "audit --for: the arithmetic's name is cut"
expect 0 "audit --for, unsigned" "$program" audit unsigned.onnx -i x.npz --for ort -q
! grep -q "VNNI" out || fail "audit --for, unsigned: VNNI is spoken of"

# A recording from the other kind, beside what was asked; and the exact one's is explained by what was asked.
expect 0 "recorded" "$program" run full.onnx -i x.npz -a ort-cpu,qdq=integer,integers=saturating16 -o saturated.npz
expect 1 "compare" "$program" compare full.onnx saturated.npz -i x.npz -a fp32
shows out "fp32,qdq=integer,integers=saturating16 (sums of bytes that saturate, as ONNX Runtime's on a processor without VNNI)" "compare"
python3 - <<'END' || fail "roundings between"
import numpy as np
y = np.load("saturated.npz")["y"].copy()
y.reshape(-1)[::40] += np.float32(.1)  # steps
np.savez("near.npz", y=y)
END
expect 1 "compare, some elements a step off" "$program" compare full.onnx near.npz -i x.npz -a fp32
shows out "integers=saturating16" "compare, some elements a step off"
expect 0 "compare, exact" "$program" compare full.onnx exact.npz -i x.npz -a fp32,qdq=integer

exit $failed
