#!/usr/bin/env python3
"""Models that `ulpscope fix` has written, FOLDER/fixed.onnx beside FOLDER/broken.onnx, inputs.npz and fix.json.

    accept_fixed.py PROGRAM FOLDER...

onnx.checker accepts each and ONNX Runtime computes it where they are installed. What fix.json says of exact arithmetic is what numpy finds between the
exact results of the broken model and of the edited one (without types, written by a target that lowers models itself), and is at most 1e-6.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = None


def exact(program, model, inputs, out):
    subprocess.run([program, "run", model, "-i", inputs, "-a", "mpfr:128", "-o", out, "-q"], check=True, stdout=subprocess.DEVNULL)
    return np.load(out)


def refusal(path, inputs):
    """What the checker or the runtime says against the file."""
    try:
        onnx.checker.check_model(path, full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        given = np.load(inputs)
        session.run(None, {value.name: given[value.name] for value in session.get_inputs()})
    except Exception as error:  # pylint: disable=broad-exception-caught
        return str(error).splitlines()[0]
    return ""


def main():
    program, bad, accepted, compared, planned = sys.argv[1], [], 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        for folder in sys.argv[2:]:
            fixed, inputs = os.path.join(folder, "fixed.onnx"), os.path.join(folder, "inputs.npz")
            broken = os.path.join(folder, "broken.onnx")
            if not os.path.exists(fixed):
                continue
            with open(os.path.join(folder, "fix.json"), encoding="utf-8") as file:
                said = json.load(file)
            planned += bool(said["kept"])
            if onnx and not refusal(broken, inputs):
                accepted += 1
                bad += [f"{folder}: {why}" for why in [refusal(fixed, inputs)] if why]
            if not said.get("change", 0) <= 1e-6:
                bad.append(f"{folder}: changes {said['change']}")
            if said.get("types") or not said["made_count"]:
                continue
            before, after = (exact(program, model, inputs, os.path.join(work, "x.npz")) for model in (broken, fixed))
            compared += 1
            for name in before.files:
                x, y = before[name].astype("f8"), after[name].astype("f8")
                change = np.sqrt(np.mean((x - y) ** 2) / np.mean(x**2))
                # npz holds FP32: a step of it is 2^-23 of an element
                if not change <= said["change"] + 2.0**-23:
                    bad.append(f"{folder}: output {name} changes {change:.3g} of its rms")
    if planned > 8:  # of the 25 causes; the others hold in draws by edits alone
        bad.append(f"{planned} need a plan")
    print("\n".join(bad + [f"{accepted} accepted, {compared} compared, {planned} with nodes in FP32, {len(bad)} findings"]))
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
