/* Takes back what function/pair_arithmetic.h leaves defined. */
#undef EVALUATE
#undef SUM_SERIES
#undef FUNCTION
#undef PAIR
#undef V
#undef U
#undef M
#undef WIDTH
#undef FUSE
#undef ROOT
