#!/usr/bin/env python3
"""Fit models of CUDA's functions to what an NVIDIA H200 returned, and print src/number/function/cuda_coefficients.h.

    lab/fit_cuda_functions.py DATA/gpu/h200_unary.npz tests/data/mufu > src/number/function/cuda_coefficients.h

Nothing but the recorded results goes in; no coefficient is taken from anywhere else: f32.x (16,384 inputs) with f32.erff and f32.tanhf, and the special-function unit for every significand (lab/record_mufu.py). The outputs of GELU, in which erf
is cancelled, are not fitted to: stderr says how many of them follow.

units: ex2 and rsqrt. The leading six bits of the significand (rsqrt: and the exponent's last) choose a parabola in the other 17, d: the result is the whole part of c0 + c1 d + c2 s, s being the square of d without the partial products below
  2^-15: each bit of d lowers the mean by c2 / 2^16, its lowest by half and bit 9, whose own square falls out, by twice that, which is how the form was found. c1 and c2 are whole numbers of units in the last place, c0 of quarters, plus one
  number for each function. Every result follows, 2^23 and 2^24 of them, but 1 / sqrt(4^k), which is exact. rcp has the same form with seven bits and 16.
tanh: with t = |x| below 0.6, t + t t^2 P(t^2), P of degree 3, from there on 1 - 2 rcp(ex2(2 log2(e) t) + 1). Many P meet the 5,037 results below 0.6; one of those nearby meets all 7.6 million of tanh_near and tanh_edge (record_mufu.py).
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
DEGREE = 6       # of erf's polynomials
TANH_DEGREE = 4  # with the lowest coefficient 0


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


# ---- units ----

def square(place):
    """The unit's square of 17 bits in units of 2^19: products of two bits that weigh less are left out."""
    high, low = place >> 9, place & 511
    total = (high * high - (high & 1)) >> 1
    for bit in range(10, 17):
        total += (low >> (18 - bit)) * (place >> bit & 1)
    return total


def evaluate_unit(table, segment, place):
    c = table[segment]
    return np.floor(c[:, 0] + place / 2.0**17 * c[:, 1] + square(place) / 2.0**15 * c[:, 2]).astype(np.int64)


def fit_unit(name, units):
    """The table [segment][3] that gives every recorded result, of which units [segment][places] are the whole parts."""
    place = np.arange(0, 1 << 17, (1 << 17) // units.shape[1])
    x, cut = place / 2.0**17, square(place) / 2.0**15
    start = np.linalg.lstsq(np.stack([x**0, x, x * x], 1), units.T + 0.5, rcond=None)[0].T
    table = np.zeros((len(units), 3))
    for segment, own in enumerate(units):
        near, widest = np.rint(start[segment]), -np.inf
        for second, first in ((near[2] + i, near[1] + j) for i in (0, -1, 1) for j in (0, -1, 1)):
            rest = own - first * x - second * cut
            low, high = rest[1:].max(), rest[1:].min() + 1  # of the constant; place 0 may be an exact power of two
            if high - low > widest:
                widest, table[segment] = high - low, (np.round((low + high) / 2, 5), first, second)
            if widest > 0:
                break
    segments = np.repeat(np.arange(len(units)), len(place))
    say(f"{name}: {np.sum(evaluate_unit(table, segments, np.tile(place, len(units))) != units.ravel())} of {units.size} differ")
    return table


def recorded_units(path, exact, scale, places=1 << 17):
    """Significands that lab/record_mufu.py wrote, by segments."""
    with np.load(path) as file:
        x = np.arange(file["low"], file["high"], dtype=np.uint32).view(F32)
        y = (exact(x.astype(float)).astype(F32).view(np.int32) + file["ulps"]).astype(np.int32).view(F32)
    return (y * F32(scale)).astype(np.int64).reshape(-1, places)


def split(x):
    """Integer part, number of the parabola, and place in it, 0 to 2^17."""
    fixed = np.trunc(np.abs(x.astype(float)) * 2**23).astype(np.int64)
    fixed = np.where((x < 0) & (fixed > 0), ~fixed, fixed)
    return fixed >> 23, fixed >> 17 & 63, fixed & 0x1FFFF


def ex2(table, x):
    exponent, segment, place = split(x)
    return np.ldexp(evaluate_unit(table, segment, place) / 2.0**23, exponent)


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


def load_search(count):
    """fit_cuda_search.c for polynomials of so many coefficients."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "search.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-ffp-contract=off", f"-DCOUNT={count}", "-shared", "-fPIC", "-o", path,
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "fit_cuda_search.c"), "-lm"], check=True)
        library = ctypes.CDLL(path)
    library.fit_search.restype = ctypes.c_long
    return library


def fit_polynomial(name, x, ranges, fixed, degree=DEGREE):
    """Coefficients, lowest first. fixed: None, or the lowest one."""
    library = load_search(degree + 1)
    low_float, high_float, low, high = ranges
    keep = low_float <= high_float
    x, low_float, high_float, low, high = (v[keep] for v in (x, low_float, high_float, low, high))
    width = np.clip((high - low) / 2, 2.0**-24, 1)
    largest = float(x.max())
    powers = np.stack([(x.astype(float) / largest)**k for k in range(degree + 1)], 1)
    scale = largest**np.arange(degree + 1)
    bounds = [(None, None)] * (degree + 1)
    if fixed is not None:
        bounds[0] = (float(fixed), float(fixed))
    start = (fit_outside_least(powers, low, high, width, bounds) / scale).astype(F32)
    follow, first = np.zeros((degree + 1, degree + 1)), int(fixed is not None)
    weighed = np.stack([x.astype(float)**k / width for k in range(degree + 1)], 1)
    for j in range(first + 1, degree + 1):
        follow[j, first:j] = np.linalg.lstsq(weighed[:, first:j], -weighed[:, j], rcond=None)[0]
    arrays = [np.ascontiguousarray(v, dtype=F32) for v in (x, low_float, high_float, 2 / width)]
    best, fewest = start, len(x) + 1
    for seed in range(1, 9):
        c = start.copy()
        outside = library.fit_search(ctypes.c_long(len(x)), *(ctypes.c_void_p(v.ctypes.data) for v in arrays),
                                     ctypes.c_void_p(follow.ctypes.data), ctypes.c_int(first), ctypes.c_void_p(c.ctypes.data),
                                     ctypes.c_uint64(seed), ctypes.c_long(12000000 * 2000 // len(x)))
        say(f"{name}: seed {seed}: {outside} of {len(x)} results not met")
        if outside < fewest:
            best, fewest = c, outside
        if fewest == 0:
            break
    return best


def fit_erf(data, table):
    x, y = np.abs(data["f32.x"]), np.abs(data["f32.erff"])
    unknown, threshold = (x > 1.0021) & (x < 1.0029), F32(1.0025)  # either formula explains the two results between
    near = (x < threshold) & ~unknown
    # Of tiny x only P(0) matters: the float that all of them allow.
    tiny = polynomial_ranges(x[near & (x > 1e-30) & (x < 1e-4)], y[near & (x > 1e-30) & (x < 1e-4)], y[near & (x > 1e-30) & (x < 1e-4)])
    lowest = F32((tiny[2].max() + tiny[3].min()) / 2)
    assert tiny[0].max() <= lowest <= tiny[1].min()
    near &= x > 3e-4
    small = fit_polynomial("erf, near", x[near] * x[near], polynomial_ranges(x[near], y[near], y[near]), lowest)

    far = (x >= threshold) & ~unknown & (x < 3.92)
    t, e = x[far], y[far]
    ends = (np.full(len(t), int(F32(2).view(np.int32))), np.full(len(t), int(F32(40).view(np.int32))))
    first = bisect(lambda q: F32(1) - ex2(table, -q).astype(F32) >= e, *ends).astype(np.int32).view(F32)
    after = bisect(lambda q: F32(1) - ex2(table, -q).astype(F32) > e, *ends).astype(np.int32).view(F32)
    large = fit_polynomial("erf, far", t, polynomial_ranges(t, first, np.nextafter(after, F32(0))), None)
    return table, threshold, small, large


# ---- tanh ----

def rcp(table, x):
    """x: from 1 on."""
    bits = x.view(np.int32)
    return np.ldexp(evaluate_unit(table, bits >> 16 & 127, (bits & 0xFFFF) << 1) / 2.0**24, 127 - (bits >> 23)).astype(F32)


def tanh(model, x):
    units, threshold, small = model
    t = np.minimum(np.abs(x), F32(40))
    near = fma(evaluate(small, t * t), t, t)
    far = fma(rcp(units["rcp"], ex2(units["ex2"], t * F32(2 / np.log(2))).astype(F32) + F32(1)), F32(-2), F32(1))
    return np.copysign(np.where(t >= threshold, far, near), x)


def walk(c, x, y):
    """Of the coefficients that hardly change the polynomial those that give every y: where the second moves by an ulp the third does by 42 and the fourth by 196."""
    def wrong(tried, x, y):
        p = tried[-1]
        for k in tried[-2::-1]:
            p = fma(p, x * x, k)
        return fma(p, x, x) != y

    hard = np.flatnonzero(wrong(c, x, y))[::8]
    third, fourth = (moves.ravel().astype(np.int32) for moves in np.meshgrid(np.arange(-30, 31), np.arange(-150, 151)))
    for second in range(-3, 6):
        moves = (np.int32(0), np.int32(0), np.int32(second), third + np.int32(42 * second), fourth + np.int32(196 * second))
        tried = [(k.view(np.int32) + move).view(F32) for k, move in zip(c, moves)]
        right = ~np.any([wrong(tried, x[i], y[i]) for i in hard], axis=0)
        for i in np.flatnonzero(right):
            one = [k if np.ndim(k) == 0 else k[i] for k in tried]
            if not wrong(one, x, y).any():
                return one
    sys.exit("tanh: no polynomial nearby gives every recorded result")


def recorded_tanh(path):
    with np.load(path) as file:
        x = np.arange(file["low"], file["high"], file["step"], dtype=np.uint32).view(F32)
        return x, (np.tanh(x.astype(float)).astype(F32).view(np.int32) + file["ulps"]).view(F32)


def fit_tanh(data, units, folder):
    x, y = np.abs(data["f32.x"]), np.abs(data["f32.tanhf"])
    threshold = F32(0.6)  # of the floats of tanh_edge that its bits tell
    near = (x < threshold) & (x > 1e-4)
    start = fit_polynomial("tanh", x[near] * x[near], polynomial_ranges(x[near], y[near], y[near]), F32(0), TANH_DEGREE)
    dense, results = (np.concatenate(parts) for parts in zip(*(recorded_tanh(os.path.join(folder, f"tanh_{name}.npz")) for name in ("near", "edge"))))
    return units, threshold, walk(start, dense[dense < threshold], results[dense < threshold])


# ---- what follows from it ----

def report(data, model, hyperbolic):
    def count(name, ours, theirs):
        same = (ours.view(np.int32) == theirs.view(np.int32)) | (np.isnan(ours) & np.isnan(theirs))
        say(f"{name}: {np.sum(~same)} of {len(same)} differ")

    def gelu(x):
        return x * F32(0.5) * (F32(1) + erf(model, x * F32(np.sqrt(0.5))))

    bits = np.arange(65536, dtype=np.uint16)
    half = bits.view(np.float16).astype(F32)
    with np.errstate(all="ignore"):
        count("f32.erff (fitted)", erf(model, data["f32.x"]), data["f32.erff"])
        count("f32.tanhf (fitted)", tanh(hyperbolic, data["f32.x"]), data["f32.tanhf"])
        count("torch.f16.erf", erf(model, half).astype(np.float16).astype(F32), data["torch.f16.erf"].view(np.float16).astype(F32))
        count("torch.f16.gelu", gelu(half).astype(np.float16).astype(F32), data["torch.f16.gelu"].view(np.float16).astype(F32))
        count("torch.f32.gelu", gelu(data["f32.x"]), data["torch.f32.gelu"])


def write(units, model, hyperbolic):
    _, threshold, small, large = model

    def row(values):
        return ", ".join(values)

    print("/* Generated by lab/fit_cuda_functions.py: fitted to results recorded on an NVIDIA H200. */")
    print("#pragma once")
    print("\n/* The parabolas of the units, constant, linear and square: the result's whole units. ex2: of 2^-23; rsqrt: of 2^-24, even exponents first; rcp: of 2^-24. */")
    for name, table in units.items():
        for k, part in enumerate(("constant", "linear", "square")):
            print(f"static const double {name}_{part}[{len(table)}] = {{")
            for i in range(0, len(table), 8):
                print("    " + row(f"{v:.14g}" for v in table[i:i + 8, k]) + ",")
            print("};")
    print("\n/* erf, lowest coefficient first: of t^2 below the threshold, of t from there on. */")
    print(f"#define ERF_THRESHOLD {float(threshold).hex().replace('0000000p', 'p')}f")
    for name, c in (("erf_near", small), ("erf_far", large)):
        print(f"static const float {name}[{len(c)}] = {{\n    " + row(f"{float(v).hex().replace('0000000p', 'p')}f" for v in c) + ",\n};")
    print("\n/* tanh, of t^2 below the threshold, lowest coefficient first; that of t^0 is 0 and left out. */")
    print(f"#define TANH_THRESHOLD {float(hyperbolic[1]).hex().replace('0000000p', 'p')}f")
    print("static const float tanh_near[] = {\n    " + row(f"{float(v).hex().replace('0000000p', 'p')}f" for v in hyperbolic[2][1:]) + ",\n};")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, folder = np.load(sys.argv[1]), sys.argv[2]
    units = {"ex2": fit_unit("ex2", recorded_units(os.path.join(folder, "mufu_ex2_fraction.npz"), np.exp2, 2**22)),
             "rsqrt": fit_unit("rsqrt", recorded_units(os.path.join(folder, "mufu_rsqrt.npz"), lambda x: 1 / np.sqrt(x), 2**24)),
             "rcp": fit_unit("rcp", recorded_units(os.path.join(folder, "mufu_rcp.npz"), lambda x: 1 / x, 2**24, 1 << 16))}
    hyperbolic = fit_tanh(data, units, folder)
    model = fit_erf(data, units["ex2"])
    report(data, model, hyperbolic)
    write(units, model, hyperbolic)


if __name__ == "__main__":
    main()
