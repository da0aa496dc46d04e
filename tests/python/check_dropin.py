"""Functions with other tools' signatures: what they promise, beside onnx's own types and the originals' parameters, where these are installed."""
import inspect
import json
import pathlib
import sys
import unittest
import warnings

import numpy as np

import ulpscope
from ulpscope import autocast, float16

SOURCE = pathlib.Path(sys.argv[1])
MODEL, FILE = str(SOURCE / "examples" / "digits" / "model.onnx"), str(SOURCE / "examples" / "digits" / "inputs.npz")
INPUTS = dict(np.load(FILE))
BYTES = pathlib.Path(MODEL).read_bytes()
try:
    import onnx
    from onnx import load  # noqa: F401  a folder of that name is no package
except ImportError:
    onnx = None
#: Parameters of the originals, in their order: ModelOpt 0.47, onnxruntime 1.32, onnxconverter-common 1.16.
ORIGINALS = {
    autocast.convert_to_mixed_precision: "onnx_path low_precision_type nodes_to_exclude op_types_to_exclude nodes_to_include op_types_to_include data_max init_max keep_io_types "
    "calibration_data custom_rule init_conversion_max_bytes providers trt_plugins trt_plugins_precision max_depth_of_reduction opset use_standalone_type_inference",
    autocast.convert_to_f16: "model low_precision_type keep_io_types op_block_list tensor_block_dict trt_plugins use_standalone_type_inference opset",
    float16.convert_float_to_float16: "model min_positive_val max_finite_val keep_io_types disable_shape_infer op_block_list node_block_list force_fp16_initializers force_fp16_inputs "
    "use_bfloat16_as_blocked_nodes_dtype",
    float16.convert_float_to_float16_model_path: "model_path min_positive_val max_finite_val keep_io_types",
    float16.auto_convert_mixed_precision: "model feed_dict validate_fn rtol atol keep_io_types",
}


def types(model):
    """Of each node's first output, and of the graph's ends, as onnx infers them."""
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    values = {v.name: v.type.tensor_type.elem_type for v in [*graph.value_info, *graph.input, *graph.output]}
    return {n.name: values.get(n.output[0]) for n in graph.node if n.op_type != "Cast"}, [v.type.tensor_type.elem_type for v in [*graph.input, *graph.output]]


def decibels(model):
    """Of the model's outputs as its types say, beside FP64's of the original."""
    source = model if isinstance(model, bytes) else model.SerializeToString()
    loaded = ulpscope.Model(source)
    half = {v.name for v in loaded.inputs if v.type == "FLOAT16"}
    given = {name: array.astype(np.float16) if name in half else array for name, array in INPUTS.items()}
    made, exact = loaded.run(given, "model")["logits"].astype(np.float64), ulpscope.Model(MODEL).run(INPUTS, "fp64")["logits"]
    return 10 * np.log10((exact**2).sum() / ((made - exact) ** 2).sum())


class Signatures(unittest.TestCase):
    def test_begin_with_the_originals(self):
        for function, names in ORIGINALS.items():
            own = list(inspect.signature(function).parameters)
            self.assertEqual(own[: len(names.split())], names.split(), function.__name__)

    def test_installed(self):
        """The same of the packages that are here, so that a new parameter of theirs is seen."""
        checked = 0
        for module, name, function in (
            ("modelopt.onnx.autocast", "convert_to_mixed_precision", autocast.convert_to_mixed_precision),
            ("onnxruntime.transformers.float16", "convert_float_to_float16", float16.convert_float_to_float16),
            ("onnxconverter_common.float16", "convert_float_to_float16", float16.convert_float_to_float16),
            ("onnxconverter_common.auto_mixed_precision", "auto_convert_mixed_precision", float16.auto_convert_mixed_precision),
        ):
            try:
                original = getattr(__import__(module, fromlist=[name]), name)
            except Exception:
                continue
            self.assertLessEqual(set(inspect.signature(original).parameters), set(inspect.signature(function).parameters), module)
            checked += 1
        if not checked:
            self.skipTest("none of the originals is installed")


@unittest.skipUnless(onnx, "onnx is not installed")
class Protos(unittest.TestCase):
    def test_autocast(self):
        FLOAT, HALF = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
        model = autocast.convert_to_mixed_precision(
            MODEL, calibration_data=FILE, keep_io_types=True, nodes_to_exclude=[".*/mlp/"], op_types_to_exclude=["Softmax"], nodes_to_include=["block/mlp/Relu"]
        )
        made, ends = types(model)
        self.assertEqual(set(ends), {FLOAT})
        asked = {name for name in made if "/mlp/" in name and name != "block/mlp/Relu"} | {"block/attention/Softmax"}
        self.assertEqual({made[name] for name in asked}, {FLOAT})
        self.assertEqual(made["block/mlp/Relu"], HALF)
        self.assertIn(HALF, made.values())
        self.assertGreaterEqual(decibels(model), 40)
        lowered = autocast.convert_to_mixed_precision(MODEL, calibration_data=INPUTS)
        self.assertEqual(set(types(lowered)[1]), {HALF})
        # plain FP16 is at 2 dB: 40 are the plan's
        self.assertGreaterEqual(decibels(lowered), 40)
        self.assertEqual(types(autocast.convert_to_mixed_precision(MODEL, "bf16", calibration_data=INPUTS, tolerance="sqnr_db=30"))[1], [onnx.TensorProto.BFLOAT16] * 2)

    def test_fine_as_asked(self):
        """Where the outputs are fine with what is asked for, nothing else is kept, fused or not; with a tolerance more is."""
        two = {"block/norm1/Sum", "block/norm1/Variance"}
        asked = {"calibration_data": FILE, "keep_io_types": True, "nodes_to_exclude": ["block/norm1/(Sum|Variance)$"]}
        kept = lambda model: {name for name, kind in types(model)[0].items() if kind == onnx.TensorProto.FLOAT}
        self.assertEqual(kept(autocast.convert_to_mixed_precision(MODEL, **asked)), two)
        self.assertGreater(kept(autocast.convert_to_mixed_precision(MODEL, **asked, tolerance="sqnr_db=66")), two)

    def test_float16(self):
        FLOAT = onnx.TensorProto.FLOAT
        model = float16.convert_float_to_float16(onnx.load(MODEL), keep_io_types=["patches", "logits"], op_block_list=["Relu"], node_block_list=["head/Gemm"], inputs=INPUTS)
        made, ends = types(model)
        self.assertEqual(set(ends), {FLOAT})
        self.assertEqual({made[name] for name in made if name.endswith("Relu") or name == "head/Gemm"}, {FLOAT})
        self.assertGreaterEqual(decibels(model), 40)
        self.assertGreaterEqual(decibels(float16.convert_float_to_float16_model_path(MODEL, keep_io_types=True, inputs=FILE)), 40)
        self.assertGreaterEqual(decibels(autocast.convert_to_f16(onnx.load(MODEL), inputs=INPUTS, op_block_list=["Softmax"])), 40)

    def test_all_blocked(self):
        """As the originals: FP32 throughout, inputs and outputs in FLOAT16 between Casts."""
        ops = {node.op_type for node in onnx.load(MODEL).graph.node}
        for keep, kind in ((True, onnx.TensorProto.FLOAT), (False, onnx.TensorProto.FLOAT16)):
            made, ends = types(float16.convert_float_to_float16(onnx.load(MODEL), keep_io_types=keep, op_block_list=ops, inputs=INPUTS))
            self.assertEqual((set(made.values()) - {onnx.TensorProto.FLOAT16}, set(ends)), ({onnx.TensorProto.FLOAT}, {kind}))

    def test_validated(self):
        """What passes is decided by the caller's function, and by numpy."""
        calls = []
        exact = ulpscope.Model(MODEL).run(INPUTS, "fp64")["logits"]
        model = float16.auto_convert_mixed_precision(onnx.load(MODEL), INPUTS, lambda a, b: calls.append(1) or np.abs(a[0] - b[0]).max() < 0.02, keep_io_types=True)
        self.assertGreater(len(calls), 1)
        self.assertLess(np.abs(ulpscope.Model(model).run(INPUTS, "model")["logits"] - exact).max(), 0.03)
        with self.assertRaises(ValueError):
            float16.auto_convert_mixed_precision(onnx.load(MODEL), INPUTS, lambda a, b: np.array_equal(a[0], b[0]))
        with self.assertRaises(ValueError):
            float16.auto_convert_mixed_precision(onnx.load(MODEL), INPUTS)

    def test_fix_and_check(self):
        fixed = ulpscope.fix(onnx.load(MODEL), INPUTS, "torch")
        self.assertIn("LayerNormalization", {node.op_type for node in fixed.graph.node})
        self.assertTrue(ulpscope.check(MODEL, fixed, INPUTS).fine)
        broken = onnx.load(MODEL)
        weights = next(t for t in broken.graph.initializer if onnx.numpy_helper.to_array(t).ndim == 2)
        weights.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(weights), weights.name))
        self.assertFalse(ulpscope.check(MODEL, broken, FILE).fine)
        del broken.graph.output[:]
        broken.graph.output.append(onnx.helper.make_tensor_value_info(broken.graph.node[-2].output[0], onnx.TensorProto.FLOAT, None))
        with self.assertRaisesRegex(ulpscope.InputError, "lacks outputs of the first: logits"):
            ulpscope.check(MODEL, broken, FILE)
        # nothing to fix, and no types: the model as it is
        self.assertEqual(ulpscope.fix(onnx.load(MODEL), INPUTS, "torch", arithmetic="fp32").SerializeToString(), onnx.load(MODEL).SerializeToString())
        with self.assertRaises(ulpscope.LimitError):
            ulpscope.fix(MODEL, INPUTS, "torch", tolerance="sqnr_db=400")

    def test_lists_elsewhere(self):
        """What exclude.txt says of the converters that its list is for, by them: what kept nodes hand on is rounded in one, a constant that others read is not converted in the other."""
        import tempfile

        try:
            import onnxruntime
            from onnxconverter_common.float16 import convert_float_to_float16 as common
            from onnxruntime.transformers.float16 import convert_float_to_float16 as runtime
        except ImportError:
            self.skipTest("the converters are not installed")
        with tempfile.TemporaryDirectory() as folder:
            ulpscope.Model(MODEL).plan(INPUTS, "sqnr_db=50", targets=["ort-cuda:fp16"], out=folder).write(folder + "/files")
            said, _, listed = (pathlib.Path(folder) / "files" / "exclude.txt").read_text().splitlines()[:3]
            self.assertGreater(decibels(onnx.load(f"{folder}/mixed.onnx")), 50)
        self.assertIn("rounded to FP16 between two of these", said)
        kept = json.loads(listed.split("=", 1)[1])
        self.assertEqual(kept, ["block/norm1/Sum", "block/norm1/Variance"])
        self.assertLess(decibels(runtime(onnx.load(MODEL), keep_io_types=True, node_block_list=kept)), 10)
        with self.assertRaisesRegex(Exception, "bound to different types"):
            onnxruntime.InferenceSession(common(onnx.load(MODEL), keep_io_types=True, node_block_list=kept).SerializeToString(), providers=["CPUExecutionProvider"])


class Given(unittest.TestCase):
    def test_bytes(self):
        """Of bytes come bytes, and onnx is not needed."""
        kept = sys.modules.get("onnx")
        sys.modules["onnx"] = None
        try:
            made = float16.convert_float_to_float16(BYTES, inputs=INPUTS)
            self.assertIsInstance(made, bytes)
            self.assertGreaterEqual(decibels(made), 40)
            self.assertIsInstance(autocast.convert_to_mixed_precision(MODEL, calibration_data=FILE), bytes)
        finally:
            del sys.modules["onnx"]
            if kept is not None:
                sys.modules["onnx"] = kept

    def test_samples_behind_each_other(self):
        """Along the first axis, where the model's has a size."""
        import tempfile

        from ulpscope._lowering import take_samples

        one = ulpscope.Model(BYTES)
        self.assertEqual(len(take_samples(one, INPUTS, "inputs")), 1)  # its batch is free
        with tempfile.TemporaryDirectory() as folder:
            for i in range(3):
                np.savez(f"{folder}/{i}.npz", **INPUTS)
            self.assertEqual(len(take_samples(one, folder, "inputs")), 3)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            take_samples(one, None, "calibration_data")
        self.assertIn("calibration_data", str(said[0].message))

    def test_refused(self):
        """An argument that changes what comes out is obeyed or refused, in a line that names it."""
        for function, given in (
            (autocast.convert_to_mixed_precision, {"data_max": 100.0}),
            (autocast.convert_to_mixed_precision, {"init_max": 1.0}),
            (autocast.convert_to_mixed_precision, {"custom_rule": object()}),
            (autocast.convert_to_mixed_precision, {"init_conversion_max_bytes": 1}),
            (autocast.convert_to_mixed_precision, {"max_depth_of_reduction": 4}),
            (autocast.convert_to_mixed_precision, {"trt_plugins": ["a.so"]}),
            (autocast.convert_to_mixed_precision, {"opset": 22, "calibration_data": INPUTS}),
            (autocast.convert_to_mixed_precision, {"low_precision_type": "fp8"}),
            (autocast.convert_to_f16, {"tensor_block_dict": {"Conv": {"inp": [0]}}}),
            (float16.convert_float_to_float16, {"min_positive_val": 1e-5}),
            (float16.convert_float_to_float16, {"force_fp16_initializers": True}),
            (float16.convert_float_to_float16, {"force_fp16_inputs": {"Resize": [2]}}),
            (float16.convert_float_to_float16, {"use_bfloat16_as_blocked_nodes_dtype": True}),
            (float16.convert_float_to_float16, {"keep_io_types": ["patches"], "inputs": INPUTS}),
        ):
            with self.assertRaises(ulpscope.UsageError) as raised:
                function(BYTES, **given)
            self.assertIn(next(iter(given)), str(raised.exception))
        for given in ({"op_types_to_exclude": "MatMul"}, {"nodes_to_exclude": ["("]}):  # a text is no list of its letters
            with self.assertRaisesRegex(ulpscope.UsageError, "MatMul|no regular expression"):
                autocast.convert_to_mixed_precision(BYTES, calibration_data=INPUTS, **given)
        with self.assertRaisesRegex(ulpscope.UnsupportedError, "every node in FLOAT: No plan meets sqnr_db=400"):
            float16.convert_float_to_float16(BYTES, inputs=INPUTS, tolerance="sqnr_db=400")
        with self.assertRaises(TypeError):
            autocast.convert_to_mixed_precision(BYTES, no_such_argument=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
