"""The Python package: examples of its documentation, numbers beside numpy's and the program's, errors, Ctrl-C, memory."""
import ctypes
import doctest
import gc
import importlib
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import ulpscope

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
MODEL = str(SOURCE / "examples" / "digits" / "model.onnx")
INPUTS = dict(np.load(SOURCE / "examples" / "digits" / "inputs.npz"))
FORMATS = ["nvfp4", "mxfp8", "fp32"]


def program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def same(a, b):
    """Equal bits but for the payload of NaN."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


class Examples(unittest.TestCase):
    def test_modules(self):
        count = 0
        for name in ("ulpscope", "ulpscope._numbers"):
            result = doctest.testmod(importlib.import_module(name))
            self.assertEqual(result.failed, 0)
            count += result.attempted
        self.assertGreater(count, 10)

    def test_page(self):
        os.chdir(SOURCE)
        result = doctest.testfile(str(SOURCE / "doc" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 15)


class Numbers(unittest.TestCase):
    every_half = np.arange(65536, dtype=np.uint16).view(np.float16)

    def test_half_is_numpys(self):
        """numpy rounds to nearest even; ties and neighbours of every number of FP16 are among these."""
        values = self.every_half.astype(np.float32)
        with np.errstate(all="ignore"):
            x = np.concatenate([values, values * np.float32(1 + 2**-12), (values + np.roll(values, 1)) / 2])
            wanted, doubles = x.astype(np.float16).astype(np.float32), x.astype(np.float64)
        self.assertTrue(same(ulpscope.round(x, "fp16"), wanted))
        self.assertTrue(same(ulpscope.round(doubles, "fp16"), wanted))

    def test_directions(self):
        """Rounded up is the least number of FP16 that is not below x, found in the list of all."""
        numbers = np.unique(self.every_half[~np.isnan(self.every_half)].astype(np.float64))
        x = np.random.default_rng(1).normal(size=4000) * 10.0 ** np.random.default_rng(2).integers(-8, 5, 4000)
        above, below = numbers[np.searchsorted(numbers, x)], numbers[np.searchsorted(numbers, x, "right") - 1]
        below = np.where(np.isneginf(below), -65504.0, below)
        np.testing.assert_array_equal(ulpscope.round(x, "fp16", "ru"), np.where(np.isneginf(above), -65504.0, above))
        np.testing.assert_array_equal(ulpscope.round(x, "fp16", "rd"), np.where(x > 65504, 65504.0, below))
        towards = ulpscope.round(x, "fp16", "rz")
        self.assertTrue((np.abs(towards) <= np.abs(x)).all() and np.isin(towards, numbers).all())

    def test_stochastic_means(self):
        """The mean of n roundings of a fraction f lies within 4 sqrt(f (1 - f) / n) of f."""
        n = 200_000
        for f in (0.1, 0.5, 0.875):
            mean = (ulpscope.round(np.full(n, 1 + f / 1024), "fp16", "sr", seed=int(f * 8)) - 1).mean() * 1024
            self.assertLess(abs(mean - f), 4 * (f * (1 - f) / n) ** 0.5)
        a, b = (ulpscope.round(np.full(999, 1.3), "bf16", "sr", seed=5, threads=t) for t in (1, 2))
        np.testing.assert_array_equal(a, b)

    def test_in_place_and_types(self):
        x = np.array([1.0003, -2.5], np.float32)
        address = x.ctypes.data
        self.assertIs(ulpscope.round(x, "fp16", out=x), x)
        self.assertEqual(x.ctypes.data, address)
        self.assertEqual(ulpscope.round(np.float16(3), "fp8-e4m3").dtype, np.float32)
        self.assertEqual(ulpscope.round(2**60 + 1, "fp64").dtype, np.float64)
        self.assertEqual(ulpscope.round(np.zeros((0, 3)), "fp16").shape, (0, 3))
        self.assertEqual(ulpscope.round(np.ones((4, 6))[::2, ::3], "fp16").tolist(), [[1, 1], [1, 1]])
        with self.assertRaises(ValueError):
            ulpscope.round(np.ones(4, np.float32), "fp16", out=np.ones(5, np.float32))
        overlapping = np.ones(9, np.float32)
        with self.assertRaises(ValueError):
            ulpscope.round(overlapping[:8], "fp16", out=overlapping[1:])
        with self.assertRaisesRegex(ulpscope.InputError, "not numbers that ONNX has a type for"):
            ulpscope.round(np.array(["a"]), "fp16")
        saturating = ulpscope.Format("fp16", saturate=True, subnormals=False)
        self.assertEqual(ulpscope.round([1e9, 1e-7], saturating).tolist(), [65504.0, 0.0])

    def test_results_are_written_where_numpy_could(self):
        """In another byte order, read-only or mapped, too large, without a word: refused, and nothing is written."""
        x, space = np.array([1, 2, 3, 4], np.float32), np.full(24, 0x5A, np.uint8)
        text = b"\0" * 16
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/m.npy", np.zeros(4, np.float32))
            mapped = np.load(f"{folder}/m.npy", mmap_mode="r")
            refused = [space[:16].view(">f4"), np.frombuffer(text, np.float32), np.asarray(mapped), space[1:17].view(np.float32),
                       np.zeros(8, np.float32)[::2], np.zeros(4, np.float16), np.zeros(5, np.float32), [0.0] * 4]
            for out in refused:
                with self.assertRaises(ulpscope.UsageError):
                    ulpscope.round(x, "fp16", out=out)
            writeable = np.load(f"{folder}/m.npy", mmap_mode="r+")
            self.assertEqual(ulpscope.round(x, "fp16", out=writeable).tolist(), x.tolist())
            del mapped, writeable, refused, out
        self.assertTrue((space == 0x5A).all())
        self.assertEqual(text, b"\0" * 16)

    def test_operands_of_every_layout(self):
        """Other byte orders, steps and places in memory have the same values."""
        x = np.random.default_rng(5).standard_normal((16, 16)).astype(np.float32)
        for kind in (np.float16, np.float32, np.float64):
            given = x.astype(kind)
            moved = np.frombuffer(b"." + given.tobytes(), np.uint8)[1:].view(kind).reshape(given.shape)
            self.assertFalse(moved.flags.aligned)
            for other in (given.astype(np.dtype(kind).newbyteorder(">")), moved, np.repeat(given, 2, 0)[::2], np.asfortranarray(given)):
                self.assertTrue(same(ulpscope.round(other, "bf16"), ulpscope.round(given, "bf16")))
                self.assertTrue(same(ulpscope.encode(other, "bf16"), ulpscope.encode(given, "bf16")))
                self.assertTrue(same(ulpscope.matmul(other, given, "fp16@h200"), ulpscope.matmul(given, given, "fp16@h200")))
        half, unit = x.astype(np.float16), "h200.mma.f16.f32"
        wanted = ulpscope.mma(unit, half, half, x)
        for a, c in ((half.astype(">f2"), x.astype(">f4")), (half.view(np.uint16).astype(">u2"), x.view(np.uint32).astype(">u4"))):
            np.testing.assert_array_equal(ulpscope.mma(unit, a, half, c), wanted)

    def test_inputs_as_people_have_them(self):
        """In the model's order, under the names that numpy.savez gives, and of other types that hold the same."""
        model, x = ulpscope.Model(MODEL), INPUTS["patches"]
        whole = np.rint(x * 4)
        wanted = model.run({"patches": whole})["logits"]
        for kind in (np.int64, np.int8, np.float64, np.uint8):
            given = whole.astype(kind)
            if (given == whole).all():
                self.assertTrue(same(model.run({"patches": given})["logits"], wanted))
        self.assertTrue(same(model.run([whole])["logits"], wanted))
        self.assertEqual(len(model.audit([whole], ["fp16"]).lanes), 1)
        with tempfile.TemporaryDirectory() as folder, self.assertWarnsRegex(UserWarning, "'arr_0' is input patches"):
            np.savez(f"{folder}/x.npz", whole.astype(np.int64))
            with np.load(f"{folder}/x.npz") as arrays:
                self.assertTrue(same(model.run(arrays)["logits"], wanted))
        recorded = model.run(INPUTS, "bf16")["logits"]
        self.assertEqual(model.compare({"other": {"arr_0": recorded}}, INPUTS, ["bf16"]).files[0].by, model.compare({"other": {"logits": recorded}}, INPUTS, ["bf16"]).files[0].by)
        big = np.full(x.shape, (1 << 24) + 1, np.int64)
        with self.assertRaisesRegex(ulpscope.InputError, "element 0 of the INT64 array, 16777217"):
            model.run({"patches": big})
        with self.assertRaisesRegex(ulpscope.InputError, "'patch'"):
            model.run({"patch": x})
        with self.assertRaises(ulpscope.UsageError):
            model.run([x, x])

    def test_integers_are_not_cut(self):
        x, model = np.ones(4, np.float32), ulpscope.Model(MODEL)
        for seed in (-1, 1 << 64):
            with self.assertRaisesRegex(ulpscope.UsageError, str(seed)):
                ulpscope.round(x, "fp16", "sr", seed=seed)
            with self.assertRaisesRegex(ulpscope.UsageError, "seed"):
                model.random_inputs(seed)
        self.assertEqual(ulpscope.round(x, "fp16", "sr", seed=np.uint64((1 << 64) - 1)).tolist(), x.tolist())
        for size in (-2, (1 << 64) + 2, 1 << 63):
            with self.assertRaises(ValueError):
                model.random_inputs(dims={"batch": size})
        self.assertEqual(model.random_inputs(dims={"batch": np.int64(2)})["patches"].shape[0], 2)
        for threads in (-1, 1 << 32, (1 << 32) + 1):
            for call in (lambda: ulpscope.round(x, "fp16", threads=threads), lambda: ulpscope.matmul(x, x, "fp16", threads=threads),
                         lambda: ulpscope.mma("h200.mma.f16.f32", np.ones((1, 16), np.float16), np.ones((1, 16), np.float16), threads=threads),
                         lambda: model.run(INPUTS, threads=threads), lambda: model.audit(INPUTS, threads=threads)):
                with self.assertRaises(ulpscope.UsageError):
                    call()
        with self.assertRaises(ulpscope.UsageError):
            ulpscope.Format("fp16\0junk")

    def test_powers_are_ml_dtypes(self):
        """E8M0 of every sign, exponent and the fractions around halfway; not of subnormals above 2^-127, which ml_dtypes does not round to the nearest."""
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        fractions = np.array([0, 1, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF], np.uint32)
        patterns = ((np.arange(512, dtype=np.uint32) << 23)[:, None] | fractions).ravel()
        x = patterns[(patterns >> 23 != 0) | (patterns <= 0x400000)].view(np.float32)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ulpscope.encode(x, "fp8-e8m0"), x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))

    def test_narrow_formats_are_ml_dtypes(self):
        """OCP's FP4 and FP6: every FP16 pattern but NaN, which these formats lack, and what lies beyond their largest, where ml_dtypes saturates, too."""
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        x = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
        x = x[~np.isnan(x)]
        self.assertEqual(len(x), 65536 - 2046)
        for ours, theirs in (("fp4-e2m1", "float4_e2m1fn"), ("fp6-e2m3", "float6_e2m3fn"), ("fp6-e3m2", "float6_e3m2fn")):
            np.testing.assert_array_equal(ulpscope.encode(x, ours), x.astype(getattr(ml_dtypes, theirs)).view(np.uint8), ours)

    def test_memory_of_large_results_is_used_again(self):
        x = np.random.default_rng(3).standard_normal(1 << 19).astype(np.float32)
        wanted = x.astype(np.float16).astype(np.float32)
        first = ulpscope.round(x, "fp16")
        view = first.reshape(2, -1)[1]
        second = ulpscope.round(-x, "fp16")
        self.assertFalse(np.may_share_memory(first, second))
        place = first.ctypes.data
        del first, second
        third = ulpscope.round(np.zeros_like(x), "fp16")  # while the view keeps the first one's memory
        self.assertTrue(same(view, wanted[wanted.size // 2 :]))
        self.assertFalse(third.any())
        del view
        self.assertEqual(ulpscope.round(x, "fp16").ctypes.data, place)
        self.assertTrue(same(ulpscope.round(x[:-100], "fp16"), wanted[:-100]))
        self.assertTrue(same(ulpscope.round(np.append(x, x), "fp16"), np.append(wanted, wanted)))

    def test_matmul(self):
        rng = np.random.default_rng(3)
        a, b = rng.integers(-9, 9, (2, 3, 8)).astype(np.float32), rng.integers(-9, 9, (8, 5)).astype(np.float32)
        for arithmetic in ("fp32", "fp64", "fp16@h200", "mpfr:80"):  # sums of small integers are exact
            np.testing.assert_array_equal(ulpscope.matmul(a, b, arithmetic), a @ b)
        self.assertEqual(ulpscope.matmul(a.astype(np.float16), b.astype(np.float64), "fp64").dtype, np.float64)
        np.testing.assert_array_equal(ulpscope.matmul(a.astype("i4"), b.astype("i4"), "fp16"), (a @ b).astype("i4"))

    def test_mma_is_the_programs(self):
        a = np.random.default_rng(4).normal(size=(2, 5, 32)).astype(np.float16)
        b = np.random.default_rng(5).normal(size=(2, 7, 32)).astype(np.float16)
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/in.npz", a=a.view(np.uint16), b=b.view(np.uint16))
            program("mma", "h200.mma.f16.f32", f"{folder}/in.npz", f"{folder}/out.npz")
            wanted = np.load(f"{folder}/out.npz")["d"]
        np.testing.assert_array_equal(ulpscope.mma("h200.mma.f16.f32", a, b), wanted)
        np.testing.assert_array_equal(ulpscope.mma("h200.mma.f16.f32", a[0], b[0]), wanted[0])
        # a model's product on the unit has the same sums
        product = ulpscope.matmul(a[0].astype("f4"), b[0].T.astype("f4"), "fp16@h200")
        np.testing.assert_array_equal(product, ulpscope.round(wanted[0].view(np.float32), "fp16"))
        self.assertGreater(len(ulpscope.units()), 10)


def without_files(lanes, samples):
    """The same, but that the commands that are proposed name no files, which arrays have not."""
    for lane in lanes:
        for name in samples:
            for member, said in lane.items():
                if isinstance(said, str):
                    lane[member] = said.replace(f" -i {name}", "")
    return lanes


class Models(unittest.TestCase):
    def test_run_is_the_programs(self):
        model = ulpscope.Model(MODEL)
        for arithmetic in ("fp16", "bf16@h200", "fp64"):
            with tempfile.TemporaryDirectory() as folder:
                program("run", MODEL, "-i", SOURCE / "examples/digits/inputs.npz", "-a", arithmetic, "--outputs", f"{folder}/o.npz")
                wanted = dict(np.load(f"{folder}/o.npz"))
            for name, array in model.run(INPUTS, arithmetic).items():
                np.testing.assert_array_equal(array, wanted[name])

    def test_sources(self):
        data = pathlib.Path(MODEL).read_bytes()
        a, b = ulpscope.Model(MODEL).run(INPUTS, "fp32"), ulpscope.Model(data).run(INPUTS, "fp32")
        np.testing.assert_array_equal(a["logits"], b["logits"])
        self.assertEqual(ulpscope.Model(pathlib.Path(MODEL)).inputs[0].shape, ("batch", 16, 4))

    def test_values_and_memory(self):
        """Arrays outlive the model that they come from."""
        outputs = ulpscope.Model(MODEL).run(INPUTS, "fp32", values="*")
        gc.collect()
        copy = {name: array.copy() for name, array in outputs.items()}
        again = ulpscope.Model(MODEL).run(INPUTS, "fp32", values=list(outputs))
        for name, array in again.items():
            self.assertTrue(same(array, copy[name]) and same(outputs[name], copy[name]))
        self.assertGreater(len(outputs), 35)
        with self.assertRaisesRegex(ulpscope.InputError, "nothing"):
            ulpscope.Model(MODEL).run(INPUTS, "fp32", values=["nothing"])

    def test_inputs(self):
        model = ulpscope.Model(MODEL)
        made = model.random_inputs(3, dims={"batch": 2}, ranges={"": (-1, 1)})
        self.assertEqual(made["patches"].shape, (2, 16, 4))
        np.testing.assert_array_equal(made["patches"], model.random_inputs(3, dims={"batch": 2}, ranges={"": (-1, 1)})["patches"])
        lists = {"patches": made["patches"].tolist()}
        self.assertEqual([model.audit(inputs, "fp16").drawn for inputs in (made, lists)], [True, False])
        np.testing.assert_array_equal(model.run(lists, "fp32")["logits"], model.run(made, "fp32")["logits"])

    def test_audit_is_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/b.npz", patches=-INPUTS["patches"])
            samples = {str(SOURCE / "examples/digits/inputs.npz"): INPUTS, f"{folder}/b.npz": dict(np.load(f"{folder}/b.npz"))}
            audit = ulpscope.Model(MODEL).audit(samples, ["fp16", "bf16"], keep={"op:Softmax": "fp32"})
            files = [word for name in samples for word in ("-i", name)]
            program("audit", MODEL, *files, "-a", "fp16,bf16", "--keep", "op:Softmax=fp32", "--out", folder)
            wanted = json.loads((pathlib.Path(folder) / "report.json").read_text())
        report = audit.report()
        for part in (report, wanted):
            for key in ("created", "seconds", "peak_bytes", "samples", "command", "time", "memory"):
                part.pop(key, None)
        self.assertEqual(report["lanes"], without_files(wanted["lanes"], samples))
        lane = audit.lanes[0]
        node = lane["block/norm1/Sum"]
        self.assertTrue(node.outputs[0].range.headroom_bits < 0 and lane.first_born is not None)
        self.assertEqual(node, lane.nodes[node.index])
        self.assertTrue(audit.check("max_abs=1e-9") and not audit.check("max_abs=1e9"))
        self.assertRegex(audit._repr_html_(), r"(?s)<pre>fp16,keep=op:Softmax=fp32: broken \(classify by name\): .*overflows")
        self.assertEqual(repr(audit), "<ulpscope.Audit: model.onnx: fp16,keep=op:Softmax=fp32 broken, bf16,keep=op:Softmax=fp32 fine>")
        judged = lane.outputs[0].judged
        for said in (f"{judged.top1_flips:.0f} of {judged.rows:.0f}", f"{judged.sqnr_db:.1f} → ", "Least headroom", judged.text):
            self.assertIn(said, audit._repr_html_())
        self.assertAlmostEqual(sum(n.share for n in audit.ranking(lane.name)), 1 - lane.attribution.residual, delta=0.2)

    def several(self, folder):
        """Samples of two shapes, by the names of their files."""
        arrays = [INPUTS["patches"][:3], -INPUTS["patches"][1:3], INPUTS["patches"][1:4] * 2]
        for i, array in enumerate(arrays):
            np.savez(f"{folder}/{i}.npz", patches=array)
        return {f"{folder}/{i}.npz": {"patches": array} for i, array in enumerate(arrays)}

    def test_audit_of_several_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = self.several(folder)
            audit = ulpscope.Model(MODEL).audit(samples, ["fp16", "fp32"], reference="fp64")
            files = [word for name in samples for word in ("-i", name)]
            program("audit", MODEL, *files, "-a", "fp16,fp32", "--reference", "fp64", "--out", folder)
            wanted = json.loads((pathlib.Path(folder) / "report.json").read_text())
            report = audit.report()
        self.assertEqual(report["lanes"], without_files(wanted["lanes"], samples))
        self.assertEqual(report["reference"], wanted["reference"])
        # what is to be tried was run on samples of the first one's shapes, and says so
        remedy = audit.lanes[0].remedy
        self.assertEqual(remedy.ran + remedy.left_out, 3)
        self.assertTrue(remedy.left_out and f"in the {remedy.ran} of 3 samples that were run" in " ".join(audit.summary(100).split()))
        for costs in (report["costs"], wanted["costs"]):
            self.assertEqual([cost["name"] for cost in costs], ["fp64", "fp16", "fp32"])
            self.assertTrue(all(cost["seconds"] > 0 for cost in costs))

    def test_tolerance_of_several_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = self.several(folder)
            tolerance = ulpscope.Model(MODEL).tolerance(samples, "bf16", trials=2)
            files = [word for name in samples for word in ("-i", name)]
            program("tolerance", MODEL, *files, "-a", "bf16", "--trials", "2", "--json", f"{folder}/t.json")
            wanted = json.loads((pathlib.Path(folder) / "t.json").read_text())
        self.assertEqual((tolerance.sample_count, wanted["sample_count"]), (3, 3))
        for output, expected in zip(tolerance.outputs, wanted["outputs"]):
            self.assertEqual((output.atol, output.max_abs, output.sample), (expected["atol"], expected["max_abs"], expected["sample"]))
            ones = [ulpscope.Model(MODEL).tolerance(sample, "bf16", trials=2) for sample in samples.values()]
            self.assertEqual(tolerance.excess(output.name, 1e-6, 1e-3), max(one.excess(output.name, 1e-6, 1e-3) for one in ones))

    def test_overflow_of_several_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = self.several(folder)
        forecast = ulpscope.Model(MODEL).overflow(samples, "fp16")
        ones = [ulpscope.Model(MODEL).overflow(sample, "fp16") for sample in samples.values()]
        self.assertTrue(forecast.lanes[0].remedies)
        for n, node in enumerate(forecast.lanes[0].nodes):
            for o, output in enumerate(node.outputs):
                self.assertEqual(output.largest, max(one.lanes[0].nodes[n].outputs[o].largest for one in ones), output.name)

    def test_conclusions(self):
        model = ulpscope.Model(MODEL)
        forecast = model.overflow(INPUTS, ["fp16", "bf16"])
        self.assertEqual([n.name for n in forecast.lanes[0].nodes if n.born], ["block/norm1/Sum"])
        self.assertTrue(forecast.lanes[0].remedies and not forecast.lanes[1].harmful_count)
        plan = model.plan(INPUTS, "sqnr_db=50")
        self.assertTrue(plan.met and plan.ratio <= 1 < plan.before)
        kept = {n.name: "fp32" for n in plan.kept}
        self.assertFalse(model.audit(INPUTS, "fp16", keep=kept, attribute=False).check("sqnr_db=50"))
        self.assertTrue(model.prove("fp16", ranges={"patches": (0, 1)}).proven)
        self.assertFalse(model.prove("fp16", ranges={"patches": (-1e4, 1e4)}).proven)
        self.assertIn("decomposed-layernorm", [f.rule for f in model.lint().findings])
        tolerance = model.tolerance(INPUTS, "tf32", trials=2)
        self.assertGreater(tolerance.excess("logits", 1e-9), 1 > 0)
        self.assertTrue(model.doctor(INPUTS, "torch").fine)  # as the graph is
        doctor = model.doctor(INPUTS, "torch", arithmetic="torch:fp16")
        self.assertFalse(doctor.fine)
        self.assertEqual((doctor.causes[0].reason, doctor.causes[0].node, doctor.arithmetic), ("overflow", "block/norm1/Sum", "torch:fp16"))
        self.assertTrue(model.doctor(INPUTS, arithmetic="fp32", task="classify").fine)
        for task in ("signal", "classify"):
            self.assertEqual(model.audit(INPUTS, "e8m4", task=task)[0].outputs[0].judged.task, task)
        with self.assertRaisesRegex(ulpscope.UsageError, "expected one of none, classify"):
            model.doctor(INPUTS, task="sleep")
        for wrong in (np.nan, np.inf, -1.0):
            with self.assertRaises(ulpscope.UsageError):
                model.doctor(INPUTS, tolerance=wrong)
        with tempfile.TemporaryDirectory() as folder:
            fixed = os.path.join(folder, "fixed.onnx")
            fix = model.fix(INPUTS, "torch", path=fixed)
            self.assertTrue(fix.met and fix.made_count and fix.path == fixed)
            self.assertTrue(ulpscope.Model(fixed).doctor(INPUTS, "torch").fine)
            self.assertEqual(fix.report()["schema"], 2)
            self.assertIsNone(model.fix(INPUTS, path=fixed, arithmetic="fp32").path)
            with self.assertRaisesRegex(ulpscope.UsageError, "answers a rule 'none'"):
                model.fix(INPUTS, "torch", path=fixed, only=["none"])
        scales = model.scales(INPUTS, "bf16,factor=nvfp4")
        gains = [choice.gain_db for choice in scales.choices]
        self.assertEqual(gains, sorted((choice.sqnr_db - scales.sqnr_db for choice in scales.choices), reverse=True))
        self.assertFalse(model.scales(INPUTS, choices=False).choices)
        with self.assertRaisesRegex(ulpscope.LimitError, "input patches holds NaN or infinity"):
            model.scales({name: np.full_like(value, np.nan) for name, value in INPUTS.items()})
        for result in (forecast, plan, doctor, model.lint(), tolerance, model.prove("fp16")):
            self.assertIn("<pre>", result._repr_html_())
            self.assertRegex(repr(result), r"^<ulpscope\.[A-Z][A-Za-z]+: [^\n]{10,300}>$")
            self.assertEqual(result.report()["schema"], 2)
            self.assertGreater(len(str(result)), 40)

    def equal(self, record, value, where):
        """Records beside the JSON of the library's own writer, which leaves out what is nothing; how many figures were."""
        if isinstance(value, dict):
            has = record.get if isinstance(record, dict) else lambda name: getattr(record, {"from": "from_", "in": "in_"}.get(name, name), KeyError)
            return sum(self.equal(has(name), part, f"{where}.{name}") for name, part in value.items() if name not in self.apart and has(name) is not KeyError)
        if isinstance(value, list):
            items = list(record.values()) if isinstance(record, dict) else record
            self.assertIsInstance(items, list, where)
            self.assertEqual(len(items), len(value), where)
            return sum(self.equal(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(items, value)))
        if isinstance(record, int) and isinstance(value, str):  # of a node, by name
            record = self.nodes[record]
        if value is None:
            self.assertTrue(record is None or not np.isfinite(record), where)
        else:
            self.assertEqual(record, value, where)
        return 1

    def test_records_are_the_json(self):
        model = ulpscope.Model(MODEL)
        self.nodes = [name for name, _ in model.nodes]
        self.apart = ("targets", "others", "keep")  # names in JSON, bits in the struct; without the recording itself; a list of nodes by arithmetic
        right = model.run(INPUTS, "bf16", values="*")
        for result, least in (
            (model.audit([INPUTS, INPUTS], ["fp16", "bf16"], keep={"op:Softmax": "fp32"}, certify=True), 5000),
            (model.overflow(INPUTS, ["fp16", "bf16"]), 500), (model.plan(INPUTS, "sqnr_db=50"), 100), (model.plan(INPUTS, "sqnr_db=30", formats=FORMATS), 100),
            (model.prove("fp16", inputs=INPUTS), 300), (model.lint(), 10), (model.tolerance(INPUTS, "tf32", trials=2), 20),
            (model.compare({"right": right}, INPUTS, ["fp32", "bf16"], trials=2), 500),
        ):
            report = result.report()
            self.assertGreater(self.equal(result, report, type(result).__name__), least)
            self.assertLess(len(report.keys() - vars(result).keys()), 12)

    def test_gates_do_not_open_on_nothing(self):
        model = ulpscope.Model(MODEL)
        good = dict(INPUTS)
        name = next(iter(good))
        bad = {**good, name: good[name].copy()}
        bad[name].flat[0] = np.nan
        for formats in ((), FORMATS):
            with self.assertRaisesRegex(ulpscope.LimitError, f"input {name} .*NaN or infinity"):
                model.plan(bad, "sqnr_db=30", formats=formats)
            with self.assertRaisesRegex(ulpscope.LimitError, "no finite element"):  # NaN reaches every logit
                model.plan({name: np.full_like(good[name], np.nan)}, "sqnr_db=30", formats=formats, allow_nonfinite_inputs=True)
        recorded = model.run(good, "fp16")
        with self.assertRaisesRegex(ulpscope.LimitError, f"input {name} .*NaN or infinity"):
            model.compare({"bad": recorded}, bad, "fp16")

    def test_plan_is_taken(self):
        """What a plan keeps, given to the methods that keep nodes: the figures that the plan said."""
        model = ulpscope.Model(MODEL)
        plan = model.plan(INPUTS, "sqnr_db=50")
        said = plan.samples[0].value
        audit = model.audit(INPUTS, "fp16", plan=plan)
        self.assertEqual(audit.lanes[0].outputs[0].entire.sqnr_db, said)
        self.assertEqual([audit.lanes[0].nodes[k.index].name for k in plan.kept], [k.name for k in plan.kept])
        self.assertEqual(model.audit(INPUTS, "fp16", keep=plan.keep, attribute=False).lanes[0].outputs[0].entire.sqnr_db, said)
        kept, plain = (model.run(INPUTS, "fp16", keep=k)["logits"] for k in (plan, None))
        self.assertTrue(same(kept, model.run(INPUTS, "fp16", keep=dict(plan.keep))["logits"]) and not same(kept, plain))
        with self.assertRaisesRegex(ulpscope.UsageError, "give one"):
            model.audit(INPUTS, "fp16", plan=plan, keep={"op:Add": "fp32"})

    def test_pickle(self):
        """Results travel with their figures, texts and files."""
        model = ulpscope.Model(MODEL)
        recorded = model.run(INPUTS, "bf16")
        results = (model.audit(INPUTS, "fp16"), model.plan(INPUTS, "sqnr_db=50"), model.lint(), model.overflow(INPUTS), model.prove("fp16"), model.tolerance(INPUTS, "bf16"),
                   model.compare({"r": recorded}, INPUTS, "bf16", trials=2), model.doctor(INPUTS))
        for result in results:
            again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))
            self.assertEqual((again.summary(), repr(again), again.report(), again._repr_html_()), (result.summary(), repr(result), result.report(), result._repr_html_()))
            with tempfile.TemporaryDirectory() as folder:
                written = []
                for name, one in (("a", result), ("b", again)):
                    path = pathlib.Path(folder, name)
                    one.write(path)
                    written.append({f.name: f.read_bytes() for f in path.iterdir()} if path.is_dir() else path.read_bytes())
                self.assertEqual(*written)
        audit, plan = (pickle.loads(pickle.dumps(result)) for result in results[:2])
        self.assertEqual(audit.lanes[0].nodes[5].outputs[0].range, results[0].lanes[0].nodes[5].outputs[0].range)
        self.assertEqual(model.audit(INPUTS, "fp16", plan=plan, attribute=False).lanes[0].outputs[0].entire.sqnr_db, plan.samples[0].value)
        with self.assertRaisesRegex(ulpscope.UsageError, "was pickled"):
            audit.check("max_abs=1")
        self.assertTrue(same(pickle.loads(pickle.dumps(model)).run(INPUTS, "bf16")["logits"], recorded["logits"]))
        with self.assertRaisesRegex(ulpscope.UsageError, "pickle the bytes"):
            pickle.dumps(ulpscope.Model(pathlib.Path(MODEL).read_bytes()))

    def test_plots(self):
        try:
            import matplotlib
        except ImportError:
            with self.assertRaisesRegex(ulpscope.MissingPackageError, "matplotlib"):
                ulpscope.Model(MODEL).audit(INPUTS).plot()
            self.skipTest("no matplotlib: nothing is drawn")
        matplotlib.use("Agg")
        model = ulpscope.Model(MODEL)
        audit = model.audit(INPUTS, ["fp16", "tf32"])
        introduced, carried = audit.plot("tf32").get_lines()
        output = audit["tf32"].nodes[9].outputs[0]
        self.assertEqual(introduced.get_ydata()[9], output.introduced.rms / output.range.ref_rms)
        self.assertEqual(carried.get_ydata()[9], output.carried.rms / output.range.ref_rms)

    def test_formats(self):
        model = ulpscope.Model(MODEL)
        bits = model.plan(INPUTS, "sqnr_db=30", formats=FORMATS, held_out=INPUTS, cost="macs", threads=2)
        self.assertTrue(bits.met and bits.minimal and bits.ratio <= 1 and bits.validated_met == 1)
        self.assertAlmostEqual(sum(n.weight * n.bits for n in bits.layers), bits.total_cost)
        self.assertLessEqual(bits.bits, min(one.bits for one in bits.uniforms if one.ratio <= 1))
        with tempfile.TemporaryDirectory() as folder:
            bits.write(folder)
            plan = json.loads(pathlib.Path(folder, "plan.json").read_text())
        # the file, read by something else than the library, and told to an audit: the same figure
        keep = {node: entry["arithmetic"] for entry in plan["keep"] for node in entry["nodes"]}
        audit = model.audit(INPUTS, plan["arithmetic"], keep=keep, attribute=False)
        self.assertFalse(audit.check("sqnr_db=30"))
        self.assertIn("<pre>Of ", bits._repr_html_())
        self.assertTrue(str(bits).startswith("Of "))
        self.assertLessEqual({n.format for n in bits.layers}, set(FORMATS))
        self.assertFalse(model.plan(INPUTS, "sqnr_db=300", formats=FORMATS).met)
        scaled = model.plan(INPUTS, formats=["nvfp4", "fp32"], budget=6)
        self.assertTrue(not scaled.by_node and scaled.bits <= 6 and {n.format for n in scaled.layers} <= {"nvfp4", "fp32"})
        with self.assertRaisesRegex(ulpscope.UsageError, "gold"):
            model.plan(INPUTS, "sqnr_db=30", formats=FORMATS, cost="gold")

    def test_quantise(self):
        model = ulpscope.Model(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            found = model.quantise(INPUTS, "ort", out=folder, held_out=INPUTS)
            self.assertTrue(not found.by_node and {n.format for n in found.layers} == {"uint8"})
            self.assertEqual(pathlib.Path(found.quantised), pathlib.Path(folder, "quantised.onnx"))
            # what was said of the file is what the file gives
            written = ulpscope.Model(found.quantised).run(INPUTS, "ort-cpu,qdq=integer")
            self.assertEqual(set(written), set(model.run(INPUTS)))
        half = model.quantise(INPUTS, formats=["int8", "fp32"], share=0.5, calibrator="max")
        self.assertLessEqual({n.format for n in half.layers}, {"int8", "fp32"})
        self.assertGreaterEqual(sum(n.weight for n in half.layers if n.format == "int8"), 0.5 * sum(n.weight for n in half.layers))
        with self.assertRaisesRegex(ValueError, "expected 'max'"):
            model.quantise(INPUTS, calibrator="entropy")
        with self.assertRaisesRegex(ulpscope.UsageError, "no target is called so"):
            model.quantise(INPUTS, "orc")
        with self.assertRaisesRegex(ulpscope.UsageError, "share: 50: expected 0 to 1"):
            model.quantise(INPUTS, "ort", share=50)

    def test_outputs(self):
        """What a model in use is read from is not written, by whatever name, and nothing is written through a link."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            plain = pathlib.Path(MODEL).read_bytes()
            (folder / "own.onnx").write_bytes(plain)
            (folder / "victim").write_text("mine")
            os.link(folder / "own.onnx", folder / "hard.csv")
            os.symlink("own.onnx", folder / "soft.html")
            os.symlink("victim", folder / "link.json")
            os.symlink("victim", folder / "proof.json")
            model = ulpscope.Model(folder / "own.onnx")
            lint = model.lint()
            for output in ("own.onnx", "hard.csv", "soft.html"):
                with self.assertRaisesRegex(ulpscope.UsageError, "nothing is written to it"):
                    lint.write(folder / output)
            with self.assertRaisesRegex(ulpscope.UsageError, "is a symbolic link"):
                lint.write(folder / "link.json")
            with self.assertRaisesRegex(ulpscope.UsageError, "is a symbolic link"):
                model.prove().write(folder)
            self.assertEqual(((folder / "own.onnx").read_bytes(), (folder / "victim").read_text()), (plain, "mine"))
            lint.write(folder / "lint.json")
            lint.write(folder / "lint.json")
            del model
            gc.collect()
            lint.write(folder / "own.onnx")  # nobody reads it any more
            self.assertNotEqual((folder / "own.onnx").read_bytes(), plain)

    def test_comparison(self):
        model = ulpscope.Model(MODEL)
        right = model.run(INPUTS, "bf16", values="*")
        wrong = {name: array.copy() for name, array in right.items()}
        for name in ("block/norm1/Bias_out", "logits"):
            wrong[name][..., 0] += 3
        comparison = model.compare({"right": right, "wrong": wrong}, INPUTS, ["fp32", "bf16"], trials=2)
        first, second = comparison.files
        self.assertTrue(first.explained and first.by == "bf16" and first.first_unexplained is None)
        self.assertTrue(not second.explained and second.first_unexplained == "block/norm1/Bias_out")
        self.assertEqual((second.name, second.cause.kind), ("wrong", "node"))
        self.assertEqual(second.cause.nodes, ["block/norm1/Bias"])
        last = comparison.tensors[-1]
        self.assertEqual((last.name, list(last.values), list(last.expected)[:2]), ("logits", ["right", "wrong"], ["fp32", "bf16"]))  # then their neighbours
        self.assertTrue(last.values["right"].explained and last.values["wrong"].arithmetics["bf16"].max_abs > 1)
        self.assertIn("right", comparison.summary(100) + comparison._repr_html_())

    def test_assert_explained(self):
        try:
            from onnx import helper  # noqa: F401  a folder of that name is no package
        except ImportError:
            self.skipTest("no onnx")
        from ulpscope.testing import assert_explained

        numbers = np.random.default_rng(0).standard_normal((2, 64, 512)).astype(np.float32)
        read = [numbers[0], np.ascontiguousarray(numbers[1].T)]
        made = ulpscope.matmul(*read, "bf16@h200")
        self.assertTrue(assert_explained(made, "MatMul", read, "bf16@h200").files[0].explained)
        holed = made.copy()
        holed[3, 4] = np.nan
        # another format, another result, an element, another shape
        for actual, arithmetic in ((made, "fp16@h200"), (made, "fp32"), (made * np.float32(1.1), "bf16@h200"), (holed, "bf16@h200"), (made[:10], "bf16@h200")):
            with self.assertRaisesRegex(AssertionError, "NOT explained"):
                assert_explained(actual, "MatMul", read, arithmetic)
        half = read[0].astype(np.float16)
        exact = np.exp(half.astype(np.float64))
        softmax = (exact / exact.sum(1, keepdims=True)).astype(np.float16)
        assert_explained(softmax, "Softmax", [half], "fp16", attributes={"axis": -1})

    def test_frames(self):
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pandas"):
                ulpscope.Model(MODEL).lint().frame()
            self.skipTest("no pandas: frames are not made")
        frame = ulpscope.Model(MODEL).audit(INPUTS, ["fp16", "bf16"]).frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(len(frame), 80)
        row = frame[(frame.lane == "fp16") & (frame.node == "block/norm1/Sum")].iloc[0]
        self.assertTrue(row["range.headroom_bits"] < 0 and row["entire.nonfinite"] > 0 and row["op"] == "ReduceSum")
        self.assertEqual(len(ulpscope.Model(MODEL).overflow(INPUTS).frame()), 40)
        bits = ulpscope.Model(MODEL).plan(INPUTS, "sqnr_db=30", formats=FORMATS)
        self.assertEqual(len(bits.frame()), len(bits.layers))
        with tempfile.TemporaryDirectory() as folder:
            fix = ulpscope.Model(MODEL).fix(INPUTS, "torch", path=pathlib.Path(folder, "fixed.onnx"))
        doctor = ulpscope.Model(MODEL).doctor(INPUTS, "torch", arithmetic="torch:fp16")
        self.assertEqual(list(doctor.frame().node), [cause.node for cause in doctor.causes])
        self.assertTrue(doctor.causes and fix.edits)
        self.assertEqual(list(fix.frame().rule), [edit.rule for edit in fix.edits])

    def test_lines(self):
        """A result in a line, whatever the names of its arithmetics."""
        model = ulpscope.Model(MODEL)
        audit = model.audit(INPUTS, ["fp16", "bf16"], plan=model.plan(INPUTS, "sqnr_db=80"), attribute=False)
        self.assertGreater(len(audit.lanes[0].name), 300)
        self.assertLess(len(repr(audit)), 300)
        self.assertRegex(repr(audit), r"fp16,keep=[^ ]*,\.\.\. (fine|borderline|broken), bf16,keep=")


class Arrays(unittest.TestCase):
    """Whatever holds numbers is taken everywhere, with its exact values."""

    def each(self, array):
        values = np.asarray(array.float().detach() if hasattr(array, "detach") else array).astype(np.float32)
        self.assertTrue(same(ulpscope.round(array, "fp32"), values))
        self.assertEqual(ulpscope.encode(array, "bf16").tolist(), ulpscope.encode(values, "bf16").tolist())
        self.assertTrue(same(ulpscope.matmul(array, array, "fp32"), ulpscope.matmul(values, values, "fp32")))
        self.assertTrue(same(ulpscope.matmul(array, np.eye(4, dtype=np.float32), "fp32"), values))
        if values.dtype.kind == "f" and str(array.dtype).find("int") < 0:
            inputs = dict(INPUTS)
            name = next(iter(inputs))
            given = np.resize(values, inputs[name].shape)
            cast = given.astype(array.dtype) if isinstance(array, np.ndarray) else type(array)(given).to(array.dtype)
            model = ulpscope.Model(MODEL)
            self.assertTrue(same(model.run({name: cast}, "fp32")["logits"], model.run({name: given}, "fp32")["logits"]))
            self.assertEqual(model.audit({name: cast}, "fp16", attribute=False).lanes[0].outputs[0].entire, model.audit({name: given}, "fp16", attribute=False).lanes[0].outputs[0].entire)

    numbers = np.array([[1.5, -2, 0.25, 3], [0, 1, -1, 2], [4, 0.5, -0.5, 1], [1, 1, 2, -3]], np.float32)

    def test_numpys(self):
        self.each(self.numbers.astype(np.float16))
        self.each(self.numbers.astype(np.float64))
        self.each(self.numbers.astype(np.int8))
        self.whole_numbers(np.int8)
        patterns = np.array([0x38, 0xFE], np.uint8)
        self.assertEqual(ulpscope.decode_bits(patterns.view(np.int8), "fp8-e4m3").tolist(), [1.0, -448.0])
        self.assertEqual(ulpscope.decode_bits(np.array([0x3F80, -0x4000], ">i2"), "bf16").tolist(), [1.0, -2.0])
        ones = np.full((16, 16), 0x3C00, np.int16)
        self.assertTrue(same(ulpscope.mma("h200.mma.f16.f32", ones, -ones), ulpscope.mma("h200.mma.f16.f32", ones.view(np.uint16), (-ones).view(np.uint16))))

    def whole_numbers(self, dtype, make=np.asarray):
        """Integers for an input of floats, where these hold each."""
        model, name = ulpscope.Model(MODEL), next(iter(INPUTS))
        whole = np.resize(np.arange(-3, 5), INPUTS[name].shape)
        self.assertTrue(same(model.run({name: make(whole.astype(dtype))}, "fp32")["logits"], model.run({name: whole.astype(np.float32)}, "fp32")["logits"]))
        self.assertTrue(same(model.run({name: make(whole)}, "fp32")["logits"], model.run({name: whole.astype(np.float32)}, "fp32")["logits"]))
        with self.assertRaisesRegex(ulpscope.InputError, "INT64"):
            model.run({name: make(whole + (1 << 24))}, "fp32")

    def test_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            self.each(self.numbers.astype(getattr(ml_dtypes, name)))
        self.assertEqual(ulpscope.round(self.numbers.astype(ml_dtypes.float4_e2m1fn), "fp32").tolist(), self.numbers.astype(ml_dtypes.float4_e2m1fn).astype(np.float32).tolist())

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        tensor = torch.tensor(self.numbers)
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8):
            self.each(tensor.to(dtype))
        self.whole_numbers(np.int8, torch.tensor)
        self.assertEqual(ulpscope.decode_bits(tensor.bfloat16().view(torch.int16), "bf16").tolist(), self.numbers.tolist())
        self.each(tensor.clone().requires_grad_())

    def test_others_are_refused(self):
        model = ulpscope.Model(MODEL)
        audit = model.audit(INPUTS, "fp16", attribute=False)
        for call, said in (
            (lambda: ulpscope.round([[1], [1, 2]], "fp16"), "numpy makes no array"),
            (lambda: ulpscope.round([1], 16), "expected a name"),
            (lambda: ulpscope.matmul([["a"]], [["b"]], "fp16"), "not numbers"),
            (lambda: ulpscope.Model(None), "expected a path"),
            (lambda: model.run(INPUTS, 16), "expected a name"),
            (lambda: model.run(3), "expected arrays by name"),
            (lambda: model.run([1, 2]), "expected arrays by name"),
            (lambda: model.audit("inputs.npz"), "expected arrays by name"),
            (lambda: model.audit(INPUTS, 16), "16: expected a text, as 'fp16'"),
            (lambda: model.audit(INPUTS, None), "None: expected a text"),
            (lambda: model.plan(INPUTS, 50), "as 'fp16' or 'sqnr_db=60'"),
            (lambda: model.audit(INPUTS, "fp16", keep=["block/norm1/Sum"]), "keep: expected {'op:Softmax': 'fp32'}"),
            (lambda: model.run(INPUTS, keep="block/norm1/Sum=fp32"), "keep: expected"),
            (lambda: model.audit(INPUTS, "fp16", threads="2"), "thread_count: '2': expected an integer"),
            (lambda: model.plan(INPUTS, "sqnr_db=30", threads=1.5), "expected an integer"),
            (lambda: model.prove("fp16", widen="2"), "widen: '2'"),
            (lambda: model.run({"patches": [["x"]]}), "numpy makes no array"),
            (lambda: audit["fp61"], r"there is no 'fp61': there is 'fp16'"),
            (lambda: audit["fp16"]["block/norm1/Som"], r"there is no 'block/norm1/Som': there are 'block/norm1/Sum'"),
            (lambda: audit[3], "there is no 3"),
        ):
            with self.assertRaisesRegex(ulpscope.Error, said):
                call()


class Errors(unittest.TestCase):
    def test_texts_are_the_programs(self):
        for arguments, make in (
            (["run", MODEL, "-a", "fp17"], lambda: ulpscope.Arithmetic("fp17")),
            (["run", "/nonexistent.onnx"], lambda: ulpscope.Model("/nonexistent.onnx")),
            (["run", "/nonexistent.onnx"], lambda: ulpscope.Model(b"junk")),
        ):
            said = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True).stderr
            with self.assertRaises(ulpscope.Error) as caught:
                make()
            self.assertTrue(str(caught.exception) in said or "(bytes)" in str(caught.exception), said)
        self.assertTrue(issubclass(ulpscope.UsageError, ValueError))
        with self.assertRaisesRegex(ulpscope.InputError, "patches"):
            ulpscope.Model(MODEL).run({}, "fp32")
        with self.assertRaisesRegex(ulpscope.InputError, "no sample"):
            ulpscope.Model(MODEL).audit([], "fp32")
        with self.assertRaisesRegex(ulpscope.UsageError, "norm"):
            ulpscope.Model(MODEL).run(INPUTS, "fp32", keep={"block/norm9/Sum": "fp16"})
        with self.assertRaisesRegex(ValueError, "rne"):
            ulpscope.round(1.0, "fp16", "nearest")

    def test_callbacks(self):
        shares = []
        ulpscope.Model(MODEL).audit([INPUTS, INPUTS], "fp16", progress=lambda share, name: shares.append((share, name)))
        self.assertGreater(len(shares), 79)
        self.assertEqual(shares[-1][0], 1.0)

        def fails(_share, name):
            raise RuntimeError(name)

        with self.assertRaisesRegex(RuntimeError, "embed/MatMul"):
            ulpscope.Model(MODEL).run(INPUTS, "fp32", progress=fails)

    def test_interrupt(self):
        """A signal during a run ends it at the next node, and the handler is Python's again."""
        # a shell starts what runs in its background with the signal ignored
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        seen = []

        def kill(_share, name):
            seen.append(name)
            if len(seen) == 3:
                os.kill(os.getpid(), signal.SIGINT)

        for run in (
            lambda model: model.run(INPUTS, "fp32", progress=kill),
            lambda model: model.audit(INPUTS, "fp16", progress=kill),
            lambda model: model.plan(INPUTS, "sqnr_db=50", progress=kill),
        ):
            seen.clear()
            with self.assertRaises(KeyboardInterrupt):
                run(ulpscope.Model(MODEL))
            self.assertLess(len(seen), 8)
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_other_threads_go_on(self):
        """While the library rounds, another thread counts."""
        x, counts, done = np.ones(1 << 23), [0], threading.Event()

        def count():
            while not done.is_set():
                counts[0] += 1
                time.sleep(0.0005)

        thread = threading.Thread(target=count)
        thread.start()
        before, started = counts[0], time.monotonic()
        while time.monotonic() - started < 0.3:
            ulpscope.round(x, "e5m7", "sr", threads=1)
        during = counts[0] - before
        done.set()
        thread.join()
        self.assertGreater(during, 10)

    def test_memory(self):
        """What runs leave behind does not grow."""
        model = ulpscope.Model(MODEL)

        def size():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

        for _ in range(20):
            model.run(INPUTS, "fp16")
            model.audit(INPUTS, "fp16", attribute=False)
        before = size()
        for _ in range(100):
            model.run(INPUTS, "fp16")
            model.audit(INPUTS, "fp16", attribute=False)
        self.assertLess(size() - before, 16 << 20)


if __name__ == "__main__":
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}, {ctypes.sizeof(ctypes.c_void_p) * 8} bits")
    unittest.main(argv=sys.argv[:1], verbosity=1)
