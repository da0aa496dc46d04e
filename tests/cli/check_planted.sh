#!/usr/bin/env bash
# Faults in scales, planted in ten networks: lint names what stands in the file, audit beside the float network what it costs, scales the outlier. Beside networks in which a
# product is FP16 audit names the Cast or the product, whichever costs most.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: nothing is planted"; exit 77; }

# plant SEED FAULT: the files, the number of the product in `at`, and what quantising its weights again gains
plant() {
    python3 "$source/tests/cli/planted_scales.py" "$source/examples" . "$1" "$2" >planted || fail "planting $2 $1"
    read -r at gain <planted
}
look() { "$program" "$@" -q >out 2>err; }

for seed in 0 1 2 3 4 5 6 7 8 9; do
    plant "$seed" none
    look lint quantised.onnx
    ! grep -q "scale-" out || fail "network $seed without a fault: $(head -1 out)"
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx --json none.json
    ! grep -q "quantise the original" out || fail "network $seed without a fault: audit says $(head -2 out)"
    shows none.json '"stored_faults": []' "network $seed without a fault"
    for fault in nan:scale-nan power:scale-off axis:scale-axis; do
        plant "$seed" "${fault%:*}"
        look lint quantised.onnx
        [[ $(head -1 out) == *"${fault#*:}"*"(dequantize$at)"* ]] || fail "network $seed, ${fault%:*}: lint says $(head -1 out)"
    done
    for fault in "power:the scale is at least twice what the largest value asks for" "axis:lie along axis 1, where node"; do
        plant "$seed" "${fault%%:*}"
        for beside in "" "--reference-model float.onnx"; do
            look audit quantised.onnx -i inputs.npz -a fp32 $beside --json report.json
            text=$(tr -s ' \n' ' ' <out)
            [[ $text == *"locks of w$at ("*"dequantize$at) "*"${fault#*:}"* ]] || fail "network $seed, ${fault%%:*} $beside: audit says $(head -2 out)"
        done
        python3 - "$at" "$gain" <<'END' || fail "network $seed, ${fault%%:*}: quantised again"
import json
import sys

report = json.load(open("report.json"))
pair = next(p for p in report["lanes"][0]["qdq_pairs"] if p["value"] == "w" + sys.argv[1])
# the units' FP32 sums are 80 dB finer than the quantisers' errors, so that a hundredth of a dB holds
sys.exit(not (len(report["stored_faults"]) == 1 and abs(pair["blocks_db"] - float(sys.argv[2])) <= 0.01))
END
    done
    plant "$seed" nan
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx
    [[ $(head -2 out) == *"product$at"* ]] || fail "network $seed, nan: audit says $(head -2 out)"
    plant "$seed" stored
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx
    [[ $(head -2 out) == *"quantised weights of node"*"dequantize$at"* ]] || fail "network $seed, stored: audit says $(head -2 out)"
    plant "$seed" outlier
    look scales float.onnx -i inputs.npz -a bf16,factor=nvfp4 --json choices.json
    shows out "Channel 7 is to blame" "network $seed, outlier"
    look scales smooth.onnx -i inputs.npz -a bf16,factor=nvfp4 --no-choices --json smooth.json
    python3 - <<'END' || fail "network $seed, outlier: smooth scales"
import json
import sys

report = json.load(open("choices.json"))
choice = [c for c in report["choices"] if c["words"].startswith("smooth scales in front of product0 (")]
# gains of 4.0 to 7.5 dB; and the same bits as the graph that Python has written
sys.exit(not (len(choice) == 1 and choice[0]["gain_db"] >= 3 and choice[0]["sqnr_db"] == json.load(open("smooth.json"))["sqnr_db"]))
END
    look audit float.onnx -i inputs.npz -a bf16,factor=nvfp4
    [[ $(tr -s ' \n' ' ' <out) == *"channel 7 is "*" times as large as the median"* ]] || fail "network $seed, outlier: audit says nothing of channel 7"
    "$program" doctor float.onnx -i inputs.npz -a bf16,factor=nvfp4 --no-plan -q >out 2>err
    [[ $(tr -s ' \n' ' ' <out) == *" do ulpscope fix float.onnx -i inputs.npz -a bf16,factor=nvfp4 --only outlier-channel -o fixed.onnx # "*"channel 7 is "* ]] || fail "network $seed, outlier: doctor names no smooth scales: $(cat out err)"
done
# fix makes the edit, which is none for a network without an outlier
for fault in outlier none; do
    plant 1 $fault
    look fix float.onnx -i inputs.npz -a bf16,factor=nvfp4 --tolerance sqnr_db=10 --best -o fixed.onnx
    tr -s ' \n' ' ' <out >text
    [ $fault = none ] || shows text "edit product0 (outlier-channel): its channels are divided by powers of two that its weights are multiplied by; channel 7 is" "fix, outlier"
    [ $fault = none ] || shows text "; the same in exact arithmetic" "fix, outlier"
    [ $fault = outlier ] || ! grep -q "outlier-channel" text || fail "fix without an outlier: $(cat out)"
    look scales float.onnx -i inputs.npz -a bf16,factor=nvfp4
    [ $fault = outlier ] || ! grep -q "smooth scales" out || fail "scales without an outlier: $(cat out)"
done
python3 "$source/tests/cli/planted_borders.py" "$program" >out || fail "borders beside an original: $(grep -a MISSED out; tail -1 out)"
exit $failed
