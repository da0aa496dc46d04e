#!/usr/bin/env bash
# Faults in scales, planted in ten networks: lint names what stands in the file, audit beside the float network what it costs, scales the outlier. Beside networks in which a
# product is FP16 audit names the Cast or the product, whichever costs most. Then decisions that a planted rounding has moved (planted_decisions.py).
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
    look lint quantised.onnx --json lint.json
    fields lint.json 'not any(f["rule"].startswith("scale-") for f in r["findings"])' "network $seed without a fault"
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx --json none.json
    fields none.json 'not r["stored_faults"] and "quantise the original" not in r["lanes"][0]["verdict"]' "network $seed without a fault"
    for fault in nan:scale-nan power:scale-off axis:scale-axis; do
        plant "$seed" "${fault%:*}"
        look lint quantised.onnx --json lint.json
        fields lint.json "[(f['rule'], f['node']) for f in r['findings'] if f['rule'].startswith('scale-')] == [('${fault#*:}', 'dequantize$at')]" "network $seed, ${fault%:*}"
    done
    for fault in "power:f['loose'] and 'summed' not in f" "axis:(f['loose'], f['axis'], f['summed']) == (0, 1, 0)"; do
        plant "$seed" "${fault%%:*}"
        for beside in "" "--reference-model float.onnx"; do
            look audit quantised.onnx -i inputs.npz -a fp32 $beside --json report.json
            fields report.json "([(f['value'], f['dequantizer'], f['reader'], ${fault#*:}) for f in r['stored_faults']] == [('w$at', 'dequantize$at', 'product$at', True)]
                and 'w$at' in r['lanes'][0]['verdict'])" "network $seed, ${fault%%:*} $beside"
        done
        python "$at" "$gain" <<'END' || fail "network $seed, ${fault%%:*}: quantised again"
report = json.load(open("report.json"))
pair = next(p for p in report["lanes"][0]["qdq_pairs"] if p["value"] == "w" + sys.argv[1])
# the units' FP32 sums are 80 dB finer than the quantisers' errors, so that a hundredth of a dB holds
sys.exit(not (len(report["stored_faults"]) == 1 and abs(pair["blocks_db"] - float(sys.argv[2])) <= 0.01))
END
    done
    plant "$seed" nan
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx --json report.json
    fields report.json "r['lanes'][0]['first_born'] == 'product$at'" "network $seed, nan"
    plant "$seed" stored
    look audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx --json report.json
    fields report.json "max(r['lanes'][0]['qdq_pairs'], key=lambda p: p['gained_db'])['dequantizer'] == 'dequantize$at' and ' dequantize$at ' in r['lanes'][0]['verdict']" "network $seed, stored"
    plant "$seed" outlier
    look quantise float.onnx -i inputs.npz -a bf16,factor=nvfp4 --json choices.json
    fields choices.json '(r["tensors"][0]["name"], r["tensors"][0]["outlier"]) == ("x0", 7) and r["tensors"][0]["outlier_ratio"] > 8' "network $seed, outlier"
    look audit float.onnx -i inputs.npz -a bf16,factor=nvfp4 --json report.json
    fields report.json '[s["outlier"] for s in r["lanes"][0]["scaled"] if s["name"] == "x0" and s["outlier_ratio"] > 8] == [7]' "network $seed, outlier: audit"
    look doctor float.onnx -i inputs.npz -a bf16,factor=nvfp4 --no-plan --json doctor.json
    fields doctor.json "(r['causes'][0]['fix'].startswith('ulpscope fix float.onnx -i inputs.npz -a bf16,factor=nvfp4 --only outlier-channel -o fixed.onnx # ')
        and 'channel 7 is ' in r['causes'][0]['fix'])" "network $seed, outlier: doctor"
done
# fix makes the edit, which is none for a network without an outlier
for fault in outlier none; do
    plant 1 $fault
    look fix float.onnx -i inputs.npz -a bf16,factor=nvfp4 --tolerance sqnr_db=10 --best -o fixed.onnx --json fix.json
    made='[(e["node"], e["done"], e["change"]) for e in r["edits"] if e["rule"] == "outlier-channel"]'
    [ $fault = none ] || fields fix.json "$made"' == [("product0", "made", None)] and "channel 7 is" in r["edits"][0]["text"]' "fix, outlier"
    [ $fault = outlier ] || fields fix.json "not $made" "fix without an outlier"
done
python3 "$source/tests/cli/planted_borders.py" "$program" >out || fail "borders beside an original: $(grep -a MISSED out; tail -1 out)"
python3 "$source/tests/cli/planted_decisions.py" "$program" >out || fail "decisions that a rounding has moved: $(cat out)"
exit $failed
