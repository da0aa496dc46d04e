#!/usr/bin/env bash
# No function of the machine's libm whose last bit differs between machines: what the object files of the library and the program
# call of it is exact by its definition (number/function/math.h has the others).
set -u
cd "${top_srcdir:-.}" || exit 99
. tests/support/objects.sh
exact='ceil copysign fabs fdim floor fma fmod frexp ilogb ldexp llrint llround logb lrint lround modf nearbyint nextafter
    remainder rint round roundeven scalbln scalbn sqrt trunc'
rounded='acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 hypot j0 j1 jn lgamma lgamma_r log log10
    log1p log2 pow sin sincos sinh tan tanh tgamma y0 y1 yn'
zeros='fmax fmin' # of zeros of unlike signs either, as the processor likes
mapfile -t objects < <(objects src analysis | grep -v '^src/cli/'; cd "$OLDPWD/${top_builddir:-.}" && find src -name 'ulpscope-*.o')
cd "$OLDPWD/${top_builddir:-.}" || exit 99
[ "${#objects[@]}" -gt 100 ] || { echo "only ${#objects[@]} object files were found: is top_builddir right?"; exit 1; }
called=$(${NM:-nm} -A -P "${objects[@]}" 2>/dev/null | awk '$(NF) == "U" || $3 == "U" { print $2, $1 }')
found() { for name in $1; do grep -E "^${name}[fl]? " <<<"$called"; done; }
# an oracle of the search: sqrt or ldexp is called somewhere
[ -n "$(found "$exact")" ] || { echo "no call of libm was found: does nm read these files?"; exit 1; }
wrong=$(found "$rounded $zeros" | sort)
[ -z "$wrong" ] || { echo "calls of libm whose bits are the machine's:"; echo "$wrong"; exit 1; }
