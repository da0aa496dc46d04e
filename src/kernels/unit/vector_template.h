/* Operations of the fast path that AVX2 and AVX-512 have under one name: of each element,
 * EACH(name), and of all bits, WHOLE(name). Included by avx2.c and avx512.c. */
OP ints op_set(int x)
{
    return EACH(set1_epi32)(x);
}
OP ints op_add(ints x, ints y)
{
    return EACH(add_epi32)(x, y);
}
OP ints op_sub(ints x, ints y)
{
    return EACH(sub_epi32)(x, y);
}
OP ints op_max(ints x, ints y)
{
    return EACH(max_epi32)(x, y);
}
OP ints op_min(ints x, ints y)
{
    return EACH(min_epi32)(x, y);
}
/* The larger of an unsigned x and y's magnitude. */
OP ints op_largest(ints x, ints y)
{
    return EACH(max_epu32)(x, EACH(abs_epi32)(y));
}
OP ints op_and(ints x, ints y)
{
    return WHOLE(and)(x, y);
}
OP ints op_or(ints x, ints y)
{
    return WHOLE(or)(x, y);
}
OP ints op_xor(ints x, ints y)
{
    return WHOLE(xor)(x, y);
}
OP ints op_shift_left_23(ints x)
{
    return EACH(slli_epi32)(x, 23);
}
OP ints op_shift_right_23(ints x)
{
    return EACH(srli_epi32)(x, 23);
}
OP ints op_bits(floats x)
{
    return (ints)x;
}
OP floats op_floats(ints x)
{
    return (floats)x;
}
OP floats op_load(const float *p)
{
    return EACH(loadu_ps)(p);
}
OP void op_store(float *p, floats x)
{
    EACH(storeu_ps)(p, x);
}
OP floats op_mul(floats x, floats y)
{
    return EACH(mul_ps)(x, y);
}
OP ints op_truncate(floats x)
{
    return EACH(cvttps_epi32)(x);
}
/* To FP16, nearest even; zero is +0. */
OP floats op_half(floats x)
{
    const floats y =
        EACH(cvtph_ps)(EACH(cvtps_ph)(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return EACH(add_ps)(y, EACH(setzero_ps)());
}
OP shorts op_shorts_load(const int16_t *p)
{
    return WHOLE(loadu)((const ints *)p);
}
OP shorts op_shorts_set(int32_t twice)
{
    return EACH(set1_epi32)(twice);
}
OP shorts op_shorts_add(shorts x, shorts y)
{
    return EACH(add_epi16)(x, y);
}
OP shorts op_shorts_max(shorts x, shorts y)
{
    return EACH(max_epi16)(x, y);
}
OP shorts op_shorts_min(shorts x, shorts y)
{
    return EACH(min_epi16)(x, y);
}
