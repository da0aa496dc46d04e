#!/usr/bin/env python3
"""Record on an NVIDIA GPU what plans give there: the errors of mixed.onnx in PyTorch, eager and compiled by Inductor.

    lab/record_plans.py RUNNER FOLDER OUT.json

RUNNER: a folder with onnx_in_torch.py, as for lab/record_bits.py: Net(path).run(feeds, dtype), its operators by name as OPS, np2t(array), isf(value). FOLDER: NAME/{model.onnx,inputs.npz} and NAME/plan, what
`ulpscope plan --for torch@h200,torch-compile@h200 -o NAME/plan` wrote. The truth is an FP64 run of model.onnx on the GPU.

OUT.json: {torch, device, samples, plans: {NAME: {keep and tolerance as in plan.json, outputs: {OUTPUT: {half|eager|compiled: sqnr_db}}}}}, of all samples together; half: without the plan, eager; null: not finite.
Graphs whose inputs are all integers are not compiled. lab/compare_plans.py reads it."""
import glob
import json
import math
import os
import pathlib
import sys
import traceback

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "support"))
import samples as varied  # noqa: E402

SAMPLES = 8


def sqnr(values, truths):
    """Of all samples together."""
    error = sum(float((value.double() - truth.double()).square().sum()) for value, truth in zip(values, truths))
    signal = sum(float(truth.double().square().sum()) for truth in truths)
    return round(10 * math.log10(signal / error), 3) if math.isfinite(error) and error > 0 and signal > 0 else None


def torch_type(kind):
    return torch.bfloat16 if kind == TensorProto.BFLOAT16 else torch.from_numpy(np.zeros(1, helper.tensor_dtype_to_np_dtype(kind))).dtype


def run_typed(runner, net, feeds, known):
    """A graph with types, every node in the types of what it reads; known: values that are not computed."""
    values = {**net.init, **feeds}
    for node in net.m.graph.node:
        given, read = net.attrs(node), [values[name] if name else None for name in node.input]
        if node.op_type == "Constant":
            result = runner.np2t(numpy_helper.to_array(given["value"])) if "value" in given else torch.tensor(next(v for k, v in given.items() if k.startswith("value_")), device=runner.dev)
        elif node.op_type == "ConstantOfShape":
            fill = runner.np2t(numpy_helper.to_array(given["value"])) if "value" in given else torch.zeros(1, device=runner.dev)
            result = fill.flatten()[0].expand(runner.ints(read[0])).clone()
        elif node.op_type == "Cast":
            result = read[0].to(torch_type(given["to"]))
        elif node.output[0] in known:
            result = known[node.output[0]]
        else:
            result = runner.OPS[node.op_type](read, given)
        values.update((name, value) for name, value in zip(node.output, result if isinstance(result, list) else [result]) if name)
    return values


def record(runner, folder):
    net, mixed = runner.Net(os.path.join(folder, "model.onnx")), runner.Net(os.path.join(folder, "plan", "mixed.onnx"))
    types = {i.name: torch_type(i.type.tensor_type.elem_type) for i in mixed.m.graph.input}
    samples = [{name: runner.np2t(array) for name, array in sample.items()} for sample in varied.samples(pathlib.Path(folder), SAMPLES)]
    feeds = [{name: sample[name].to(kind) for name, kind in types.items() if name in sample} for sample in samples]
    truth = [net.run(sample, torch.float64) for sample in samples]
    values = {"half": [net.run(sample, torch.float16) for sample in samples], "eager": [run_typed(runner, mixed, feed, {}) for feed in feeds]}
    names = [o.name for o in net.m.graph.output if runner.isf(truth[0][o.name])]
    keys = [name for name in feeds[0] if runner.isf(feeds[0][name])]
    if keys:
        # what is no float is a constant of the compiled graph: shapes must be known
        known = {name: value for name, value in values["eager"][0].items() if isinstance(value, torch.Tensor) and not runner.isf(value) and value.dtype != torch.bool}

        def computed(*read):
            found = run_typed(runner, mixed, {**feeds[0], **dict(zip(keys, read))}, known)
            return [found[name] for name in names]

        read = [[feed[name] for name in keys] for feed in feeds]
        graph = torch.fx.experimental.proxy_tensor.make_fx(computed)(*read[0])
        compiled = torch._inductor.compile(graph, read[0])  # pylint: disable=protected-access
        values["compiled"] = [dict(zip(names, compiled(*one))) for one in read]
    plan = json.load(open(os.path.join(folder, "plan", "plan.json"), encoding="utf-8"))
    outputs = {name: {kind: sqnr([one[name] for one in found], [one[name] for one in truth]) for kind, found in values.items()} for name in names}
    return {"keep": plan["keep"], "tolerance": plan["tolerances"], "outputs": outputs}


def main():
    sys.path.insert(0, sys.argv[1])
    import onnx_in_torch as runner  # pylint: disable=import-outside-toplevel
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    plans = {}
    for path in sorted(glob.glob(os.path.join(sys.argv[2], "*", "plan", "mixed.onnx"))):
        folder = os.path.dirname(os.path.dirname(path))
        try:
            plans[os.path.basename(folder)] = record(runner, folder)
            print(folder, plans[os.path.basename(folder)]["outputs"], flush=True)
        except Exception:  # a graph that the runner does not know
            print(folder, "not recorded:", traceback.format_exc().splitlines()[-1], flush=True)
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "samples": SAMPLES, "plans": plans}, out, indent=1)


if __name__ == "__main__":
    main()
