#!/usr/bin/env python3
"""Fit a model of CUDA's erff to what an NVIDIA H200 returned, and print src/number/function/cuda_coefficients.h.

    scripts/fit_cuda_functions.py DATA/gpu/h200_unary.npz > src/number/function/cuda_coefficients.h

Nothing but the recorded results goes in; no coefficient is taken from anywhere else. The recordings are f32.x (16,384 inputs) with f32.ex2.approx,
f32.fast_expf and f32.erff. The outputs of GELU, in which erf is cancelled, are not fitted to: stderr says how many of them follow.

ex2: the exponent unit of the GPU. Found by trying: x is cut to 23 fraction bits, a negative one as its ones' complement unless 0 is left; the leading
  six of them choose one of 64 parabolas in the other 17; the result is rounded to nearest. Parabolas by linear programming (least sum of
  what lies outside), coefficients then rounded to the multiples that lose nothing: 4 and 1 units of 2^-23.
erf: with t = |x| below a threshold near 1, t + t P(t^2), above, 1 - ex2(-(t + t Q(t))), P and Q of degree 6 by Horner's rule with fused multiply-adds. Degree
  5 leaves several times as many results unexplained. Each result gives the range in which P or Q lies; linear programming finds the
  function, fit_cuda_search.c the floats.

Needs numpy, scipy and a C compiler; takes a few minutes.
"""
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

F32 = np.float32
SEGMENTS, DEGREE = 64, 6


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def fma(a, b, c):
    """The product is exact in double; the sum is rounded twice, which one result in 2^29 may show."""
    return (a.astype(float) * b + c).astype(F32)


def fit_outside_least(matrix, low, high, width, bounds):
    """c with the least sum of how far matrix c lies outside [low, high], in units of width."""
    count, terms = matrix.shape
    scaled, one = scipy.sparse.csr_matrix(matrix / width[:, None]), scipy.sparse.identity(count)
    result = linprog(np.r_[np.zeros(terms), np.ones(count)], A_ub=scipy.sparse.bmat([[scaled, -one], [-scaled, -one]]).tocsr(),
                     b_ub=np.r_[high / width, -low / width], bounds=bounds + [(0, None)] * count, method="highs")
    return result.x[:terms]


# ---- ex2 ----

def split(x):
    """Integer part, number of the parabola, and place in it, 0 to 2^17."""
    fixed = np.trunc(np.abs(x.astype(float)) * 2**23).astype(np.int64)
    fixed = np.where((x < 0) & (fixed > 0), ~fixed, fixed)
    return fixed >> 23, fixed >> 17 & SEGMENTS - 1, (fixed & 0x1FFFF).astype(float)


def ex2(table, x):
    exponent, segment, place = split(x)
    c = table[segment]
    place /= 2.0**17
    return np.ldexp(1 + np.floor(c[:, 0] + place * (c[:, 1] + place * c[:, 2]) + 0.5) / 2**23, exponent)


def fit_ex2(data):
    with np.errstate(over="ignore"):
        x = np.r_[data["f32.x"], data["f32.x"] * F32(np.log2(np.e))]
    y = np.r_[data["f32.ex2.approx"], data["f32.fast_expf"]]
    usable = np.isfinite(x) & (np.abs(x) < 125) & (np.abs(x) > 2.0**-22)
    x, y = x[usable], y[usable].astype(float)
    exponent, segment, place = split(x)
    units = (np.ldexp(y, -exponent) - 1) * 2**23
    table = np.zeros((SEGMENTS, 3))
    for k in range(SEGMENTS):
        own = segment == k
        d = place[own] / 2.0**17
        c = fit_outside_least(np.stack([d**0, d, d * d], 1), units[own] - 0.5, units[own] + 0.5, np.ones(len(d)), [(None, None)] * 3)
        c[1], c[2] = 4 * np.rint(c[1] / 4), np.rint(c[2])
        low = np.sort(units[own] - 0.5 - d * (c[1] + d * c[2]))  # of c[0], for each result
        tries = np.arange(np.floor(c[0] - 1), c[0] + 1, 1 / 64)
        right = np.searchsorted(low, tries, "right") - np.searchsorted(low + 1, tries, "left")
        table[k] = tries[np.argmax(right)], c[1], c[2]
    say(f"ex2: {np.mean(ex2(table, x) == y):.3%} of {len(x)} equal")
    return table


# ---- erf ----

def evaluate(c, x):
    p = np.full_like(x, c[-1])
    for k in c[-2::-1]:
        p = fma(p, x, k)
    return p


def erf(model, x):
    table, threshold, small, large = model
    t = np.abs(x)
    with np.errstate(all="ignore"):
        near = fma(evaluate(small, t * t), t, t)
        q = fma(evaluate(large, t), t, t)
        far = F32(1) - ex2(table, -np.where(q < 64, q, F32(64))).astype(F32)
    return np.copysign(np.where(t >= threshold, far, near), x)


def bisect(test, low, high):
    """The least bit pattern of a positive float with test(float) true; test changes once."""
    while (high - low > 1).any():
        middle = (low + high) // 2
        true = test(middle.astype(np.int32).view(F32))
        low, high = np.where(true, low, middle), np.where(true, middle, high)
    return high


def polynomial_ranges(t, first, last):
    """Ranges of the floats p with first <= fma(p, t, t) <= last, and of the real numbers."""
    below, above = (first.astype(float) + np.nextafter(first, F32(0))) / 2, (last.astype(float) + np.nextafter(last, F32(99))) / 2
    low, high = below / t - 1, above / t - 1
    ends = []
    for end, inward in ((low, F32(np.inf)), (high, F32(-np.inf))):
        p = end.astype(F32)
        for move in (-inward, inward, inward):  # one outward, then inward as far as needed
            q = fma(p, t, t)
            p = np.where((q < first) | (q > last) if move == inward else True, np.nextafter(p, move), p)
        ends.append(p)
    return ends[0], ends[1], low, high


def fit_polynomial(name, library, x, ranges, fixed):
    """Coefficients, lowest first. fixed: None, or the lowest one."""
    low_float, high_float, low, high = ranges
    keep = low_float <= high_float
    x, low_float, high_float, low, high = (v[keep] for v in (x, low_float, high_float, low, high))
    width = np.clip((high - low) / 2, 2.0**-24, 1)
    largest = float(x.max())
    powers = np.stack([(x.astype(float) / largest)**k for k in range(DEGREE + 1)], 1)
    scale = largest**np.arange(DEGREE + 1)
    bounds = [(None, None)] * (DEGREE + 1)
    if fixed is not None:
        bounds[0] = (float(fixed), float(fixed))
    start = (fit_outside_least(powers, low, high, width, bounds) / scale).astype(F32)
    follow, first = np.zeros((DEGREE + 1, DEGREE + 1)), int(fixed is not None)
    weighed = np.stack([x.astype(float)**k / width for k in range(DEGREE + 1)], 1)
    for j in range(first + 1, DEGREE + 1):
        follow[j, first:j] = np.linalg.lstsq(weighed[:, first:j], -weighed[:, j], rcond=None)[0]
    arrays = [np.ascontiguousarray(v, dtype=F32) for v in (x, low_float, high_float, 2 / width)]
    best, fewest = start, len(x) + 1
    for seed in range(1, 9):
        c = start.copy()
        outside = library.fit_search(ctypes.c_long(len(x)), *(ctypes.c_void_p(v.ctypes.data) for v in arrays),
                                     ctypes.c_void_p(follow.ctypes.data), ctypes.c_int(first), ctypes.c_void_p(c.ctypes.data),
                                     ctypes.c_uint64(seed), ctypes.c_long(12000000 * 2000 // len(x)))
        say(f"erf, {name}: seed {seed}: {outside} of {len(x)} results not met")
        if outside < fewest:
            best, fewest = c, outside
        if fewest == 0:
            break
    return best


def fit_erf(data, table, library):
    x, y = np.abs(data["f32.x"]), np.abs(data["f32.erff"])
    unknown, threshold = (x > 1.0021) & (x < 1.0029), F32(1.0025)  # either formula explains the two results between
    near = (x < threshold) & ~unknown
    # Of tiny x only P(0) matters: the float that all of them allow.
    tiny = polynomial_ranges(x[near & (x > 1e-30) & (x < 1e-4)], y[near & (x > 1e-30) & (x < 1e-4)], y[near & (x > 1e-30) & (x < 1e-4)])
    lowest = F32((tiny[2].max() + tiny[3].min()) / 2)
    assert tiny[0].max() <= lowest <= tiny[1].min()
    near &= x > 3e-4
    small = fit_polynomial("near", library, x[near] * x[near], polynomial_ranges(x[near], y[near], y[near]), lowest)

    far = (x >= threshold) & ~unknown & (x < 3.92)
    t, e = x[far], y[far]
    ends = (np.full(len(t), int(F32(2).view(np.int32))), np.full(len(t), int(F32(40).view(np.int32))))
    first = bisect(lambda q: F32(1) - ex2(table, -q).astype(F32) >= e, *ends).astype(np.int32).view(F32)
    after = bisect(lambda q: F32(1) - ex2(table, -q).astype(F32) > e, *ends).astype(np.int32).view(F32)
    large = fit_polynomial("far", library, t, polynomial_ranges(t, first, np.nextafter(after, F32(0))), None)
    return table, threshold, small, large


# ---- what follows from it ----

def report(data, model):
    def count(name, ours, theirs):
        same = (ours.view(np.int32) == theirs.view(np.int32)) | (np.isnan(ours) & np.isnan(theirs))
        say(f"{name}: {np.sum(~same)} of {len(same)} differ")

    def gelu(x):
        return x * F32(0.5) * (F32(1) + erf(model, x * F32(np.sqrt(0.5))))

    bits = np.arange(65536, dtype=np.uint16)
    half = bits.view(np.float16).astype(F32)
    with np.errstate(all="ignore"):
        count("f32.erff (fitted)", erf(model, data["f32.x"]), data["f32.erff"])
        count("torch.f16.erf", erf(model, half).astype(np.float16).astype(F32), data["torch.f16.erf"].view(np.float16).astype(F32))
        count("torch.f16.gelu", gelu(half).astype(np.float16).astype(F32), data["torch.f16.gelu"].view(np.float16).astype(F32))
        count("torch.f32.gelu", gelu(data["f32.x"]), data["torch.f32.gelu"])


def write(model):
    table, threshold, small, large = model

    def row(values):
        return ", ".join(values)

    print("/* Generated by scripts/fit_cuda_functions.py: fitted to results recorded on an NVIDIA H200. */")
    print("#ifndef ULP_NUMBER_FUNCTION_CUDA_COEFFICIENTS_H\n#define ULP_NUMBER_FUNCTION_CUDA_COEFFICIENTS_H")
    print("\n/* The parabolas of ex2, in units of 2^-23: what is added to 1 is x0 + x1 d + x2 d^2, 0 <= d < 1 the place in the segment. */")
    for k, name in enumerate(("ex2_constant", "ex2_linear", "ex2_square")):
        print(f"static const double {name}[{SEGMENTS}] = {{")
        for i in range(0, SEGMENTS, 8):
            print("    " + row(f"{v:.12g}" for v in table[i:i + 8, k]) + ",")
        print("};")
    print("\n/* erf, lowest coefficient first: of t^2 below the threshold, of t from there on. */")
    print(f"#define ERF_THRESHOLD {float(threshold).hex().replace('0000000p', 'p')}f")
    for name, c in (("erf_near", small), ("erf_far", large)):
        print(f"static const float {name}[{DEGREE + 1}] = {{\n    " + row(f"{float(v).hex().replace('0000000p', 'p')}f" for v in c) + ",\n};")
    print("\n#endif")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = np.load(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "search.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-o", path,
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "fit_cuda_search.c"), "-lm"], check=True)
        library = ctypes.CDLL(path)
        library.fit_search.restype = ctypes.c_long
        model = fit_erf(data, fit_ex2(data), library)
    report(data, model)
    write(model)


if __name__ == "__main__":
    main()
