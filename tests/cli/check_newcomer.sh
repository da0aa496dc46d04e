#!/usr/bin/env bash
# Mistakes that people make in their first ten minutes, and what they are told: what was wrong, and what to do. Each row: the exit code, words of
# the sentence (the last line but the reference to --help), and the command line after `ulpscope`.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
cp "$model" model.onnx
cp "$inputs" inputs.npz
printf 'PK\003\004not much' >model.pt
echo "no model" >notes.txt
mkdir models empty && cp "$model" models
printf 'ftrt\0\0\0\0' >model.engine
printf '\012\005node1' >graph.pb
: >out && : >before # what is there beside what is printed stays as it is: no part of an output
ls -R >before
rows=0
while IFS='|' read -r code words line; do
    [ -n "$code" ] || continue
    rows=$((rows + 1))
    eval "set -- $line"
    "$program" "$@" >out 2>&1 </dev/null
    status=$?
    said=$(grep -v "^Try \`ulpscope\|^ulpscope: no --inputs\|^ulpscope: set open" out | head -1)
    [ $status = "$code" ] || fail "ulpscope $line: exit code $status, expected $code: $said"
    case $said in *"$words"*) ;; *) fail "ulpscope $line: '$said' does not say '$words'" ;; esac
    [ ${#said} -le 700 ] || fail "ulpscope $line: ${#said} characters"
    [ "$(ls -R)" = "$(cat before)" ] || fail "ulpscope $line: leaves $(ls -R | diff before - | tr '\n' ' ')"
done <<'END_ROWS'
2|model.onnx is no command: say what to do with the model, as ulpscope doctor model.onnx|model.onnx
2|there is no command 'adit' (did you mean "audit"|adit model.onnx
2|which model? Give the path of an .onnx file|audit
0|Usage: ulpscope audit|help audit
3|modle.onnx: cannot open: No such file|audit modle.onnx
3|models: a folder, expected an ONNX file (models/model.onnx?)|audit models
3|is a zip archive: an .npz holds inputs (--inputs)|audit inputs.npz
3|what torch.save wrote is exported with torch.onnx.export first|audit model.pt
3|is not valid ONNX protobuf|audit notes.txt
2|unknown base "float16" (did you mean "fp16"?)|audit model.onnx -a float16
2|"int8" is no arithmetic: it takes scales|audit model.onnx -a int8
2|as bf16,factor=nvfp4, or for weights alone bf16,weights=nvfp4|audit model.onnx -a nvfp4
2|(did you mean "fp8-e4m3"?)|audit model.onnx -a fp8
2|"trt" is a target, which --for takes; an arithmetic of it is trt|audit model.onnx -a trt
2|"trt10" is a target, which --for takes; an arithmetic of it is trt10:|audit model.onnx -a trt10@h100
2|unknown GPU "4090" after @ (did you mean "rtx4090"?)|audit model.onnx -a fp16@4090
2|there is no option '--precision' (did you mean "--arith"?)|audit model.onnx --precision fp16
2|there is no option '--fp16' (did you mean "--arith"?)|audit model.onnx --fp16
2|"--input-range"|prove model.onnx --range patches=0,1
3|missing.npz: cannot be read|audit model.onnx -i missing.npz
3|expected an .npz, as numpy.savez(path, NAME=array) makes|audit model.onnx -i model.onnx
2|no input has an open dimension 'N'; there are: batch|audit model.onnx --dim N=4
2|no node is called 'Softmax' (did you mean "block/attention/Softmax"?)|audit model.onnx -a fp16 --keep Softmax=fp32
2|the model has no operator 'Softmx' (did you mean "Softmax"?)|audit model.onnx -a fp16 --keep op:Softmx=fp32
2|formats without scales alone: give one|quantise model.onnx -i inputs.npz --formats bf16,fp16
2|expected METRIC=NUMBER, as sqnr_db=60 or max_abs=1e-3|plan model.onnx -i inputs.npz --tolerance 60
2|no recording: give the paths of one or more after the model|compare model.onnx -i inputs.npz
2|give the path of its layer information (trtexec --exportLayerInfo=FILE)|engine model.onnx
2|no target is called so (did you mean "trt8"|doctor model.onnx --for tensorrt
2|expected 1 to 1024|audit model.onnx -t 0
3|no file can be made in model.onnx/|audit model.onnx -o model.onnx
3|model.engine: an engine of TensorRT is no ONNX model|audit model.engine
3|graph.pb: the model is not valid ONNX protobuf|audit graph.pb
2|'model.onnx' is too much: audit takes MODEL.onnx|audit model.onnx model.onnx
3|notes.txt: line 1: no model: cannot be read|audit model.onnx -i notes.txt
3|empty: holds no sample: neither|audit model.onnx -i empty
3|.npy files, as numpy.save(path, array) makes of a picture|quantise model.onnx -i empty
3|no file can be made in notes.txt/|run model.onnx -i inputs.npz -o notes.txt/x.npz
2|unknown base "fp17" (did you mean "fp16"?)|audit model.onnx -a fp17
2|no target is called so (did you mean "trt10"|doctor model.onnx --for trt12
2|(did you mean "sqnr_db"?)|plan model.onnx -i inputs.npz -a fp16 --tolerance sqnr=40
2|--shape does not go with --inputs: its arrays have the dimensions|audit model.onnx -i inputs.npz --shape patches=2x3
3|empty/report.json: cannot open|show empty
3|notes.txt: a text of another kind, expected JSON|diff notes.txt notes.txt
2|has no format with scales, and the graph no QuantizeLinear|quantise model.onnx -a fp16
3|holds no layer of an engine: expected TensorRT's layer information|engine model.onnx notes.txt
END_ROWS
# open sizes are such as the model takes: no image of one pixel, a cache as long as it is joined with, a batch that stands second
if python 2>out <<'END'
import numpy
window = node("MaxPool", "x", "y", "pool", kernel_shape=[100, 2])
write_model("open.onnx", [window], {"x": (1, 1, "height", "width")}, ["y"])
add = [node("Concat", "past x", "all", "join", axis=1), node("Concat", "all mask", "y", "add", axis=2)]
write_model("cache.onnx", add, {"past": (1, "p", 2), "x": (1, "n", 2), "mask": (1, "total", 2)}, ["y"])
write_model("features.onnx", [node("MatMul", "x w", "y", "product")], {"x": (None, None)}, ["y"], {"w": numpy.ones((7, 3), numpy.float32)})
write_model("state.onnx", [node("Add", "x state", "y", "add")], {"x": ("batch", "time"), "state": (None, 1)}, ["y"])
write_model("part.onnx", [node("Mul", "x x", "y"), node("Slice", "y from from", "z")], {"x": (2, 4)}, ["y", "z"], {"from": numpy.zeros(1, numpy.int64)})
# text in: strings are no numbers, and what else is lacking is said with them
write_model("text.onnx", [node("StringNormalizer", "s", "t"), node("LabelEncoder", "t", "x") + block(7, "ai.onnx.ml"), node("Neg", "x", "y")], {"s": ("n",)}, ["y"],
            types={"s": 8}, domains={"ai.onnx.ml": 2})
# weights elsewhere, named on Windows
os.makedirs("weights")
open("weights/w.bin", "wb").write(numpy.arange(6, dtype="<f4").tobytes())
outside = number(1, 2) + number(1, 3) + number(2, 1) + block(8, "w") + block(13, block(1, "location") + block(2, "weights\\w.bin")) + number(14, 1)
inside = graph([node("MatMul", "x w", "y")], {"x": (1, 2)}, ["y"]) + block(5, outside)
open("windows.onnx", "wb").write(number(1, 10) + block(7, inside) + block(8, block(1, "") + number(2, 18)))
write_model("within.onnx", [node("Add", "x z", "y", "add")], {"x": ("batch", "n"), "z": ("b", "n")}, ["y"])
END
then
    for row in 'open|x[2] height = 256; x[3] width = 256' 'cache|past[1] p = 64; x[1] n = 64; mask[1] total = 128' 'features|x[0] unnamed = 1; x[1] unnamed = 7' \
        'state|x[0] batch = 1; x[1] time = 64; state[0] unnamed = 1'; do
        "$program" audit "${row%%|*}.onnx" >out 2>&1 || fail "ulpscope audit ${row%%|*}.onnx: $(cat out)"
        grep -qF "; ${row#*|}" out || fail "sizes of ${row%%|*}: $(cat out)"
    done
    "$program" run state.onnx --dim 'state[0]=3' --dim time=5 >out 2>&1 || fail "a size by its place: $(cat out)"
    # of the graph alone, too: every size is given, so that none is assumed
    "$program" lint state.onnx --dim 'state[0]=3' --dim time=5 --dim batch=1 --json sizes.json >out 2>&1 || fail "sizes for lint: $(cat out)"
    grep -q '"assumed"' sizes.json && fail "lint assumes sizes that were given: $(cat sizes.json)"
    # an output that is empty, beside one that is not: nothing that is kept makes it comparable
    tells 0 "an empty output" 'r["lanes"][0]["do"] == "give inputs for which output z has something to compare"' audit part.onnx -a fp16
    says 4 "strings" "text.onnx: 3 things this version does not compute:" audit text.onnx
    says 4 "what to do about them" "cut it off (onnx.utils.extract_model), or export tensors (hummingbird)" audit text.onnx
    tells 0 "strings, for lint" '"\n" not in r["unplanned"] and "LabelEncoder" in r["unplanned"] and "but not every rule could look" in r["verdict"]' lint text.onnx
    expect 0 "weights named on Windows" "$program" run windows.onnx -o windows.npz
    # a symbol is listed though another one contains it
    "$program" lint within.onnx --json sizes.json >out 2>&1 || fail "sizes of within: $(cat out)"
    grep -q '"assumed": "batch, n, b"' sizes.json || fail "what lint assumes: $(cat sizes.json)"
    for command in run lint audit prove doctor overflow; do
        says 2 "$command, a dimension that is none" "no input has an open dimension 'state[1]'; there are: batch (x[0]) time (x[1]) state[0]" $command state.onnx --dim 'state[1]=3'
    done
    for command in run audit prove doctor overflow; do
        "$program" $command open.onnx -q --dim height=1 >out 2>&1
        grep -q 'larger than .*; open sizes, set with --dim, --shape or --inputs: x\[2\] height = 1; x\[3\] width = ' out ||
            fail "ulpscope $command open.onnx: $(cat out)"
        "$program" $command open.onnx -q --dim height=100 --dim width=2 >out 2>&1 || fail "with sizes: $(cat out)"
    done
else
    grep -q "numpy" out || fail "no model with open sizes: $(cat out)"
fi
[ $rows -ge 40 ] || fail "only $rows rows were read"
[ $failed = 0 ] && echo "$rows mistakes"
exit $failed
