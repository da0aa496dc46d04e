#!/usr/bin/env python3
"""The functions of ulpscope.autocast and ulpscope.float16 beside those whose signatures they have, by the same calls: nodes that stay in FP32, and how near outputs come.

    compare_dropin.py DATA EMULATOR.py [--only NETWORK ...] [--function NAME ...]

Needs ulpscope, modelopt (which imports torch and uses nothing of it here), onnxconverter_common, onnxruntime, numpy; DATA and EMULATOR.py are those of measure_draws.py. Each file is
judged on the network's own inputs beside ONNX Runtime's FP32: as ONNX Runtime's CPU provider runs it without its optimiser (which computes most of FLOAT16 in FLOAT), and in FP32 with
every FP16 value rounded. The last column is the call with `inputs=` added, which the originals do not have. Prints rows for lab/plans.md; what refuses is said in its own words."""
import argparse
import contextlib
import importlib.util
import io
import logging
import multiprocessing
import pathlib
import time
import warnings

import measure_draws as draws
import numpy
import onnx

NETWORKS = [
    "models/mnist_8", "models/acopf_14", "models/t5_random_encoder", "models/vit_pgd_2_3_16", "models/tinybert_1l", "generated/torch_encoder_layer_op17", "models/gtcrn_simple",
    "pretrained/ppocr2_cls", "models/magika_v3_3", "models/fsanet_1x1", "models/yunet_n_320", "pretrained/swift_f0",
]  # fmt: skip
DECIBELS = 40  # of validate_fn, and what the others' plans have by default


def sqnr(exact, made):
    exact, made = (numpy.concatenate([numpy.asarray(x, numpy.float64).ravel() for x in side]) for side in (exact, made))
    finite = numpy.isfinite(exact)
    error, power = ((made - exact)[finite] ** 2).sum(), (exact[finite] ** 2).sum()
    return 10 * numpy.log10(power / error) if error > 0 else numpy.inf if error == 0 else -numpy.inf


def calls(path, inputs, archive):
    """Each as its users write it, given the module that has it."""
    validate = lambda exact, made: all(sqnr([a], [b]) >= DECIBELS for a, b in zip(exact, made))
    load = lambda: onnx.load(str(path))
    return {
        "convert_to_mixed_precision": lambda function, more: function(str(path), low_precision_type="fp16", keep_io_types=True, calibration_data=str(archive)),
        "convert_to_f16": lambda function, more: function(load(), keep_io_types=True, **more),
        "convert_float_to_float16": lambda function, more: function(load(), keep_io_types=True, **more),
        "auto_convert_mixed_precision": lambda function, more: function(load(), inputs, validate, keep_io_types=True),
    }


def both():
    import onnxconverter_common.auto_mixed_precision as mixed
    from modelopt.onnx import autocast
    from modelopt.onnx.autocast.convert import convert_to_f16
    from onnxruntime.transformers import float16

    import ulpscope.autocast
    import ulpscope.float16

    own = {**vars(ulpscope.autocast), **vars(ulpscope.float16)}
    originals = {
        "convert_to_mixed_precision": autocast.convert_to_mixed_precision,
        "convert_to_f16": convert_to_f16,
        "convert_float_to_float16": float16.convert_float_to_float16,
        "auto_convert_mixed_precision": mixed.auto_convert_mixed_precision,
    }
    return {name: (function, own[name]) for name, function in originals.items()}


def wide_nodes(given, typed):
    """Nodes of the network whose result stays FLOAT: counted by their outputs' names, whatever a Cast behind them is called."""
    graph = onnx.shape_inference.infer_shapes(typed).graph
    types = {v.name: v.type.tensor_type.elem_type for v in [*graph.value_info, *graph.input, *graph.output]}
    computed = {o: n for n in typed.graph.node for o in n.output if n.op_type != "Cast"}
    names = {o for n in given.graph.node if n.op_type not in ("Constant", "Cast") for o in n.output[:1]}
    ends = {o.name for o in typed.graph.output}
    # an output of the graph that a Cast makes: the node is the one before it
    before = {n.output[0]: n.input[0] for n in typed.graph.node if n.op_type == "Cast" and n.output[0] in ends}
    resolve = lambda name: before.get(name, name)
    return sum(types.get(resolve(name)) == onnx.TensorProto.FLOAT for name in names if name in computed or name in before)


def judge(emulator, given, inputs, exact, typed):
    """Nodes in FP32, dB as ONNX Runtime runs the file, dB with every FP16 value rounded."""
    def measure(model):
        try:
            return sqnr(exact, list(emulator.run(model, inputs).values()))
        except Exception as error:
            return f"not run ({type(error).__name__})"
    return wide_nodes(given, typed), measure(typed), measure(emulator.raise_(typed))


def show(found, seconds):
    figures = [f"{x:.1f}" if isinstance(x, float) else str(x) for x in found]
    return f"{figures[0]}; {figures[1]}; {figures[2]}; {seconds:.0f} s"


def call_once(call, function, more, judged):
    start = time.time()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            typed = call(function, more)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:60]}"
    seconds = time.time() - start
    return show(judged(typed), seconds)


def attempt(*call):
    """In a process of its own: ONNX Runtime may end it by a signal (lab/upstream/ort_cast_segfault.py)."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(False)
    child = context.Process(target=lambda: there.send(call_once(*call)))
    child.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        child.join()
        return f"ends by signal {-child.exitcode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("emulator", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--function", nargs="*")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    spec = importlib.util.spec_from_file_location("emulator", options.emulator)
    emulator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(emulator)
    functions = both()
    print("| network | function | original | ulpscope | with inputs= |\n|---|---|---|---|---|")
    import tempfile

    for name in options.only or NETWORKS:
        folder = options.data / name
        given = onnx.load(str(folder / "model.onnx"))
        inputs = draws.read_inputs(folder, given)
        exact = list(emulator.run(given, inputs).values())
        with tempfile.TemporaryDirectory() as work:
            archive = pathlib.Path(work, "inputs.npz")
            numpy.savez(archive, **inputs)
            for function, call in calls(folder / "model.onnx", inputs, archive).items():
                if options.function and function not in options.function:
                    continue
                original, own = functions[function]
                judged = lambda typed: judge(emulator, given, inputs, exact, typed)
                cells = [attempt(call, original, {}, judged), attempt(call, own, {}, judged)]
                more = function in ("convert_to_f16", "convert_float_to_float16")
                cells.append(attempt(call, own, {"inputs": inputs}, judged) if more else "–")
                print(f"| `{name.rpartition('/')[2]}` ({len(given.graph.node)}) | `{function}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
