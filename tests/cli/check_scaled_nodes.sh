#!/usr/bin/env bash
# scaled=modelopt: which products have scales, against runs that keep the others in the storage's format, bit for bit.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: no models"; exit 77; }

cat >make.py <<'EOF'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model
random = np.random.RandomState(5)
def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)
constants = {"wide": draw(32, 32, 3, 3) / 16, "few": draw(16, 32, 3, 3) / 16, "single": draw(32, 1, 3, 3), "large": draw(32, 32, 7, 7) / 40, "w": draw(64, 48)}
nodes = [node("Conv", "image wide", "wide_out", "conv_wide"), node("Conv", "image few", "few_out", "conv_few"), node("Conv", "image large", "large_out", "conv_large"),
         node("Conv", "image single", "single_out", "conv_single", group=32),
         node("MatMul", "rows w", "rows_out", "matmul_weight"), node("MatMul", "rows columns", "values_out", "matmul_values"), node("MatMul", "row w", "row_out", "matmul_row")]
inputs = {"image": (1, 32, 9, 9), "rows": (6, 64), "columns": (64, 6), "row": (1, 64)}
outputs = {"wide_out": (1, 32, 7, 7), "few_out": (1, 16, 7, 7), "large_out": (1, 32, 3, 3), "single_out": (1, 32, 7, 7), "rows_out": (6, 48), "values_out": (6, 6), "row_out": (1, 48)}
write_model("m.onnx", nodes, inputs, outputs, constants)
np.savez("in.npz", **{name: draw(*shape) for name, shape in inputs.items()})
EOF
cat >same.py <<'EOF'
import sys
import numpy as np
a, b, c = (np.load(f"{name}.npz") for name in ("scaled", "kept", "all"))
other = [name for name in a.files if a[name].tobytes() != b[name].tobytes()]
unlike = {name for name in a.files if a[name].tobytes() != c[name].tobytes()}
sys.exit(f"other bits: {other}; unlike all scaled: {unlike}" if other or unlike != set(sys.argv[1:]) else 0)
EOF
python3 make.py "$source/examples" || fail "no model"
run() { "$program" run m.onnx -i in.npz -a "$1" -o "$2.npz" -q "${@:3}" >/dev/null 2>err || fail "$1: $(cat err)"; }

# arithmetic, storage, unscaled nodes, and their outputs
compare() {
    run "$1,scaled=modelopt" scaled
    run "$1" kept $(printf -- '--keep %s='"$2"' ' $3)
    run "$1" all
    python3 same.py $4 2>err || fail "$1: $(cat err)"
}
compare bf16,factor=nvfp4 bf16@b200 "conv_wide conv_few conv_large conv_single matmul_values" "wide_out few_out large_out single_out values_out"
compare fp16,factor=mxfp8,scale=up fp16@b200 "conv_wide conv_few conv_large conv_single matmul_values" "wide_out few_out large_out single_out values_out"
compare fp16,factor=fp8-tensor fp16 "conv_few conv_large conv_single matmul_row" "few_out large_out single_out row_out"
compare bf16,weights=mxfp4 bf16 "conv_wide conv_few conv_large conv_single" "wide_out few_out large_out single_out"

"$program" quantise m.onnx -i in.npz -a fp16,factor=fp8-tensor,scaled=modelopt --json s.json -q >out 2>err || fail "scales: $(cat err)"
python <<'EOF' || fail "scales looks at other factors"
assert {t["node"] for t in json.load(open("s.json"))["tensors"]} == {"conv_wide", "matmul_weight", "matmul_values"}
EOF
expect 2 "no scales" "$program" list fp16,scaled=modelopt
exit $failed
