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
rm out
python3 "$source/tests/cli/planted_preparations.py" "$program" "$work" || fail "wrong preparations are explained, or right ones are not"
exit "$failed"
