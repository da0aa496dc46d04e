"""Trials of stochastic rounding: the mean and the deviation of every element of an output over them, and what follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from ._arrays import Array


def seed_of(seed: int, trial: int) -> int:
    """Number `trial` of the stream `seed`: Philox 4x32-10 (Salmon et al., SC11), as the library draws."""
    c, k = [trial & 0xFFFFFFFF, trial >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[1] << 32 | c[0]


def significant_loss(trials: int, probability: float, confidence: float) -> float:
    """The bits that are lost to the number of trials: 1/2 log2((n - 1) / chi2) + log2(z), theorem 2 of D. Sohier et al.,
    Confidence Intervals for Stochastic Arithmetic, ACM TOMS 47(2), 2021."""
    least = stats.chi2.ppf((1 - confidence) / 2, trials - 1)
    return float(math.log2((trials - 1) / least) / 2 + math.log2(stats.norm.ppf((probability + 1) / 2)))


class Spread:
    """One output of one setting, over the trials so far: errors d = value - reference by Welford's recurrence."""

    def __init__(self, trials: int) -> None:
        self._samples: dict[int, tuple[Array, Array, Array]] = {}  # reference, mean of d, sum of squares (NaN: some was not finite)
        self._errors, self._counts = np.zeros(trials), np.zeros(trials)
        self._reshaped = False

    def add(self, sample: int, trial: int, value: Array, reference: Array) -> None:
        if value.shape != reference.shape or self._reshaped:
            self._reshaped = True
            return
        base = reference.astype(np.float64)
        _, mean, squares = self._samples.setdefault(sample, (base, np.zeros(base.shape), np.zeros(base.shape)))
        with np.errstate(invalid="ignore", over="ignore"):
            d = value.astype(np.float64) - base
            finite = np.isfinite(d)
            delta = np.where(finite, d - mean, 0.0)
            mean += delta / (trial + 1)
            squares += np.where(finite, delta * (d - mean), math.nan)
        self._errors[trial] += d[finite].sum()
        self._counts[trial] += finite.sum()

    def conclude(self, probability: float, confidence: float) -> dict[str, Any]:
        """Columns of a frame; {} where decisions changed its shape."""
        n = len(self._errors)
        if self._reshaped or not self._samples:
            return {}
        base, mean, squares = (np.concatenate([sample[i].ravel() for sample in self._samples.values()]) for i in range(3))
        known = ~np.isnan(squares)
        base, mean, squares = base[known], mean[known], squares[known]
        deviation = np.sqrt(squares / (n - 1))
        student = float(stats.t.ppf((1 + confidence) / 2, n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.sort(np.where(squares == 0, math.inf, -np.log2(deviation / np.abs(base + mean))))
            errors = self._errors / self._counts
        bias_error = float(np.std(errors, ddof=1) / math.sqrt(n))
        some = len(bits) > 0
        middle = float(bits[(len(bits) - 1) // 2]) if some else math.nan
        bias_square = float(np.mean(mean**2 - deviation**2 / n)) if some else math.nan
        return {
            "elements": len(bits),
            "left_out": int((~known).sum()),
            "exact": int((squares == 0).sum()),
            "bits": middle,
            "bits_low": middle - significant_loss(n, probability, confidence),
            "bits_least": float(bits[0]) if some else math.nan,
            "bias": float(errors.mean()),
            "bias_error": bias_error,
            "bias_width": student * bias_error,
            "bias_rms": math.sqrt(max(0.0, bias_square)) if some else math.nan,
            "biased": float(np.mean(np.abs(mean) > student * deviation / math.sqrt(n))) if some else math.nan,
        }
