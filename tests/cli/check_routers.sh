#!/usr/bin/env bash
# What a router's decisions need is searched in front of them: of 54 nodes, with six routers whose logits have a common offset that costs
# FP16 their last bits, a few are kept; by mean powers alone all were.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: no router is made"; exit 77; }
python <<'END' || exit 99
random, wide, experts = np.random.RandomState(8), 16, 8
constants, nodes, state = {"two": np.array([2], "i8"), "third": np.array([2], "i8")}, [], "x"
for l in range(6):
    for name, shape in (("a", (wide, wide)), ("r", (wide, experts)), ("e", (experts, wide)), ("offset", (experts,))):
        constants[f"{name}{l}"] = (random.standard_normal(shape) / shape[0]**0.5 + (60 if name == "offset" else 0)).astype("f4")
    nodes += [node("MatMul", f"{state} a{l}", f"h{l}"), node("Tanh", f"h{l}", f"t{l}"), node("MatMul", f"t{l} r{l}", f"scores{l}"),
              node("Add", f"scores{l} offset{l}", f"logits{l}"), node("TopK", f"logits{l} two", f"v{l} i{l}", f"router{l}"),
              node("Gather", f"e{l} i{l}", f"g{l}"), node("ReduceSum", f"g{l} third", f"s{l}", keepdims=0), node("Mul", f"t{l} s{l}", f"m{l}"),
              node("Add", f"{state} m{l}", f"y{l}")]
    state = f"y{l}"
write_model("router.onnx", nodes, {"x": (2, 4, wide)}, [state], constants, opset=18)
np.savez("x.npz", x=random.standard_normal((2, 4, wide)).astype("f4"))
END
for command in "plan --out plan --json said.json" "fix -o fixed.onnx --json said.json"; do
    # shellcheck disable=SC2086 # words
    set -- $command
    expect 0 "$1" "$program" "$1" router.onnx -i x.npz -a fp16 --tolerance sqnr_db=40 -q "${@:2}"
    fields said.json 'r["kept_count"] <= 12 if "kept_count" in r else len(r["kept"]) <= 12' "$1 keeps few nodes"
done
expect 0 "what fix writes" "$program" doctor fixed.onnx -i x.npz -a model --no-plan -q
exit $failed
