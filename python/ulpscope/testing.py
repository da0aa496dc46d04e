"""A kernel's test whose tolerance follows from the arithmetic and the length of its sums, instead of an atol somebody guessed."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from ._model import Model
from ._arrays import as_array
from ._errors import MissingPackageError
from ._numbers import ArithmeticName
from ._results import Comparison


def _model(op: str, arrays: Sequence[Any], count: int, attributes: Mapping[str, Any], domain: str, opset: int) -> Model:
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise MissingPackageError("ulpscope.testing makes a model of one node with the package onnx: pip install onnx") from None
    inputs = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for i, a in enumerate(arrays)]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.UNDEFINED, None) for i in range(count)]
    node = helper.make_node(op, [i.name for i in inputs], [o.name for o in outputs], op, domain=domain, **attributes)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    graph = helper.make_graph([node], op, inputs, outputs)
    return Model(helper.make_model(graph, opset_imports=opsets, ir_version=10))


def assert_explained(
    actual: Any,
    op: str,
    inputs: Sequence[Any],
    arithmetic: ArithmeticName,
    *,
    attributes: Mapping[str, Any] | None = None,
    domain: str = "",
    opset: int = 21,
    trials: int = 0,
    threads: int = 0,
) -> Comparison:
    """Fail unless `actual`, what a kernel gave for the operator of ONNX, is off by no more than the arithmetic makes there.

    actual: an array, or one for each output. inputs: arrays, as the kernel read them. The limit is measured for these inputs: the
    error of the arithmetic itself, of other orders and slices of its sums, and of redrawn roundings (`trials`; doc/compare.md), so
    it follows from the arithmetic, the inputs and the lengths of sums. A kernel of another format does not pass. The message says what
    explains the array instead. NaN and infinities fail where the reference has none. Returns the comparison.

    >>> import ulpscope
    >>> numbers = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    >>> made = ulpscope.matmul(numbers[0], numbers[1], "bf16@h200")
    >>> assert_explained(made, "MatMul", list(numbers), "bf16@h200").files[0].explained
    True
    """
    arrays = [as_array(array) for array in inputs]
    results = [as_array(array) for array in (actual if isinstance(actual, (list, tuple)) else [actual])]
    model = _model(op, arrays, len(results), attributes or {}, domain, opset)
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    recorded = {"actual": {f"y{i}": array for i, array in enumerate(results)}}
    comparison = model.compare(recorded, given, arithmetic, trials=trials, threads=threads)
    if not comparison.files[0].explained:
        raise AssertionError(comparison.summary(100))
    return comparison
