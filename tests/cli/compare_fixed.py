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

from fixed_files import exact, onnx, refusal


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
            before, after = exact(program, path, inputs, os.path.join(folder, "a.npz")), exact(program, fixed, inputs, os.path.join(folder, "b.npz"))
            for name in before.files:
                x, y = before[name].astype("f8"), after[name].astype("f8")
                # npz holds FP32 or FP64: a step of FP32 is 2^-23 of an element
                if not np.array_equal(np.isnan(x), np.isnan(y)) or np.nanmax(np.abs(x - y), initial=0) > 2.0**-22 * np.nanmax(np.abs(x), initial=0):
                    bad.append(f"{path}: output {name} is another")
            said = refusal(fixed, inputs) if onnx and not refusal(path, inputs) else ""
            bad += [f"{path}: {said}"] if said else []
            os.remove(fixed)
    print("\n".join(bad + [f"{edits} edits in {edited} of {len(sys.argv) - 2} models, {len(bad)} findings"]))
    return 1 if bad or not edited else 0


if __name__ == "__main__":
    sys.exit(main())
