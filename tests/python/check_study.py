"""ulpscope.study: figures that the C program's study gave before it left, laws beside scipy's regression, trials and rows formed again by hand."""
import doctest
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import ulpscope

SOURCE = pathlib.Path(sys.argv[1])
MODEL = str(SOURCE / "examples" / "digits" / "model.onnx")
INPUTS = dict(np.load(SOURCE / "examples" / "digits" / "inputs.npz"))
sys.path.insert(0, str(SOURCE / "examples"))
from onnx_writer import node, write_model  # noqa: E402


class Missing(unittest.TestCase):
    def test_packages(self):
        """ulpscope itself needs none of them; the study says in one line which it lacks."""
        for package in ("pandas", "scipy"):
            said = subprocess.run([sys.executable, "-c", f"import sys; sys.modules['{package}'] = None; import ulpscope, ulpscope.study"], capture_output=True, text=True)
            self.assertIn(f"(no {package}): pip install ulpscope[study]", said.stderr)
            self.assertIn("MissingPackageError", said.stderr.splitlines()[-1])


try:
    import scipy.stats

    from ulpscope import _laws, _sweeps, _trials, study
except ImportError as missing:
    print(f"ulpscope.study was not tested: {missing}")
    Missing.test_packages = unittest.skip("packages are missing")(Missing.test_packages)
    unittest.main(argv=sys.argv[:1])


def model_of(folder, nodes, inputs, outputs, constants):
    path = pathlib.Path(folder, "model.onnx")
    write_model(str(path), nodes, inputs, outputs, constants, opset=17)
    return ulpscope.Model(path)


class Sweeps(unittest.TestCase):
    def test_examples(self):
        for module in (study, _sweeps, _laws):
            result = doctest.testmod(module)
            self.assertEqual((result.failed, result.attempted > 0), (0, True))
        os.chdir(SOURCE)
        result = doctest.testfile(str(SOURCE / "doc" / "study.md"), module_relative=False)
        self.assertEqual((result.failed, result.attempted > 8), (0, True))

    def test_as_bash(self):
        for text in ("e5m{4..12}", "fp16,round={rne,rz,ru,rd,sr}", "{a,b}{1..3}x{c,d}", "x{10..1..4}y", "{-2..2..2}", "e{2..4}m{3,7},order={sequential,blocked:64}", "no_braces"):
            said = subprocess.run(["bash", "-c", f"printf '%s\\n' {text}"], check=True, capture_output=True, text=True).stdout
            self.assertEqual(study.expand(text), said.split("\n")[:-1])

    def test_hostile(self):
        wrong = ["a{b", "a}b", "a{}", "a{b,}", "a{,b}", "a{b,,c}", "a{b{c}}", "{1..}", "{..2}", "{1..2..}", "{1..2..0}", "{1..2..-1}", "{1..9999999}", "{1..99999999999999999}",
                 "{1..1001}", "{1..100}{1..100}{1..100}{1..100}", "{1...3}", "{1.5..2}", "{" * 100000]
        for text in wrong:
            with self.assertRaises(ulpscope.UsageError) as refused:
                study.expand(text)
            self.assertRegex(str(refused.exception), "^sweep [^\n]*$")
        self.assertEqual(len(study.expand("{1..1000}")), 1000)

    def test_axes(self):
        rows = {"e5m{4..6}": ("bits", 1, 3), "e{4..6}m5": ("exponent", 1, 3), "mpfr:{20,30}": ("bits", 1, 2), "e{4,5}m{4..6}": ("bits", 2, 3), "fp16,round={rne,rz}": ("words", 1, 2),
                "{fp16,bf16,fp32}": ("words", 1, 3), "fp32,order=blocked:{4,8,16}": ("length", 1, 3), "fp32,order={sequential,blocked:8}": ("words", 1, 2),
                "fp32,round={rne,rz},reduce=blocked:{4,8}": ("length", 2, 2), "fp32": ("words", 1, 1)}
        for text, expected in rows.items():
            _, series = _sweeps.make_settings([text], 2)
            self.assertEqual((series[0].axis, len(series), len(series[0].settings)), expected)
        settings, series = _sweeps.make_settings(["e8m{2..12}", "e8m6,round={rz,rne}", "e8m{2,3}"], 2)
        self.assertEqual((len(settings), len(series)), (12, 3))  # e8m6, e8m2 and e8m3 are there once


class Laws(unittest.TestCase):
    def test_as_linregress(self):
        x, e = [4, 5, 6, 7, 8, 9, 10], [0.11, 0.049, 0.031, 0.0136, 0.0061, 0.0037, 0.00151]
        law, line = study.fit(x, e), scipy.stats.linregress(x, np.log2(e))
        half = line.stderr * scipy.stats.t.ppf(0.975, 5)
        for found, exact in ((law.slope, line.slope), (law.intercept, line.intercept), (law.slope_error, line.stderr), (law.slope_low, line.slope - half), (law.slope_high, line.slope + half)):
            self.assertAlmostEqual(found, exact, delta=1e-11)
        self.assertEqual((law.law, law.count), ("linear", 7))

    def test_each(self):
        rows = [(False, -1, "linear"), (False, -0.5, "power"), (False, 0, "flat"), (False, -2, "power"), (True, 1, "linear"), (True, 0.5, "root"), (True, 0, "flat"), (True, 2, "power"),
                (True, -0.5, "power"), (False, 1, "power")]
        for lengths, slope, name in rows:
            x = [2.0**i if lengths else i + 3 for i in range(8)]
            law = study.fit(x, [2 ** (-12 + slope * (i + (0 if lengths else 3))) for i in range(8)], lengths)
            self.assertEqual((law.law, law.floored), (name, 0))
            self.assertAlmostEqual(law.slope, slope, delta=1e-12)

    def test_limits(self):
        """Lost, then 2^-x, then a floor of 1.1e-3; from either end."""
        x, e = list(range(2, 13)), [0.9, 3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8, 1.1e-3, 1.2e-3, 1e-3, 1.1e-3]
        for law, ends in ((study.fit(x, e), (2, 6)), (study.fit(x[::-1], e[::-1]), (4, 8))):
            self.assertEqual((law.law, law.lost, law.floored, law.count, (law.first, law.last)), ("linear", 2, 4, 5, ends))
            self.assertAlmostEqual(law.slope, -1, delta=1e-12)
            self.assertAlmostEqual(law.floor, math.sqrt((1.21 + 1.44 + 1 + 1.21) / 4) * 1e-3, delta=1e-15)
        for e, reason in (([0.1, 0.001] * 3, "beside a line"), ([2, 3, 0.7, 0.6, 0.51], "as large as the values"), ([math.nan, 0, math.inf, -1, 0.1], "zero, not finite"), ([0.1, 0.05], "fewer than three"), ([], "as large")):
            law = study.fit(x[: len(e)], e)
            self.assertEqual(law.law, "none")
            self.assertIn(reason, law.reason)

    def test_loss(self):
        """Values that mpmath found with 30 digits."""
        for trials, probability, confidence, loss in ((30, 0.95, 0.95, 1.3976985667429185), (3, 0.95, 0.95, 3.6226789883030603), (2, 0.99, 0.9, 5.3602717894818517), (1000, 0.9, 0.99, 0.80322953538591558)):
            self.assertAlmostEqual(study.significant_loss(trials, probability, confidence), loss, delta=1e-10)

    def test_sizes(self):
        """Sums of n terms of [1, 2), one after the other: towards zero n u, to nearest sqrt(n) u."""
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("ReduceSum", "x a", "y", keepdims=1)], {"x": (256, "n")}, ["y"], {"a": np.array([1], np.int64)})
            terms = np.random.default_rng(3).integers(0, 2**16, (256, 2048)) / 2**16 + 1
            found = study.sizes(model, [{"x": terms[:, :n].astype(np.float32)} for n in (64, 128, 256, 512, 1024, 2048)], "e8m20,round={rz,rne}")
        self.assertEqual(list(found.laws.law), ["linear", "root"])
        self.assertIn("e8m20,round=rz: the error of y grows as n (slope", str(found))


class Runs(unittest.TestCase):
    def near(self, found, recorded, what):
        """Both in double, in another order of sums."""
        recorded = math.nan if recorded is None else recorded
        self.assertTrue(found == recorded or (found != found and recorded != recorded) or abs(found - recorded) <= 1e-9 * abs(recorded), f"{what}: {found}, recorded {recorded}")

    def test_recorded(self):
        with open(SOURCE / "tests" / "data" / "study" / "digits.json") as file:
            recorded = json.load(file)
        found = study.sweep(MODEL, INPUTS, recorded["sweeps"], trials=recorded["trials"], seed=recorded["seed"], nodes=recorded["nodes"], lanes=7)
        self.assertEqual(found.grouping, recorded["grouping"])
        self.assertEqual(len(found.frame), len(recorded["points"]))
        rows = {(row.setting, row.kind, row.place): row for row in found.frame.itertuples()}
        for setting, kind, place, relative, max_abs, sqnr, nonfinite, grade in recorded["points"]:
            row = rows[setting, kind, place]
            for name, figure in (("relative", relative), ("max_abs", max_abs), ("sqnr_db", sqnr), ("nonfinite", nonfinite)):
                self.near(getattr(row, name), figure, (setting, place, name))
            self.assertEqual(row.grade if kind == "output" else None, grade if kind == "output" else None)
        for spread in recorded["spreads"]:
            row = rows[spread["setting"], "output", spread["place"]]
            self.assertEqual(row.trials, spread["count"])
            for name in ("deviation", "elements", "left_out", "exact", "bits", "bits_least", "bits_low", "bias", "bias_error", "bias_width", "bias_rms", "biased"):
                self.near(getattr(row, name), spread[name], (spread["setting"], name))
        laws = {(row.series, row.kind, row.place): row for row in found.laws.itertuples()}
        self.assertEqual(len(laws), len(recorded["laws"]))
        for law in recorded["laws"]:
            row = laws[law["series"], law["kind"], law["place"]]
            self.assertEqual((row.law, row.reason), (law["law"], law.get("reason") or ""))
            for name in ("slope", "intercept", "slope_error", "slope_low", "slope_high", "residual", "count", "lost", "unusable", "floored", "first", "last", "floor"):
                self.near(getattr(row, name), law[name], (law["series"], law["place"], name))

    def test_an_error_that_is_known(self):
        """2 - 2^-23 rounded towards zero to m bits behind the point is 2 - 2^-m, and 1 times it is that."""
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Mul", "x one", "y", "/a/node")], {"x": (3,)}, ["y"], {"one": np.ones(1, np.float32)})
            x = 2 - 2.0**-23
            found = study.sweep(model, {"x": np.full(3, x, np.float32)}, "e8m{2..12},round=rz", nodes=["/a/node"])
        self.assertEqual(len(found.frame), 33)  # the output, the node, its group
        for place, rows in found.frame.groupby(["kind", "place"]):
            np.testing.assert_allclose(rows.relative, (2.0 ** -np.arange(2, 13) - 2.0**-23) / x, rtol=4e-16)
        self.assertTrue((found.laws.law == "linear").all() and len(found.laws) == 3)

    def test_conclusions(self):
        found = study.sweep(MODEL, INPUTS, ["e8m{3..9}", "e8m7,round={rz,rne}", "e{4..8}m10", "bf16,round=sr"], trials=4, tolerance=1e-2)
        said = str(found)
        for part in ("each further bit halves the error of logits", "e8m8 suffices for 0.01: its error is 0.0057; e8m7 has 0.013.", "e8m7,round=rne has the least error of logits",
                     "none keeps logits within 0.01", "6 exponent bits are enough", "e4m10: some values are not finite, after an overflow at block/norm1/Mean", "4 trials, "):
            self.assertIn(part, said)
        # as an audit, bit for bit; figures do not depend on what runs together, or on threads
        output = ulpscope.Model(MODEL).audit(INPUTS, "e8m5", attribute=False).lanes[0].outputs[0]
        row = found.outputs[found.outputs.setting == "e8m5"].iloc[0]
        self.assertEqual((row.rms, row.sqnr_db, row.relative), (output.entire.rms, output.entire.sqnr_db, output.entire.rms / output.range.ref_rms))
        shares = []
        again = study.sweep(MODEL, INPUTS, ["e8m{3..9}", "e8m7,round={rz,rne}", "e{4..8}m10", "bf16,round=sr"], trials=4, lanes=3, threads=2, progress=lambda share, name: shares.append(share))
        self.assertTrue(found.frame.equals(again.frame))
        self.assertTrue(shares == sorted(shares) and 0.9 < shares[-1] <= 1)
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        self.assertEqual(list(found.plot().get_lines()[0].get_xdata()), [3, 4, 5, 6, 7, 8, 9])

    def test_decisions(self):
        """300^3 overflows five exponent bits, whatever the mantissa; an index is right or is not; an output that is a constant has no error."""
        with tempfile.TemporaryDirectory() as folder:
            nodes = [node("Mul", "x x", "a"), node("Mul", "a x", "y", "cube"), node("ArgMax", "x", "i", axis=0)]
            model = model_of(folder, nodes, {"x": (3,)}, ["y", "i", "c"], {"c": np.ones(2, np.float32)})
            found = study.sweep(model, {"x": np.array([300, 299.9, 1], np.float32)}, ["e5m{4..8}", "e8m{4..12}"])
        y = found.outputs[found.outputs.place == "y"]
        self.assertTrue((y.nonfinite[:5] > 0).all() and y.relative[:5].isna().all() and (y.overflows[:5] != "").all())
        self.assertTrue((y.relative[5:] < 0.2).all() and (y.overflows[5:] == "").all())
        self.assertNotIn("c", set(found.outputs.place))
        self.assertIn("exponent bits are missing", str(found))

    def test_nothing_to_compare(self):
        """An output that is NaN everywhere in the reference, or empty, is within no tolerance."""
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Sqrt", "x", "y")], {"x": ("n",)}, ["y"], {})
            for x in (np.full(3, -1, np.float32), np.empty(0, np.float32)):
                said = str(study.sweep(model, {"x": x}, ["fp16,round={rne,sr}", "e5m{4..8}"], trials=3, tolerance=1e-2))
                self.assertEqual((said.count("none keeps y within 0.01"), "suffices" in said, "nan" in said), (2, False, False))

    def test_several_samples(self):
        """The error of the worst sample beside the rms of all references; every element of every sample counts once in trials."""
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Mul", "x k", "a"), node("Mul", "a x", "y")], {"x": ("n",)}, ["y"], {"k": np.array([3], np.float32)})
            samples = [{"x": (0.3 + 1.7 * np.arange(n) + 4.1 * i).astype(np.float32)} for i, n in enumerate((3, 7, 3, 2))]
            options = {"trials": 6}
            all_ = study.sweep(model, samples, ["e8m{4..6}", "e8m6,round=sr"], **options).outputs
            ones = [study.sweep(model, [sample], ["e8m{4..6}", "e8m6,round=sr"], **options).outputs for sample in samples]
        for i in range(3):
            rms = math.sqrt(sum(one.ref_rms.iloc[i] ** 2 for one in ones) / 4)
            self.assertAlmostEqual(all_.relative.iloc[i], max(one.rms.iloc[i] for one in ones) / rms, delta=4e-15)
        trials, each = all_.iloc[3], [one.iloc[3] for one in ones]
        self.assertEqual((trials.elements, trials.exact, trials.bits_least), (15, sum(e.exact for e in each), min(e.bits_least for e in each)))
        self.assertAlmostEqual(trials.bias, sum(e.bias * e.elements for e in each) / 15, delta=1e-13)

    def test_trials_by_hand(self):
        """Each trial run by itself with the seed that is promised, and everything formed again by definitions of two passes."""
        x, trials = np.array([1.1, -2.7, 0.3, 5.9, 1024], np.float32), 12
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Mul", "x k", "a"), node("Mul", "a x", "y")], {"x": (5,)}, ["y"], {"k": np.array([3], np.float32)})
            row = study.sweep(model, {"x": x}, "e8m6,round=sr", trials=trials, seed=99, confidence=0.9).outputs.iloc[0]
            values = np.array([model.run({"x": x}, f"e8m6,round=sr,seed={_trials.seed_of(99, t)}")["y"] for t in range(trials)], np.float64)
        errors = values - 3 * x.astype(np.float64) ** 2
        deviation, mean = values.std(0, ddof=1), errors.mean(0)
        with np.errstate(divide="ignore"):
            bits = np.sort(-np.log2(deviation / np.abs(values.mean(0))))
        student = scipy.stats.t.ppf(0.95, trials - 1)
        bias_error = errors.mean(1).std(ddof=1) / math.sqrt(trials)
        self.assertEqual((row.trials, row.elements, row.left_out, row.exact), (trials, 5, 0, (deviation == 0).sum()))
        expected = {"bits": bits[2], "bits_least": bits[0], "bits_low": bits[2] - study.significant_loss(trials, 0.95, 0.9), "bias": errors.mean(), "bias_error": bias_error,
                    "bias_width": bias_error * student, "biased": (np.abs(mean) > student * deviation / math.sqrt(trials)).mean(),
                    "bias_rms": math.sqrt(max(0, (mean**2 - deviation**2 / trials).mean()))}
        for name, figure in expected.items():
            self.assertAlmostEqual(row[name], figure, delta=1e-11)

    def test_no_bias(self):
        """1 + 1/3 to 4 bits behind the point goes up with probability 1/3: the mean of 512 elements and 50 trials is off by 0 +- 2^-4 sqrt(2)/3 / sqrt(512 * 50)."""
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Mul", "x one", "y")], {"x": (512,)}, ["y"], {"one": np.ones(1, np.float32)})
            row = study.sweep(model, {"x": np.full(512, 4 / 3, np.float32)}, "e8m4,round={sr,rz}", trials=50).outputs.iloc[0]
        expected = 2**-4 * math.sqrt(2) / 3 / math.sqrt(512 * 50)
        self.assertLessEqual(abs(row.bias), 4 * expected)
        self.assertLessEqual(abs(row.bias_error / expected - 1), 4 / math.sqrt(98))
        self.assertAlmostEqual(row.bits, -math.log2(2**-4 * math.sqrt(2) / 4), delta=0.1)

    def test_nonfinite_inputs(self):
        """NaN in an input is judged nowhere, unless it is meant."""
        inputs = {name: array.copy() for name, array in INPUTS.items()}
        next(iter(inputs.values())).flat[0] = math.nan
        for meant in (False, True):
            grades = set(study.sweep(MODEL, inputs, "e8m{6,7}", allow_nonfinite_inputs=meant).outputs.grade)
            self.assertEqual("not judged" in grades, not meant)

    def test_refused(self):
        wrong = [({"sweeps": "fp16,round={rne,xx}"}, "round=xx"), ({"sweeps": ["e5m{1..20},order=blocked:{1..40}", "e5m{1..20},order=blocked:{41..80}"]}, "more than 1000"), ({"sweeps": []}, "needs a sweep"),
                 ({"trials": 1}, "trials"), ({"confidence": 1.5}, "confidence"), ({"probability": math.nan}, "probability"), ({"tolerance": math.nan}, "tolerance"), ({"tolerance": -1}, "tolerance"),
                 ({"seed": 2**64 - 1}, "seed"), ({"group": "cause"}, "groups by cause"), ({"group": "prefix:0"}, "groups by prefix:0"), ({"nodes": ["head/Gem"]}, "did you mean 'head/Gemm'"), ({"lanes": 0}, "lanes")]
        for options, part in wrong:
            with self.assertRaises(ulpscope.Error) as refused:
                study.sweep(MODEL, INPUTS, **{"sweeps": "fp16", **options})
            self.assertIn(part, str(refused.exception))


class Rows(unittest.TestCase):
    def test_by_hand(self):
        """Classes, differences and first choices are those of one run for each number of rows."""
        random, rows = np.random.default_rng(3), [1, 16, 48, 128]

        def weight(*shape):
            return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

        with tempfile.TemporaryDirectory() as folder:
            nodes = [node("MatMul", "x up", "a", "first"), node("Relu", "a", "b"), node("MatMul", "b down", "h", "second"), node("MatMul", "h head", "y", "third"), node("ArgMax", "h", "id", axis=-1)]
            model = model_of(folder, nodes, {"x": (4, 64)}, ["h", "y", "id"], {"up": weight(64, 4096), "down": weight(4096, 512), "head": weight(512, 16)})
            x = {"x": random.standard_normal((4, 64)).astype(np.float32)}
            shares = []
            found = study.rows(model, x, rows, progress=lambda share, name: shares.append(share))
            runs = [model.run(x, f"fp16@h100,split-k=cublas,rows={count}") for count in rows]
            self.assertTrue(shares == sorted(shares) and shares[-1] <= 1)
            with self.assertRaisesRegex(ulpscope.UsageError, "ascending"):
                study.rows(model, x, [8, 1])
            with self.assertRaisesRegex(ulpscope.UsageError, "split-k"):
                study.rows(model, x, rows, "fp16@h100,split-k=4")
        classes = []
        for count, run in zip(rows, runs):
            same = [c for c in classes if all(np.array_equal(run[n], runs[rows.index(c[0])][n]) for n in run)]
            (same[0].append if same else lambda count: classes.append([count]))(count)
        self.assertGreater(len(classes), 1)
        self.assertEqual(found.classes, classes)
        for name, output in found.outputs.iterrows():
            values = np.stack([run[name].astype(np.float64) for run in runs])
            width, choices = np.ptp(values, 0), values.argmax(-1) if name != "id" else values[:, :0]
            self.assertEqual((output.elements, output.differing, output.width_max_abs), (width.size, (width > 0).sum(), width.max()))
            self.assertAlmostEqual(output.width_relative, math.sqrt((width**2).sum() / (values[0] ** 2).sum()), delta=1e-15)
            self.assertEqual((output.choices, output.flipped), (choices[0].size, (choices != choices[0]).any(0).sum()))
        self.assertEqual((list(found.products.name), found.product_count), (["second"], 3))
        self.assertIn("depends on the rows", str(found))

    def test_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(folder, [node("Relu", "x", "y")], {"x": (4,)}, ["y"], {})
            with self.assertRaisesRegex(ulpscope.LimitError, "no product"):
                study.rows(model, {"x": np.ones(4, np.float32)}, [1, 8])

    def test_recorded(self):
        """The numbers of rows are those of the table."""
        from ulpscope import _rows

        text = (SOURCE / "src" / "kernels" / "cublas_split.def").read_text()
        recorded = tuple(int(n) for n in text.split("ROWS(", 1)[1].split(")")[0].split(",") if n.strip().isdecimal())
        self.assertEqual(_rows.RECORDED, tuple(n for n in recorded if n <= 512))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
