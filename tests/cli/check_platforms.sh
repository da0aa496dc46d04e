#!/usr/bin/env bash
# Equal files from two processors: what the program writes and prints in every command, beside a program of the same version compiled for another
# one (ULPSCOPE_PEER, which scripts/test --arch sets). Only seconds and bytes of memory may differ. With ULPSCOPE_TEST_DATA real models, too.
[ -n "${ULPSCOPE_PEER:-}" ] || { echo "ULPSCOPE_PEER is unset (scripts/test --arch sets it): skipped"; exit 77; }
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
case $ULPSCOPE_PEER in /*) ;; *) echo "ULPSCOPE_PEER is no absolute path"; exit 99 ;; esac
[ "$("$program" --version)" = "$("$ULPSCOPE_PEER" --version)" ] || { echo "ULPSCOPE_PEER is of another version"; exit 99; }

# NaN of every origin, infinities, zeros of both signs, subnormals, conversions that leave their range, ties, ties of order.
command -v python3 >/dev/null || { echo "no python3: the model of special values is not made"; exit 99; }
PYTHONPATH=$source/examples python3 - <<'PYTHON' || exit 99
import struct, zipfile
from onnx_writer import block, node, number, value, write_model
specials = [0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7fa00001, 0x00000001, 0x807fffff, 0x00800000,
            0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000001, 0x5f000000, 0x43808000, 0x47802000, 0x3f000000,
            0x40200000, 0xbf000000, 0x42f6e979, 0xc2f6e979, 0x33d6bf95, 0x3727c5ac]
n = len(specials)
pairs = [[a for a in specials for b in specials], [b for a in specials for b in specials]]
with zipfile.ZipFile("specials.npz", "w") as archive: # every pair
    for name, values in zip("ab", pairs):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {n}), }}".ljust(117).encode() + b"\n"
        archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header + struct.pack(f"<{n * n}I", *values))
nodes = [node(op, "a b", op) for op in "Add Sub Mul Div Max Min Pow PRelu Equal Less MatMul".split()] + [node("Mod", "a b", "Mod", fmod=1)]
nodes += [node(op, "a", op) for op in (
    "Abs Neg Exp Log Sqrt Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sigmoid Softplus Floor Ceil Round Sign Reciprocal Relu "
    "Elu Selu Softsign HardSigmoid Gelu Mish IsNaN Identity Softmax LogSoftmax ReduceMax ReduceSum ReduceLogSumExp ArgMax").split()]
nodes += [node("CumSum", "a axis", "CumSum"), node("TopK", "a k", "TopK order")]
kinds = {"int8": 3, "uint8": 2, "int32": 6, "int64": 7, "uint32": 12, "uint64": 13, "fp16": 10, "bf16": 16, "bool": 9, "fp64": 11, "e4m3": 17}
nodes += [node("Cast", "a", "to_" + name, to=kind) for name, kind in kinds.items()]
nodes += [node("BitCast", "Div", "bits", to=6)]
graph = b"".join(block(1, item) for item in nodes) + block(2, "specials")
for name, entry in (("axis", 0), ("k", n)):
    graph += block(5, number(1, 1) + number(2, 7) + block(8, name) + block(9, struct.pack("<q", entry)))
graph += block(11, value("a", [n, n])) + block(11, value("b", [n, n])) + block(12, value("Add", None)) + block(12, value("TopK", None))
open("specials.onnx", "wb").write(number(1, 13) + block(7, graph) + block(8, block(1, "") + number(2, 26)))
PYTHON
specials=("$work/specials.onnx" -i "$work/specials.npz")

# Archives become folders of their members: how they are put together is the version of libzip's.
unpack() {
    find "$1" -name '*.npz' -exec python3 -c 'import sys, zipfile
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as archive:
        archive.extractall(path + ".members")' {} + -exec rm {} +
}

both() { # NAME ARGUMENT...: files and what is printed
    local name=$1 side code
    shift
    for side in here peer; do
        mkdir -p "$side/$name"
        if [ $side = here ]; then code=$program; else code=$ULPSCOPE_PEER; fi
        (cd "$side/$name" && "$code" "$@" >out 2>err; echo $? >code)
        grep -qE '^[01]$' "$side/$name/code" || fail "$name ($side): exit $(cat "$side/$name/code"): $(head -2 "$side/$name/err")"
        unpack "$side/$name"
        # times and memory
        find "$side/$name" -type f ! -name '*.npy' -exec sed -Ei \
            -e 's/"(seconds|peak_bytes)": [0-9.e+-]+/"\1": N/' -e 's/\b[0-9.]+ (s|MiB|KiB|GiB|in all)\b/N \1/g' {} +
    done
    diff -r "here/$name" "peer/$name" >difference || { fail "$name differs"; head -5 difference | cut -c1-300; }
    compared=$((compared + $(find "here/$name" -type f | wc -l)))
}
compared=0
arithmetics="fp32 fp16 bf16 tf32@a100 fp16@h100,acc=fp16 fp8-e4m3 e5m7 fp64 ort-cpu mpfr:24 mpfr:128 mpfr:300 fp16,round=sr fp32,round=rz"
for arithmetic in $arithmetics; do
    both "specials-$arithmetic" run "${specials[@]}" --all-values -a "$arithmetic" -o values.npz
    both "digits-$arithmetic" run "$model" -i "$inputs" --all-values -a "$arithmetic" -o values.npz
done
both specials audit "${specials[@]}" --allow-nonfinite-inputs -a fp32,fp16,bf16 -o report
both audit audit "$model" -i "$inputs" -a fp16,tf32,bf16@a100 --certify -o report
both schedules audit "$model" -a fp32,fp8-e4m3 --schedules -o report
both overflow overflow "$model" -i "$inputs"
both prove prove "$model"
both tolerance tolerance "$model" -i "$inputs"
both plan plan "$model" -i "$inputs" --tolerance sqnr_db=50 -o plan
both lint lint "$model"
both operators list operators
both list list fp16@h100 mpfr:128
if [ -n "${ULPSCOPE_TEST_DATA:-}" ]; then
    for name in acopf_14 mnist_8 micro_kws_qdq magika_v3_3 self_attention_ezkl t5_random_encoder; do
        folder=$ULPSCOPE_TEST_DATA/models/$name
        sample=$(find "$folder" -name 'inputs.npz' -o -name 'test_data_set_0' | sort | head -1)
        both "model-$name" audit "$folder/model.onnx" ${sample:+-i "$sample"} -a fp16,bf16@a100 -o report
    done
    for name in tinybert_1l resnet_4b_cifar10; do
        folder=$ULPSCOPE_TEST_DATA/models/$name
        sample=$(find "$folder" -name 'inputs.npz' -o -name 'test_data_set_0' | sort | head -1)
        for arithmetic in mpfr:128 fp32 fp16 tf32@h200; do
            both "run-$name-$arithmetic" run "$folder/model.onnx" ${sample:+-i "$sample"} -a "$arithmetic" -o values.npz
        done
    done
else
    echo "ULPSCOPE_TEST_DATA is unset: no real models are compared"
fi
[ $compared -gt 100 ] || fail "only $compared files were compared"
[ $failed -eq 0 ] && echo "$compared files of two processors are equal"
exit $failed
