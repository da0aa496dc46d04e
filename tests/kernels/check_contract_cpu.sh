#!/bin/sh
# check_contract and check_scaled again with instruction sets switched off, for what asks the processor by itself (packing).
set -e
for disabled in avx512 avx2; do
    echo "without $disabled"
    ULPSCOPE_DISABLE_CPU=$disabled ${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/check_contract"
    ULPSCOPE_DISABLE_CPU=$disabled ${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/check_scaled"
done
