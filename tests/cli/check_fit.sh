#!/usr/bin/env bash
# ulpscope fit: arrays in files, the answer, exit codes, probes and JSON. The products are recorded (tests/data/unit).
. "${top_srcdir:-.}/tests/support/program.sh"
products=$source/tests/data/unit/h200_probes.npz
half() { "$program" fit "$products:f16.16x16x512.a" "$products:f16.16x16x512.b" "$products:f16.16x16x512.c" "$@"; }

expect 0 "a recorded product" half --json fit.json
shows out "These bits are fp16: all 256 elements are equal." "a recorded product"
shows out "Order: 64 pairs of products, read without candidates: blocks of 16 products" "a recorded product"
shows fit.json '"consistent": 1' "its JSON"
expect 1 "another GPU" half --gpu v100
shows out "None of " "another GPU"
expect 0 "a probe" half --gpu h200 --probe probe.npz --probe-shape 8x8x64
shows out "The probe probe.npz shows the order of the sum" "a probe"
[ -s probe.npz ] || fail "a probe is written"

# refuse CODE TEXT COMMAND...: in one line
refuse() {
    local code=$1 text=$2
    shift 2
    expect "$code" "$text" "$@"
    shows err "$text" "$*"
}
refuse 2 "no such array" "$program" fit "$products:x" "$products:y" "$products:z"
refuse 2 "expected three files" "$program" fit "$products"
refuse 2 "transposed" half --transpose a
refuse 2 "there is none of that name" half --gpu h300
refuse 2 "--probe-shape 8x8" half --probe-shape 8x8
refuse 2 "--transpose c" half --transpose c
refuse 3 "missing.npz" "$program" fit missing.npz
exit $failed
