#!/usr/bin/env bash
# Pictures prepared wrongly for small detectors: compare finds it or cannot tell, and never explains it; where Python has numpy.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy in python3"; exit 77; }
# in FP16 an image fades to zeros and sines of large angles are wild: fp16's own recording is explained, whatever else would have been; of one with another bit it cannot be told, but for wild alone, where no image arrives
python3 - "$source/examples" <<'END' || fail "a faint image"
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from onnx_writer import node, write_model
image, angles = np.random.default_rng(1).random((1, 3, 8, 8), "f4"), np.linspace(2000, 9000, 192, dtype="f4")
write_model("faint.onnx", [node("Mul", "image small", "faint"), node("Sin", "angles", "wild")], {"image": image.shape, "angles": angles.shape}, ["faint", "wild"],
            {"small": np.float32([1e-9])})
np.savez("faint.npz", image=image, angles=angles)
END
expect 0 "a faint image" "$program" run faint.onnx -i faint.npz -a fp16 -q -o own.npz
python3 - <<'END' || fail "another bit"
import numpy as np
values = dict(np.load("own.npz"))
values["wild"][0] *= np.float32(1 - 2**-10)
np.savez("near.npz", **values)
np.savez("wild.npz", wild=values["wild"])
END
expect 0 "fp16's own recording" "$program" compare faint.onnx -i faint.npz -a fp16 own.npz -q --out own
expect 1 "another bit" "$program" compare faint.onnx -i faint.npz -a fp16 near.npz -q --out near
fields near/compare.json 'r["files"][0]["hidden"] and all(a["blind"] for a in r["files"][0]["ranked"] if a["arithmetic"] == "fp16")' "another bit"
expect 0 "where no image arrives" "$program" compare faint.onnx -i faint.npz -a fp16 wild.npz -q --out wild
fields wild/compare.json 'not any(p.get("harms") for p in r["files"][0]["power"])' "where no image arrives"
# A list of another length than the reference's: of the arithmetic whose roundings choose so it is explained by its rows; one that is far longer, or of other rows, is not.
PYTHONPATH=$source/examples python3 - <<'END' || fail "a list"
import numpy as np
from onnx_writer import node, write_model

x = np.random.default_rng(4).standard_normal((400, 4)).astype("f4")
write_model("list.onnx", [node("ReduceSum", "x last", "s", "sum", keepdims=0), node("Add", "s far", "t", "shifted"), node("Greater", "t least", "c", "chosen"),
                          node("MatMul", "x w", "p", "product"), node("Compress", "p c", "y", "rows", axis=0)], {"x": x.shape}, ["y"],
            {"last": np.array([1]), "far": np.float32(60), "least": np.float32(60.3), "w": np.random.default_rng(5).standard_normal((4, 3)).astype("f4")}, opset=17)
np.savez("list.npz", x=x)
np.savez("other.npz", x=np.clip(x * 1.5, None, 1))
sums = x.astype("f8").sum(1)
assert (sums > 0.3).sum() != ((np.float16(60) + x.sum(1).astype("f2")) > np.float16(60.3)).sum()  # FP16 chooses as many as numpy's, and others than the reference
END
expect 0 "a list in FP16" "$program" run list.onnx -i list.npz -a fp16 -o half.npz
expect 0 "a list of another input" "$program" run list.onnx -i other.npz -a fp16 -o wrong.npz
python3 -c 'import numpy as np; y = np.load("half.npz")["y"]; np.savez("twice.npz", y=np.concatenate([y, y]))'
expect 0 "rows of FP16" "$program" compare list.onnx -i list.npz half.npz -a fp16 -q --json said.json
fields said.json "[(v['explained'], v['reshaped'], v['rows_matched']) for t in r['tensors'] for v in t['values']] == [(True, True, True)]" "rows of FP16"
fields said.json "[(f['ranked'][0]['arithmetic'], f['ranked'][0]['equal'] == f['ranked'][0]['elements'] > 0) for f in r['files']] == [('fp16', True)]" "the bits of FP16"
expect 1 "rows of FP16 beside FP32" "$program" compare list.onnx -i list.npz half.npz -a fp32 -q --json said.json
fields said.json "r['files'][0]['cause']['kind'] == 'shape' and 'fp16 explains it' in r['files'][0]['cause']['text']" "rows of FP16 beside FP32"
expect 1 "twice as many rows" "$program" compare list.onnx -i list.npz twice.npz -a fp16 -q
expect 1 "rows of another input" "$program" compare list.onnx -i list.npz wrong.npz -a fp16 -q
# Six boxes of 24, drawn at random: half of them are those of some wrong picture by chance, which says nothing.
for seed in 3 5 10 12; do
    PYTHONPATH=$source/examples python3 - $seed <<'END' || fail "six boxes"
import sys
import numpy as np
from onnx_writer import node, write_model

r = np.random.default_rng(int(sys.argv[1]))
image, w, anchors = r.random((1, 3, 12, 12), "f4"), r.standard_normal((432, 24)).astype("f4") * 0.1, r.random((24, 4), "f4")
write_model("six.onnx", [node("Reshape", "image flat", "v"), node("MatMul", "v w", "l"), node("Sigmoid", "l", "s"), node("TopK", "s k", "top at", "select", axis=1),
                         node("Squeeze", "at zero", "i"), node("Gather", "anchors i", "boxes", axis=0)], {"image": image.shape}, ["boxes"],
            {"flat": np.array([1, 432]), "w": w, "k": np.array([6]), "anchors": anchors, "zero": np.array([0])}, opset=13)
np.savez("six.npz", image=image)
np.savez("drawn.npz", boxes=anchors[r.permutation(24)[:6]])
END
    expect 1 "six boxes" "$program" compare six.onnx -i six.npz drawn.npz -a fp32 -q --json said.json
    fields said.json "r['files'][0]['cause']['kind'] == 'inputs'" "six boxes, seed $seed"
done
# An input that explains a tensor while what lies behind it would end in an error; integers in reverse, whose rows all match; an input exchanged with one that the tensor does not read.
PYTHONPATH=$source/examples python3 - <<'END' || fail "inputs"
import shutil

import numpy as np
from onnx_writer import node, write_model

r = np.random.default_rng(6)
w, image, x, z = (r.standard_normal(shape).astype("f4") for shape in ((1, 3, 8, 1), (1, 3, 8, 8), (5, 8), (5, 8)))
write_model("index.onnx", [node("Mul", "image w", "a"), node("ReduceMax", "image", "most", keepdims=0), node("Cast", "most", "at", to=7), node("Gather", "table at", "one"),
                           node("Mul", "a one", "y")], {"image": image.shape}, ["a", "y"], {"w": w, "table": np.ones(10, "f4")}, opset=17)
np.savez("index.npz", image=image)
np.savez("index_said.npz", a=image * np.float32(255) * w)
classes = {"table": r.standard_normal((20, 8)).astype("f4"), "w": r.standard_normal((8, 12)).astype("f4")}
write_model("classes.onnx", [node("Gather", "table ids", "e"), node("MatMul", "e w", "l"), node("ArgMax", "l", "class", axis=-1)], {"ids": (1, 6)}, ["class"], classes, opset=17,
            types={"ids": 7, "class": 7})
ids = np.array([[1, 4, 7, 19, 0, 2]])
np.savez("classes.npz", ids=ids)
np.savez("classes_said.npz", **{"class": (classes["table"][ids[:, ::-1]] @ classes["w"]).argmax(-1, keepdims=True)})
write_model("two.onnx", [node("Greater", "x least", "b"), node("Where", "b x z", "y")], {"x": x.shape, "z": z.shape}, ["b", "y"], {"least": np.float32(0.2)}, opset=17,
            types={"b": 9})
bytes_, mean, mix = r.integers(0, 256, (1, 3, 16, 16)).astype("f4"), np.float32([104, 117, 123]).reshape(3, 1, 1), r.standard_normal((8, 3, 1, 1)).astype("f4")
for name, given, used in (("bytes", bytes_, bytes_ - mean), ("less", bytes_ - mean, bytes_)):
    write_model(name + ".onnx", [node("Conv", "x w", "c"), node("Relu", "c", "y")], {"x": bytes_.shape}, ["y"], {"w": mix}, opset=17)
    np.savez(name + ".npz", x=given)
    np.savez(name + "_said.npz", y=np.maximum(np.einsum("oc,nchw->nohw", mix[:, :, 0, 0].astype("f8"), used), 0).astype("f4"))
light = r.random((1, 1, 16, 16)).astype("f4")
one = mix[:, :1]
write_model("light.onnx", [node("Conv", "x w", "c"), node("Relu", "c", "y")], {"x": light.shape}, ["y"], {"w": one}, opset=17)
np.savez("light.npz", x=light)
np.savez("light_said.npz", y=np.maximum(np.einsum("oc,nchw->nohw", one[:, :, 0, 0].astype("f8"), 1 - light.astype("f8")), 0).astype("f4"))
# numbers of inputs that are no pictures: a mask of ones, one with 0 and 1 exchanged, a state that was not handed on, samples of 16 bits
sound, state, mask = r.standard_normal((1, 40)).astype("f4") / 4, r.standard_normal((1, 40)).astype("f4"), np.int64([[1] * 29 + [0] * 11])
write_model("sound.onnx", [node("Cast", "mask", "m", to=1), node("Tanh", "x", "t"), node("Add", "t state", "s"), node("Mul", "s m", "y")],
            {"x": sound.shape, "state": state.shape, "mask": mask.shape}, ["y"], {}, opset=17, types={"mask": 7})
tanh = lambda v: np.tanh(v.astype("f8"))
for name, y in (("ones", tanh(sound) + state), ("other", (tanh(sound) + state) * (1 - mask)), ("fresh", tanh(sound) * mask), ("samples", (tanh(sound * 32768) + state) * mask)):
    np.savez(name + ".npz", x=sound, state=state, mask=mask)
    np.savez(name + "_said.npz", y=y.astype("f4"))
    shutil.copy("sound.onnx", name + ".onnx")
write_model("exact.onnx", [node("Add", "x state", "s"), node("Sin", "s", "y")], {"x": sound.shape, "state": state.shape}, ["y"], {}, opset=17)
np.savez("exact.npz", x=sound, state=state)
np.savez("exact_said.npz", y=np.sin((sound * np.float32(32768) + state).astype("f8")).astype("f4"))
np.savez("two.npz", x=x, z=z)
np.savez("two_said.npz", b=z > 0.2, y=np.where(z > np.float32(0.2), z, x))
END
for row in "light light and dark exchanged (1 less each value)" "ones all 1" "other 0 and 1 exchanged" "fresh all 0 (left out" "samples 32768 times as large (samples of 16 bits not divided), or by another factor" "exact 32768 times as large (samples of 16 bits not divided). " "index 255 times as large" "classes in reverse along axis 1" "two it was exchanged with 'z'" \
    "bytes mean subtracted where the model takes values from 0 to 255 (Caffe's 104, 117, 123)" "less mean not subtracted (Caffe's 104, 117, 123)"; do
    expect 1 "$row" "$program" compare "${row%% *}.onnx" -i "${row%% *}.npz" "${row%% *}_said.npz" -q --json said.json
    fields said.json "r['files'][0]['cause']['kind'] == 'preprocessing' and \"${row#* }\" in r['files'][0]['cause']['text']" "$row"
done
rm out
python3 "$source/tests/cli/planted_preparations.py" "$program" "$work" || fail "wrong preparations are explained, or right ones are not"
PYTHONPATH=$source/examples python3 "$source/tests/cli/planted_readings.py" "$program" || fail "a node that is read otherwise"
exit "$failed"
