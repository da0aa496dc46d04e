#!/bin/sh
# What `ulpscope overflow` says of small networks against what overflowed on a real H200 (lab/compare_overflow.py, which runs all of them):
# every overflow is found, and what is one here alone is named in doc/overflow.md.
[ -n "${ULPSCOPE_TEST_DATA:-}" ] || { echo "ULPSCOPE_TEST_DATA is unset: skipped"; exit 77; }
command -v python3 >/dev/null || { echo "there is no python3: skipped"; exit 77; }
exec python3 "${top_srcdir:-.}/lab/compare_overflow.py" "${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}" "$ULPSCOPE_TEST_DATA" --list --recall 1 --precision 0.98 \
    --models acopf_14,magika_v3_3,micro_kws_fp32,mnist_8,mnist_fp16,residual_block,self_attention_ezkl,vit_pgd_2_3_16
