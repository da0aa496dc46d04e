#!/usr/bin/env python3
"""Rounding beside its peers in Python, on the same arrays in one run: equal bits, and nanoseconds an element.

    PYTHONPATH=python ULPSCOPE_LIBRARY=build/libulpscope.so tests/bench/rounding.py [COUNT]

Peers: gfloat, pychop, ml_dtypes and numpy itself, each where it is installed and has the format and the mode. COUNT floats (default
10^7): a quarter over all exponents, the rest where the formats have their numbers, with ties, neighbours of ties, subnormals and
specials. Every time is processor time, the best of five runs on one thread, as the peers have one; in brackets ulpscope into an array
that is given (out=).
Then stochastic rounding: the mean of 10 COUNT errors in standard deviations. CPFloat is in no package index, so it is not here.
Exit code 1: bits differ, or a mean is 4 deviations off."""
import sys
import time
import warnings

import numpy as np

import ulpscope

warnings.filterwarnings("ignore")
FORMATS = {"fp16": (11, -14, 15), "bf16": (8, -126, 127), "fp8-e4m3": (4, -6, 8)}
MODES = ("rne", "rna", "rz", "ru", "rd")


def make(count, seed=1):
    """Floats around the numbers of the three formats; sign and exponent at random."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    places = bits[count // 4:]
    kept = rng.choice(np.array([0xFFFFF000, 0xFFFF8000, 0xFFF80000, 0xFFFFFFFF], np.uint32), places.size)
    places &= kept  # ties of some format, and what is one of its numbers
    exponents = (rng.integers(103, 145, places.size, dtype=np.uint32)) << 23
    places[:] = (places & np.uint32(0x807FFFFF)) | exponents
    places[::7] += 1
    x = bits.view(np.float32)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, 448, 464, 480, 2**-10, 2**-25, 3.4028235e38, 1e-45]
    x[: len(specials)] = specials
    return x


def same(a, b):
    """Equal bits, but for the sign and the payload of NaN."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def best(function, x):
    """Seconds an element, the least of five runs (of one, when it takes long), and the result."""
    least = np.inf
    for _ in range(5):
        result = None  # whose memory may be taken for the next one
        start = time.process_time()
        result = function(x)
        seconds = time.process_time() - start
        least = min(least, seconds)
        if seconds > 1.5:
            break
    return least / x.size, result


def gfloat_peer(name, mode):
    import gfloat
    from gfloat import formats

    info = {"fp16": formats.format_info_binary16, "bf16": formats.format_info_bfloat16, "fp8-e4m3": formats.format_info_ocp_e4m3}[name]
    modes = {"rne": "TiesToEven", "rna": "TiesToAway", "rz": "TowardZero", "ru": "TowardPositive", "rd": "TowardNegative"}
    how = gfloat.RoundMode[modes[mode]]
    return lambda x: gfloat.round_ndarray(info, x, how)


def pychop_peer(name, mode):
    from pychop.np.lightchop import LightChop_

    exponent, significand = {"fp16": (5, 10), "bf16": (8, 7)}[name]
    return LightChop_(exponent, significand, {"rne": 1, "ru": 2, "rd": 3, "rz": 4, "rna": 8}[mode])


def numpy_peer(name, mode):
    return {("fp16", "rne"): lambda x: x.astype(np.float16).astype(np.float32)}[name, mode]


def ml_dtypes_peer(name, mode):
    import ml_dtypes

    dtype = {("bf16", "rne"): ml_dtypes.bfloat16, ("fp8-e4m3", "rne"): ml_dtypes.float8_e4m3fn}[name, mode]
    return lambda x: x.astype(dtype).astype(np.float32)


PEERS = {"gfloat": gfloat_peer, "pychop": pychop_peer, "numpy": numpy_peer, "ml_dtypes": ml_dtypes_peer}


def compare(x):
    worst, differing = np.inf, []
    print(f"{'format':9} {'mode':5} {'ulpscope':>15}   peers: ns an element, times slower, elements that differ")
    out = np.empty_like(x)
    few = x[:: max(x.size // 1_000_000, 1)].copy()  # of pychop's, which takes microseconds an element
    for name in FORMATS:
        for mode in MODES:
            mine, result = best(lambda x: ulpscope.round(x, name, mode, threads=1), x)
            into, _ = best(lambda x: ulpscope.round(x, name, mode, out=out, threads=1), x)
            line, fastest = [], np.inf
            for peer, maker in PEERS.items():
                try:
                    function = maker(name, mode)
                except (ImportError, KeyError):
                    continue
                with np.errstate(all="ignore"):
                    given, ours = (few, ulpscope.round(few, name, mode)) if peer == "pychop" else (x, result)
                    seconds, theirs = best(function, given)
                wrong = np.flatnonzero(~same(ours, theirs))
                fastest = min(fastest, seconds)
                line.append(f"{peer} {seconds * 1e9:.1f} ({seconds / mine:.1f}x, {wrong.size} of {given.size} differ)")
                if wrong.size:
                    examples = [(float(given[i]).hex(), float(ours[i]), float(np.asarray(theirs)[i])) for i in wrong[:3]]
                    differing.append((peer, name, mode, examples))
            worst = min(worst, fastest / mine)
            print(f"{name:9} {mode:5} {mine * 1e9:6.2f} [{into * 1e9:5.2f}]   {', '.join(line)}", flush=True)
    print(f"the fastest peer takes {worst:.1f} times as long in the worst row, both on one thread")
    for peer, name, mode, examples in differing:
        print(f"{peer} differs in {name} {mode}; x, ulpscope, {peer}: {examples}")
    return [d for d in differing if d[0] == "gfloat"]


def stochastic(count):
    """Errors r - x in units of the interval are B - f with B a bit of expectation f: their sum has variance sum f (1 - f)."""
    bad = []
    for name, (precision, *_rest) in FORMATS.items():
        total = variance = 0.0
        seconds = 0.0
        for block in range(10):
            x = (1 + np.random.default_rng(block).random(count)).astype(np.float32)
            step = np.float32(2.0 ** (1 - precision))
            start = time.perf_counter()
            rounded = ulpscope.round(x, name, "sr", seed=block, threads=1)
            seconds += time.perf_counter() - start
            f = (x / step) % 1
            total += float(((rounded - x).astype(np.float64) / step).sum())
            variance += float((f.astype(np.float64) * (1 - f)).sum())
        z = total / variance**0.5
        print(f"{name:9} sr: {10 * count:.0e} roundings, mean error {total / (10 * count):+.2e} ulp, {z:+.2f} sigma, {seconds / (10 * count) * 1e9:.1f} ns each")
        if not abs(z) < 4:
            bad.append(name)
    return bad


def stochastic_peers(x):
    """How long others take; their draws are others."""
    x = x[:1_000_000]
    mine, _ = best(lambda x: ulpscope.round(x, "fp16", "sr", threads=1), x)
    line = []
    try:
        from pychop.np.lightchop import LightChop_

        seconds, _ = best(LightChop_(5, 10, 5), x)
        line.append(f"pychop {seconds * 1e9:.1f} ({seconds / mine:.1f}x)")
    except ImportError:
        pass
    try:
        import gfloat
        from gfloat import formats

        rng = np.random.default_rng(1)

        def draw(v):
            bits = rng.integers(0, 1 << 16, v.shape)
            return gfloat.round_ndarray(formats.format_info_binary16, v, gfloat.RoundMode.StochasticFast, srbits=bits, srnumbits=16)

        seconds, _ = best(draw, x)
        line.append(f"gfloat with 16 random bits {seconds * 1e9:.1f} ({seconds / mine:.1f}x)")
    except ImportError:
        pass
    print(f"fp16      sr: {mine * 1e9:.2f} ns an element; {', '.join(line)}")


def main():
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    x = make(count)
    finite = x[np.isfinite(x)]
    bad = compare(x)
    stochastic_peers(finite)
    bad += stochastic(count)
    sys.exit(bool(bad))


main()
