#!/usr/bin/env bash
# --max-memory holds for what is read: a document that takes many times its file's size is refused before it is parsed.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
awk 'BEGIN { printf "{\"Layers\":["; for (i = 0; i < 300000; i++) printf "%s{\"Name\":\"a%d\"}", i ? "," : "", i; print "]}" }' >wide.json
for command in "run $model -i wide.json -q" "compare $model -i $inputs wide.json -q" "plan $model -i wide.json --tolerance sqnr_db=40 -q"; do
    # shellcheck disable=SC2086
    says 5 "$command" "wide.json: out of memory, about" $command --max-memory 50M
done

# every command that reads has the option, and it holds: arrays that a small file inflates to, a model, a case, a shard
python <<'END'
def npy(shape, kind, size):
    head = str({"descr": kind, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + head.encode() + bytes(size)
with zipfile.ZipFile("wide.npz", "w", zipfile.ZIP_DEFLATED) as z:
    for name in "abc":
        z.writestr(name + ".npy", npy((1, 4096, 4096), "<u2", 2 << 24))
with zipfile.ZipFile("outer.npz", "w", zipfile.ZIP_DEFLATED) as z: # d has 4096 x 4096 elements, a and b few
    for name in "ab":
        z.writestr(name + ".npy", npy((1, 4096, 16), "<u2", 2 << 16))
END
"$program" audit "$model" -i "$inputs" -a fp16 --no-attribute -q --shard 1/1 --checkpoint shard >/dev/null || failed=1
for command in "lint $model" "mma h200.mma.f16.f32 wide.npz d.npz" "mma h200.mma.f16.f32 outer.npz d.npz" "audit --merge shard -q"; do
    case $command in lint* | audit*) limit=20K ;; *) limit=30M ;; esac
    # shellcheck disable=SC2086
    expect 5 "$command within $limit" "$program" $command --max-memory $limit
    # shellcheck disable=SC2086
    case $command in *wide*) ;; *) expect 0 "$command within 1G" "$program" $command --max-memory 1G ;; esac
done

# where there is no memory to try what helps, an audit has its report nevertheless
python <<'END'
write_model("product.onnx", [node("Einsum", "x z", "y", equation="bij,bjk->bik")], {"x": (2, 3, 4), "z": (2, 4, 5)}, ["y"])
END
for limit in $(seq 200 10 320); do
    "$program" audit product.onnx -a fp16 -t 1 --max-memory "${limit}K" >out 2>err
    grep "what helps most" err && fail "an audit within ${limit}K"
done

# nor where there is none for the shares without what overflows, which says so
python <<'END'
write_model("over.onnx", [node("Mul", "x x", "a"), node("Mul", "a a", "b"), node("Sqrt", "b", "y")], {"x": (64, 64)}, ["y"])
END
said=0
for limit in $(seq 600 50 1200); do
    "$program" audit over.onnx --val-range 2,30 -a fp16 -t 1 --max-memory "${limit}K" >out 2>err
    grep "without what overflows" err && fail "shares within ${limit}K"
    joined=$(tr -s ' \n' '  ' <out) # sentences are broken into lines
    [[ $joined != *"leaves some that are not"* ]] || fail "what helps was not tried within ${limit}K, and is said not to"
    [[ $joined == *"no shares of the error: "*" in FP32 needs more memory"* ]] && said=1
done
[ $said = 1 ] || fail "no limit was too low for shares without what overflows"
exit $failed
