#!/usr/bin/env bash
# Inputs as people have them: without names, in several files, of other types that hold the same, beside constants of the model. Each gives the bits of the named ones, and is
# said in a note; what could be another is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: skipped"; exit 77; }
python <<'END' || fail "the files"
random = np.random.RandomState(3)
x, ids, w = random.randint(-9, 9, (4, 6)).astype("f4"), np.array([2, 0, 3, 1]), random.randn(6, 5).astype("f4")
write_model("model.onnx", [node("Gather", "x ids", "g", axis=0), node("MatMul", "g w", "y")], {"x": (4, 6), "ids": (4,)}, {"y": (4, 5)}, {"w": w}, types={"ids": INT64})
write_model("cast.onnx", [node("Cast", f"in{i}", f"y{i}", to=1) for i in range(4)], {f"in{i}": (2,) for i in range(4)}, {f"y{i}": (2,) for i in range(4)},
            types={"in0": 7, "in1": 6, "in2": 9, "in3": 2})
write_model("halves.onnx", [node("Cast", f"h{i}", f"y{i}", to=1) for i in range(3)], {f"h{i}": (2,) for i in range(3)}, {f"y{i}": (2,) for i in range(3)},
            types={f"h{i}": 10 for i in range(3)})
np.savez("thirds.npz", **{f"h{i}": np.array([1 / 3, i], "f4") for i in range(3)})
np.savez("named.npz", x=x, ids=ids)
np.savez("numbers.npz", x, ids)
np.savez("input_.npz", input_1=x, input_2=ids.astype("u1"))
np.savez("turned.npz", **{"_1": ids.astype("i4"), "_0": x.astype("i8")})
np.savez("weights.npz", x, ids.astype("f4"), w)
np.savez("more.npz", x=x, ids=ids, weight=w)
np.savez("swapped.npz", ids, x)
np.savez("foreign.npz", picture=x, order=ids)
np.savez("other_weights.npz", x, ids, w + 1)
np.savez("half.npz", x=x, ids=ids + 0.5)
np.savez("big.npz", x=np.where(x == x[0, 0], 2 ** 24 + 1, x.astype("i8")), ids=ids)
np.savez("exact.npz", np.array([3.0, -4.0]), np.array([1 << 31, 5]) - 1, np.array([0, 1]), np.array([True, False]))
np.savez("wide.npz", np.array([3.0, -4.0]), np.array([1 << 31, 5]), np.array([0, 1]), np.array([True, False]))
np.savez("two.npz", np.array([3.0, -4.0]), np.array([1, 5]), np.array([0, 2]), np.array([True, False]))
np.savez("minus.npz", np.array([3.0, -4.0]), np.array([1, 5]), np.array([0, 1]), np.array([-1, 1], "i1"))
np.savez("nan.npz", np.array([3.0, np.nan]), np.array([1, 5]), np.array([0, 1]), np.array([1, 1]))
for folder, names in (("by_name", "x ids"), ("by_number", "arr_0 arr_1"), ("by_nothing", "apple pear")):
    os.mkdir(folder)
    for name, array in zip(names.split(), (x, ids)):
        np.save(f"{folder}/{name}.npy", array)
open("list.txt", "w").write("by_nothing/apple.npy\nby_nothing/pear.npy\n")
END
"$program" run model.onnx -i named.npz -a fp16 -o wanted.npz -q || fail "named"
# gives NAME NOTE INPUTS...: the outputs of named.npz, and the note
gives() {
    local name=$1 note=$2
    shift 2
    expect 0 "$name" "$program" run model.onnx "$@" -a fp16 -o got.npz
    [ -z "$note" ] || shows err "ulpscope: $note" "$name"
    python3 -c 'import numpy as np; a, b = np.load("wanted.npz"), np.load("got.npz"); assert all((a[k] == b[k]).all() for k in a)' || fail "$name: other outputs"
    expect 0 "$name, quiet" "$program" run model.onnx "$@" -a fp16 -o got.npz -q
    lines err 0 "$name, quiet"
}
gives "--input" "" --input named.npz
gives "numpy's own names" "by position: 'arr_0' is input x, 'arr_1' is input ids" -i numbers.npz
gives "from 1 on" "input ids: UINT8 values taken as INT64, which holds each" -i input_.npz
gives "in another order" "by position: '_0' is input x, '_1' is input ids" -i turned.npz
gives "integers for floats" "input x: INT64 values taken as FLOAT, which holds each" -i turned.npz
gives "weights behind them" "1 array is a constant of the model, and is left out" -i weights.npz
gives "floats for integers" "input ids: FLOAT values taken as INT64, which holds each" -i weights.npz
gives "weights beside them" "1 array is a constant of the model, and is left out" -i more.npz
gives "a folder of names" "" -i by_name
gives "a folder of numbers" "by position: 'arr_0' is input x" -i by_number
gives "two files" "by position: 'apple' is input x, 'pear' is input ids" -i by_nothing/apple.npy -i by_nothing/pear.npy
gives "two files by name" "" -i by_name/ids.npy -i by_name/x.npy
gives "a list" "by position: 'apple' is input x, 'pear' is input ids" -i list.txt

expect 0 "several rounded" "$program" run halves.onnx -i thirds.npz -a fp16 -o got.npz
shows err "input h0: FLOAT values rounded to FLOAT16, as the model declares" "several rounded"
shows err "2 more inputs likewise" "several rounded"
[ "$(grep -c "rounded to FLOAT16" err)" = 1 ] || fail "each input has a line"

# refuses NAME TEXT INPUTS...
refuses() {
    local name=$1 text=$2
    shift 2
    says 3 "$name" "$text" run model.onnx "$@" -q
}
refuses "another order" "input 'x': the model declares FLOAT[4,6], the array is INT64[4]; 'arr_0' is taken for it by its position" -i swapped.npz
refuses "other names" "input 'x' (FLOAT[4,6]) is not among the arrays given: 'picture', 'order'" -i foreign.npz
refuses "a folder of other names" "input 'x' (FLOAT[4,6]) is not among the arrays given: 'apple', 'pear'" -i by_nothing
refuses "other weights" "input 'x' (FLOAT[4,6]) is not among the arrays given: 'arr_0', 'arr_1', 'arr_2'" -i other_weights.npz
refuses "fractions for integers" "input 'ids': the model declares INT64, which does not hold element 0 of the DOUBLE array, 2.5" -i half.npz
refuses "integers that FLOAT has not" "of the INT64 array, 16777217" -i big.npz
refuses "one array" "is one array, and the model has 2 inputs" -i by_name/x.npy
refuses "three arrays" "are not as many arrays, and the model has 2 inputs" -i by_name/x.npy -i by_name/ids.npy -i by_name/x.npy
refuses "arrays beside a sample" "arrays beside samples, and the model has 2 inputs" -i named.npz -i by_name/x.npy -i by_name/ids.npy

expect 0 "each type" "$program" run cast.onnx -i exact.npz -a fp32 -o cast.npz -q
python3 -c 'import numpy as np; y = np.load("cast.npz"); assert [y[k].tolist() for k in sorted(y)] == [[3, -4], [2147483648, 4], [0, 1], [1, 0]], [y[k] for k in y]' || fail "each type"
for wrong in wide:INT32 two:BOOL minus:UINT8 nan:INT64; do
    says 3 "$wrong" "the model declares ${wrong#*:}, which does not hold element" run cast.onnx -i "${wrong%:*}.npz" -q
done

# Every command that reads samples; the one that streams them.
for command in "audit -a fp16" "doctor -a fp16 --no-plan" "overflow" "overflow --for trt10@a100" "plan -a fp16 --out plan" "fix -a fp16 -o fixed.onnx" "tolerance -a fp16" "prove" "quantise -a bf16,factor=fp8-e4m3" \
    "extract y --out part" "lint" "quantise --formats nvfp4,fp32 --tolerance sqnr_db=20" "compare wanted.npz"; do
    set -- $command
    "$program" "$1" model.onnx "${@:2}" -i named.npz >wanted.txt 2>err
    wanted=$?
    expect $wanted "$command" "$program" "$1" model.onnx "${@:2}" --input turned.npz
    shows err "ulpscope: by position: '_0' is input x, '_1' is input ids" "$command"
    for text in out wanted.txt; do sed -E 's/turned/named/g; s/[0-9.]+ s\b//g; s/ +/ /g' $text >$text.plain; done
    cmp -s out.plain wanted.txt.plain || fail "$command: $(diff out.plain wanted.txt.plain | head -4)"
done
# Recorded outputs without names, and two of them; those of another number are refused as before.
python3 -c '
import numpy as np
y = np.load("wanted.npz")["y"]
np.savez("recorded.npz", y)
np.savez("three.npz", y, y, y)
casts = np.load("cast.npz")
np.savez("casts.npz", **{f"output_{i}": casts[f"y{i}"] for i in range(4)})'
for command in "compare model.onnx wanted.npz" "doctor model.onnx -a fp16 --no-plan --recorded wanted.npz"; do
    set -- ${command/wanted/recorded}
    "$program" $command -i named.npz -q >wanted.txt 2>err
    expect $? "$command" "$program" "$@" -i named.npz
    shows err "ulpscope: by position: 'arr_0' is output y" "$command"
    # however lines break
    for text in out wanted.txt; do sed -E 's/recorded/wanted/g; s/[0-9.]+ s\b//g' $text | tr -s '\n ' '  ' >$text.plain; done
    cmp -s out.plain wanted.txt.plain || fail "$command: $(diff out.plain wanted.txt.plain | head -4)"
done
"$program" compare cast.onnx casts.npz -i exact.npz -a fp32 >out 2>err || fail "four outputs: $(cat err)"
shows err "by position: 'output_0' is output y0, 'output_1' is output y1, 'output_2' is output y2, 'output_3' is output y3" "four outputs"
says 3 "three outputs" "no array has the name of a tensor that the graph computes" compare model.onnx three.npz -i named.npz -q

mkdir stream && cp turned.npz weights.npz stream
expect 0 "streamed" "$program" overflow model.onnx -i stream -q
expect 0 "several of these" "$program" audit model.onnx -a fp16 -i stream -q
for target in ort trt8 trt10@a100 trt torch torch-compile ort-cuda ort-webgpu ort-dml openvino-cpu openvino-gpu coreml-ane coreml-gpu ort-coreml qnn; do
    expect 0 "--for $target" "$program" overflow "$model" --for $target --no-remedies -q
done
expect 2 "--for and --format" "$program" overflow "$model" --for trt -f fp16
expect 2 "--for nothing" "$program" overflow "$model" --for nothing
exit $failed
