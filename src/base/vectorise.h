/* Loops that are worth vectors at -O2, too, where gcc makes them only of loops whose number of
 * turns it knows. What an operation computes stays as it is. */
#pragma once

/* An attribute of the function that has the loop, and has loops of a few turns inside unrolled
 * (GCC unroll). clang makes vectors at -O2 anyway. */
#if defined(__GNUC__) && !defined(__clang__)
#define ULP_VECTORISE __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define ULP_VECTORISE
#endif
