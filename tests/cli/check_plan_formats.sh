#!/usr/bin/env bash
# plan --formats: the least error for a mean of bits, beside numpy's run of every allocation; what is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
formats=nvfp4,mxfp8,bf16
plan() { "$program" plan model.onnx -i inputs.npz --formats "$formats" -q "$@"; }
oracle() { "$python" "$source/tests/cli/plan_formats.py" "$source/examples" "$@"; }

"$program" plan "$model" -i "$inputs" --formats nvfp4,fp32 --budget bits=6 -q -o digits >out 2>err || fail "the example: $(cat err)"
shows out "(6 allowed)" "what is allowed"
"$program" audit "$model" -i "$inputs" --plan digits/plan.json -q >/dev/null || fail "audit reads what plan wrote"
while IFS='|' read -r text options; do
    # shellcheck disable=SC2086
    expect 2 "$options" "$program" plan "$model" -i "$inputs" -q $options
    shows err "$text" "$options"
done <<'TABLE'
counts the bits of --formats|--budget bits=5
is bits=MEAN|--formats nvfp4,bf16 --budget 5
the fewest that these formats have|--formats nvfp4,bf16 --budget bits=4
it takes no --arith|--formats nvfp4,bf16 --budget bits=5 -a fp16
give bf16, fp16 or fp32 beside them, here there are several|--formats nvfp4,bf16,fp32 --budget bits=5
here fp8-e4m3|--formats nvfp4,fp8-e4m3 --budget bits=5
is there twice|--formats nvfp4,nvfp4 --budget bits=5
give a --tolerance|--formats nvfp4,bf16
a budget of bits is a mean|--formats nvfp4,bf16 --budget bits=5 --cost bytes
TABLE
expect 2 "bits with scales" "$program" bits "$model" -i "$inputs" -q --formats nvfp4,bf16 --tolerance sqnr_db=20
shows err "ulpscope plan --formats" "bits with scales"

"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy for $python: no allocation is run beside"; [ "$failed" -eq 0 ] && exit 77; exit 1; }
for seed in 0 1 2; do
    oracle make "$seed" || fail "making $seed"
    for bits in 4.6 5 6 8.5 12; do
        plan --budget "bits=$bits" -o out.d >out || fail "plan of $seed at $bits: $(cat out)"
        oracle judge out.d/plan.json "$bits" || fail "the allocation of $seed at $bits"
    done
    # the figures of a run with another number of threads are the same
    plan --budget bits=5 -t 1 >one && plan --budget bits=5 -t 3 >three && cmp one three || fail "threads change the plan of $seed"
    for decibels in 13 18 22; do
        plan --tolerance "sqnr_db=$decibels" -o fewest.d >out || fail "the fewest bits for $decibels dB: $(cat out)"
        oracle fewest fewest.d/plan.json "$decibels" || fail "the fewest bits of $seed for $decibels dB: $(head -1 out)"
    done
done
exit $failed
