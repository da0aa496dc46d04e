#!/usr/bin/env bash
# Attention in tiles, as an H200's kernels returned it: the sample that lies here, and with $ULPSCOPE_TEST_DATA all that was recorded, where three cases
# of 160 are known to be below their limits.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: attention is not compared"; exit 77; }
python3 "$source/lab/compare_attention.py" "$program" "$source/tests/data/unit/h200_attention.npz" || fail "attention is not the recorded one"
# the same written out as nodes, and as MultiHeadAttention of packed heads
python3 "$source/lab/compare_attention.py" "$program" "$source/tests/data/unit/h200_attention_short.npz" >short.txt || fail "few keys are not the recorded ones: $(cat short.txt)"
grep -q "^cudnn  *8  100.00%  100.00%" short.txt || fail "cuDNN of few keys has not all bits: $(cat short.txt)"
for form in written multihead; do
    python3 "$source/lab/compare_attention.py" "$program" "$source/tests/data/unit/h200_attention.npz" --form "$form" >form.txt || fail "attention as $form is not the recorded one: $(cat form.txt)"
done
for operator in attention groupqueryattention multiheadattention; do python3 -m zipfile -e "$source/tests/data/microsoft/$operator.zip" cases; done
# equal bits for any number of threads and any instruction set; masks, a past and grouped heads among them
for case in multiheadattention multiheadattention_past attention_pairs groupqueryattention_later groupqueryattention_window groupqueryattention_sink; do
    folder=cases/test_$case
    for kernel in flash2 cudnn efficient math; do
        for setting in 1: 2: 2:avx512 2:avx512,avx2; do
            ULPSCOPE_DISABLE_CPU=${setting#*:} "$program" run "$folder/model.onnx" -i "$folder/test_data_set_0" -a "bf16,attention=$kernel" -t "${setting%:*}" -q -o "out_$setting.npz" ||
                fail "$case in $kernel"
            cmp -s out_1:.npz "out_$setting.npz" || fail "$case in $kernel: other bits with $setting"
        done
    done
done
for bad in fp32,attention=flash2 fp16,acc=fp16,attention=cudnn fp16,unit=none,attention=math fp8-e4m3,attention=flash2; do
    says 2 "$bad" "attention=" list "$bad"
done
# what a runtime's name brings goes where it cannot be, what is said is refused; how others cut k does not matter
expect 0 "a runtime without a matrix unit" "$program" list torch:fp16,unit=none
grep -qx "fp16,unit=none,epilogue=rounded,constants=ieee" out || fail "attention= and recurrence= are not gone: $(head -3 out)"
expect 2 "said as well" "$program" list torch:fp16,unit=none,attention=cudnn
folder=cases/test_multiheadattention
for cut in '' ,split-k=4 ,promote=32; do
    "$program" run "$folder/model.onnx" -i "$folder/test_data_set_0" -a "bf16,attention=cudnn$cut" -q -o "cut$cut.npz" || fail "attention with $cut"
    cmp -s cut.npz "cut$cut.npz" || fail "attention is another with $cut"
done
says 0 "a kernel is described" "keys in tiles of 128" list bf16,attention=cudnn
exit $failed
