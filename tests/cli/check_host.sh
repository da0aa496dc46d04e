#!/usr/bin/env bash
# The program on a hostile host: processor modes, files, streams and names that others have set up.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# A library linked with -ffast-math sets the processor's mode for whoever loads it.
if command -v cc >/dev/null && ! grep -q __asan_init "$program_folder"/.libs/ulpscope "$program" 2>/dev/null; then
    cat >mode.c <<'C'
#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif
__attribute__((constructor)) static void set_mode(void)
{
    fesetround(FE_UPWARD);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}
C
    if cc -shared -fPIC mode.c -o mode.so -lm 2>/dev/null; then
        for preload in "" "$work/mode.so"; do
            LD_PRELOAD=$preload expect 0 "audit, preloaded '$preload'" "$program" audit "$model" -a fp32,fp16 --val-range -1e-38,3e-38 -q
            grep -v seconds out >"${preload:+pre}loaded"
        done
        cmp -s loaded preloaded || fail "a preloaded library changes what an audit says"
    fi
fi

[ $failed -eq 0 ] && echo "all checks of the host passed"
exit $failed
