"""The ONNX backend on ONNX's own test cases, run by onnx.backend.test's runner: what build/conformance passes in a folder of
cases passes here, and nothing else fails. With --suite also the cases that the installed onnx generates: of what fails every
operator is one that the program lists as out of scope, or the case is named here with its reason."""
import collections
import contextlib
import doctest
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx
import onnx.helper

import ulpscope
import ulpscope.onnx_backend as backend

warnings.filterwarnings("ignore")
CONFORMANCE, FOLDER, SUITE, EVERY = sys.argv[1], pathlib.Path(sys.argv[2]), "--suite" in sys.argv, int(os.environ.get("EVERY", 12))

# what the cases of onnx 1.23 have that the operators here do not: the largest of no booleans is false there, true here
NEWER = {"test_reduce_max_empty_set_bool"}


def interface():
    failed, attempted = doctest.testmod(backend)
    assert failed == 0 and attempted >= 3
    x = np.array([[1, 2], [3, 4]], np.float32)
    (y,) = backend.run_node(onnx.helper.make_node("MatMul", ["a", "b"], ["y"]), [x, x])
    assert y.tolist() == [[7, 10], [15, 22]] and y.dtype == np.float32
    (half,) = backend.run_node(
        onnx.helper.make_node("Cast", ["a"], ["y"], to=onnx.TensorProto.FLOAT16), [x], outputs_info=[(np.float16, (2, 2))])
    assert half.dtype == np.float16
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    strange = onnx.helper.make_graph([onnx.helper.make_node("Strange", ["x"], ["x2"], domain="none")], "g", [value], [value])
    model = onnx.helper.make_model(strange, opset_imports=[onnx.helper.make_opsetid("none", 1)], ir_version=10)
    assert not backend.is_compatible(onnx.ModelProto()) and not backend.supports_device("CUDA")
    try:
        backend.prepare(model).run([x])
        raise SystemExit("an unknown operator was run")
    except (ulpscope.UnsupportedError, ulpscope.InputError):
        pass
    for device in ("CUDA", "CUDA:1"):
        try:
            backend.prepare(model, device)
            raise SystemExit("a GPU was accepted")
        except ValueError:
            pass


class Fp32(backend.UlpscopeBackend):
    """In conformance's default arithmetic."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return super().prepare(model, device, arithmetic="fp32", threads=1)


def new_runner():
    """onnx's runner without its cases, which take long to make."""
    from onnx.backend.test.runner import Runner

    runner = Runner.__new__(Runner)
    runner.backend, runner._test_items, runner._test_kwargs = Fp32, collections.defaultdict(dict), {}
    runner._include_patterns, runner._exclude_patterns, runner._xfail_patterns, runner._parent_module = set(), set(), set(), None
    return runner


def run_cases(runner):
    """Verdicts of the CPU's cases by name: "" for passed."""
    verdicts = {}
    for items in runner._test_items.values():
        for name, item in items.items():
            if not name.endswith("_cpu"):
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    item.func(None)
                verdicts[name[:-4]] = ""
            except unittest.SkipTest:
                verdicts[name[:-4]] = "skipped: not loaded"
            except Exception as error:
                verdicts[name[:-4]] = f"{type(error).__name__}: {error}"
    return verdicts


def of_folder():
    from onnx.backend.test.loader import load_model_tests

    names = sorted(case.name for case in FOLDER.iterdir() if (case / "model.onnx").exists())[::EVERY]
    assert len(names) * EVERY > 900, f"{FOLDER} has too few cases"
    with tempfile.TemporaryDirectory() as chosen:
        (pathlib.Path(chosen) / "cases").mkdir()
        for name in names:
            (pathlib.Path(chosen) / "cases" / name).symlink_to(FOLDER / name)
        said = subprocess.run([CONFORMANCE, "-v", f"{chosen}/cases"], capture_output=True, text=True).stdout
        program = {name: verdict for verdict, name in re.findall(r"^(passed|failed|out)\b.*?(test_\w+)", said, flags=re.M)}
        runner = new_runner()
        for case in load_model_tests(chosen, "cases"):
            runner._add_model_test(case, "Folder")
        verdicts = run_cases(runner)
    assert set(verdicts) == set(program) == set(names), set(verdicts) ^ set(program)
    bad = [f"{n}: {program[n]} there, here {verdicts[n] or 'passed'}" for n in names
           if (program[n] == "passed") != (verdicts[n] == "") and program[n] != "out"]
    counts = collections.Counter(program.values())
    here = collections.Counter("passed" if not v else "not" for n, v in verdicts.items() if program[n] != "out")
    print(f"{len(names)} cases of {FOLDER.name}: conformance passes {counts['passed']}, fails {counts['failed']}, {counts['out']} out of scope; "
          f"the backend passes {here['passed']} of the same and fails {here['not']}")
    return bad


def of_suite():
    from onnx.backend.test.loader import load_model_tests

    listed = subprocess.run([CONFORMANCE, "--list"], capture_output=True, text=True).stdout
    parts = re.split(r"^\S.*\n", listed, flags=re.M)
    operators, cases = [set(re.findall(r"^  (\w+)", part, flags=re.M)) for part in (parts[1], parts[3] + parts[4])]
    tests = {test.name: test for test in load_model_tests(kind="node")}
    runner = new_runner()
    for test in tests.values():
        runner._add_model_test(test, "Node")
    verdicts, bad, out = run_cases(runner), [], 0
    for name, verdict in verdicts.items():
        graph = tests[name].model.graph
        used = {node.op_type for node in graph.node} | {word for word in re.findall(r"operator (\w+) of domain", verdict)}
        excused = used & operators or any(name.startswith(case) for case in cases) or "arrays of object" in verdict or name in NEWER
        if verdict and excused:
            out += 1
        elif verdict:
            bad.append(f"{name}: {verdict[:300]}")
    print(f"{len(verdicts)} cases of onnx {onnx.__version__}: the backend passes {sum(not v for v in verdicts.values())}, {out} out of scope, {len(bad)} fail")
    return bad


interface()
bad = of_folder() + (of_suite() if SUITE else [])
print("\n".join(bad))
sys.exit(bool(bad))
