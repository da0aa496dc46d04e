#!/usr/bin/env bash
# ulpscope extract: parts of the example are models with exact outputs; what cannot be extracted is refused by name. Where a Python has
# onnxruntime (ULPSCOPE_TEST_PYTHON), it runs them, and parts of ULPSCOPE_TEST_DATA's networks.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

says 2 "no part" "say which part" extract "$model" -i "$inputs" -o part
expect 2 "two parts" "$program" extract "$model" embed/MatMul head/Gemm -i "$inputs" -o part
says 2 "no folder" "give --out" extract "$model" embed/MatMul -i "$inputs"
says 2 "no such node" "did you mean" extract "$model" embed/MatMull -i "$inputs" -o part
expect 2 "the wrong way round" "$program" extract "$model" head/Gemm,embed/MatMul -i "$inputs" -o part
lines err 1 "the wrong way round"
[ ! -e part/model.onnx ] || fail "a part is there that could not be extracted"

says 0 "one node" "one/model.onnx: 1 node, 1 input, 1 output" extract "$model" embed/MatMul -i "$inputs" -o one -q
python "$program" "$model" "$inputs" <<'END' || fail "on a terminal the line of progress stays where the result is said"
program, model, inputs = sys.argv[1:]
terminal, other = os.openpty()
subprocess.run([program, "extract", model, "embed/MatMul", "-i", inputs, "-o", "shown"], stdout=other, stderr=other, check=True)
os.close(other)
said = b""
try: # one read may give a part of what was written
    while part := os.read(terminal, 65536):
        said += part
except OSError: # the other end is closed
    pass
assert b"%  node " in said and b"\r\033[Kshown/model.onnx: 1 node" in said, said
END
expect 0 "the whole way" "$program" extract "$model" embed/MatMul,head/Gemm -i "$inputs" -o way -q
for part in one way; do
    for file in model.onnx inputs.npz outputs.npz outputs.json load_data.py test_data_set_0/input_0.pb test_data_set_0/output_0.pb; do
        [ -s $part/$file ] || fail "$part/$file is not there"
    done
    # The exact outputs, in the types of the model, are FP32 roundings of an exact run's: equal bits from the same inputs.
    expect 0 "$part as ONNX's test case" "$program" audit $part/model.onnx -i $part/test_data_set_0 -a fp32 -q --fail-above sqnr_db=100
    expect 0 "$part explains its own outputs" "$program" compare $part/model.onnx -i $part/inputs.npz $part/outputs.json -a fp32
done
# The last node's output is the model's, the part being fed with values rounded to FP32: within a few of their roundings.
expect 0 "the model's own outputs" "$program" run "$model" -i "$inputs" -a mpfr:128 -o whole.npz -q
python <<'END' || fail "the outputs of the part are not the model's"
def read(path):
    with zipfile.ZipFile(path) as z:
        out = {}
        for name in z.namelist():
            data = z.read(name)
            size = struct.unpack("<H", data[8:10])[0]
            assert b"<f8" in data[:10 + size], (path, name)
            out[name] = [x[0] for x in struct.iter_unpack("<d", data[10 + size:])]
        return out
whole, way = read("whole.npz"), read("way/outputs.npz")
shared = set(whole) & set(way)
assert shared, (whole.keys(), way.keys())
for name in shared:
    rms = (sum(x * x for x in whole[name]) / len(whole[name])) ** 0.5
    # inputs rounded once (2^-24 each); the network does not magnify them a thousandfold
    assert rms > 0 and all(abs(x - y) <= rms * 1000 * 2.0 ** -24 for x, y in zip(whole[name], way[name])), name
END
if python3 -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
    parts=("$model" "$inputs" embed/MatMul "$model" "$inputs" embed/MatMul,head/Gemm)
    while read -r network part long; do # three take over two hundred seconds: long tests have them, and the last two rows their kinds in small networks
        [ -z "$long" ] || [ -n "${ULPSCOPE_TEST_LONG:-}" ] || continue
        folder=${ULPSCOPE_TEST_DATA:-none}/$network
        [ ! -e "$folder/model.onnx" ] || parts+=("$folder/model.onnx" "$folder/inputs.npz" "$part")
    done <<'END'
pretrained/ppocr4_det p2o.Conv.20,p2o.Clip.32 long
pretrained/smart_turn conv1d_1_QuantizeLinear,node_Add_12 long
pretrained/silero_vad_sequence /Relu_2,/recurrent/LSTM
pretrained/plcmos Concat_43,LeakyRelu_62 long
models/nanogpt_4l /h.0/ln_2/Sub,/h.0/ln_2/Sqrt
models/mnist_8 Convolution28,ReLU32
models/micro_kws_qdq Relu__5:0_QuantizeLinear,micro_kws/average_pooling2d/AvgPool
END
    expect 0 "parts in ONNX Runtime" python3 "$source/lab/compare_extract.py" "$program" "${parts[@]}"
else
    echo "no Python with onnx and onnxruntime: parts are not run by ONNX Runtime"
fi
exit $failed
