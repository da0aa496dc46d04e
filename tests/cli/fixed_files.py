"""A model and its mended copy: exact results, and whether onnx.checker and ONNX Runtime take a file, where they are installed."""
import subprocess

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
