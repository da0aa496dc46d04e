#!/usr/bin/env python3
"""Models that `ulpscope lint --fix` has written, against those they were made of.

    compare_fixed.py PROGRAM MODEL.onnx=INPUTS.npz ...

Every edit is exact: in mpfr:128 each output is the same but for the roundings of that arithmetic (2^-100 of its rms). onnx.checker accepts the file, and
ONNX Runtime computes it, where they are installed. A model with nothing to mend is counted.
"""
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


def run(program, model, inputs, out):
    subprocess.run([program, "run", model, "-i", inputs, "-a", "mpfr:128", "-o", out, "-q"], check=True, stdout=subprocess.DEVNULL)
    return np.load(out)


def accept(path, inputs):
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
    program, bad, edited, edits = sys.argv[1], [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for pair in sys.argv[2:]:
            path, inputs = pair.split("=")
            fixed = os.path.join(folder, "fixed.onnx")
            done = subprocess.run([program, "lint", path, "-i", inputs, "--fix", fixed, "--fail-on", "none", "-q"], stdout=subprocess.PIPE, text=True, check=True)
            if not os.path.exists(fixed):
                continue
            edited, edits = edited + 1, edits + done.stdout.count("\n  decomposed-") + done.stdout.count("\n  log-of-softmax") + sum(done.stdout.count(f"\n  {rule}") for rule in ("scale-after-product", "constant-beyond-fp16"))
            before, after = run(program, path, inputs, os.path.join(folder, "a.npz")), run(program, fixed, inputs, os.path.join(folder, "b.npz"))
            for name in before.files:
                x, y = before[name].astype("f8"), after[name].astype("f8")
                # npz holds FP32 or FP64: a step of FP32 is 2^-23 of an element
                if not np.array_equal(np.isnan(x), np.isnan(y)) or np.nanmax(np.abs(x - y), initial=0) > 2.0**-22 * np.nanmax(np.abs(x), initial=0):
                    bad.append(f"{path}: output {name} is another")
            said = accept(fixed, inputs) if onnx and not accept(path, inputs) else ""
            bad += [f"{path}: {said}"] if said else []
            os.remove(fixed)
    print("\n".join(bad + [f"{edits} edits in {edited} of {len(sys.argv) - 2} models, {len(bad)} findings"]))
    return 1 if bad or not edited else 0


if __name__ == "__main__":
    sys.exit(main())
