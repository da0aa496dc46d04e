#!/usr/bin/env bash
# scripts/make_networks.py and make_decoder.py: what they write is a model, runs here, and gives what ONNX Runtime gives.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

python3 -c 'import numpy' 2>/dev/null || { echo "python3 has no numpy"; exit 77; }
compare=$(python3 -c 'import onnx, onnxruntime' 2>/dev/null && echo yes)
[ "$compare" ] || echo "python3 has no onnx or no onnxruntime: values are not compared"
cat >compare.py <<'EOF'
import sys
import numpy, onnx, onnxruntime
folder = sys.argv[1]
onnx.checker.check_model(f"{folder}/model.onnx", full_check=True)
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
ours = numpy.load(f"{folder}/out.npz")
for item, theirs in zip(session.get_outputs(), session.run(None, dict(numpy.load(f"{folder}/inputs.npz")))):
    rms = numpy.sqrt(numpy.mean(theirs ** 2))
    error = numpy.sqrt(numpy.mean((ours[item.name] - theirs) ** 2))
    # FP32's roundings alone come to some 1e-6 in networks of this depth; a wrong operator to 0.1 and more
    if not (rms > 0 and error <= 1e-4 * rms):
        sys.exit(f"{item.name}: rms {rms}, differs by {error}")
EOF
check() { # NAME FOLDER: the model's outputs
    expect 0 "$1 is run" "$program" run "$2/model.onnx" -i "$2/inputs.npz" -a fp32 -q -o "$2/out.npz"
    [ -z "$compare" ] || expect 0 "$1 beside ONNX Runtime" python3 compare.py "$2"
}
for name in rtdetr-r101 resnet50 yolov8s vit-b16 clip-l14-text sd15-unet depthwise wave looped; do
    expect 0 "$name is written" python3 "$source/scripts/make_networks.py" "$name" --model "$name" --small --batch 2
    shows out "GMAC" "$name is written"
    check "$name" "$name"
done
expect 0 "a decoder is written" python3 "$source/scripts/make_decoder.py" decoder --model tiny --weights fp32 --past 2
expect 0 "a decoder is run" "$program" run decoder/model.onnx -i decoder/inputs.npz -a fp32 -q -o decoder/out.npz
exit $failed
