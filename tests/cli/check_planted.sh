#!/usr/bin/env bash
# Faults in scales, planted in ten networks: lint names what stands in the file, audit beside the float network what it costs, scales the outlier. Beside networks in which a
# product is FP16 audit names the Cast or the product, whichever costs most.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: nothing is planted"; exit 77; }

# plant SEED FAULT: the files, and the number of the product in `at`
plant() { at=$(python3 "$source/tests/cli/planted_scales.py" "$source/examples" . "$1" "$2") || fail "planting $2 $1"; }
look() { "$program" "$@" -q >out 2>err; }

for seed in 0 1 2 3 4 5 6 7 8 9; do
    plant "$seed" none
    look lint quantised.onnx
    ! grep -q "scale-" out || fail "network $seed without a fault: $(head -1 out)"
    for fault in nan:scale-nan power:scale-off axis:scale-axis; do
        plant "$seed" "${fault%:*}"
        look lint quantised.onnx
        [[ $(head -1 out) == *"${fault#*:}"*"(dequantize$at)"* ]] || fail "network $seed, ${fault%:*}: lint says $(head -1 out)"
    done
    plant "$seed" nan
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx
    [[ $(head -2 out) == *"product$at"* ]] || fail "network $seed, nan: audit says $(head -2 out)"
    plant "$seed" stored
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx
    [[ $(head -2 out) == *"quantised weights of node"*"dequantize$at"* ]] || fail "network $seed, stored: audit says $(head -2 out)"
    plant "$seed" outlier
    look scales float.onnx -i inputs.npz -a bf16,factor=nvfp4
    shows out "Channel 7 is to blame" "network $seed, outlier"
    look audit float.onnx -i inputs.npz -a bf16,factor=nvfp4
    [[ $(tr -s ' \n' ' ' <out) == *"channel 7 is "*" times as large as the median"* ]] || fail "network $seed, outlier: audit says nothing of channel 7"
done
python3 "$source/tests/cli/planted_borders.py" "$program" >out || fail "borders beside an original: $(grep -a MISSED out; tail -1 out)"
exit $failed
