"""ONNX's backend interface: `ulpscope.onnx_backend.prepare(model).run(inputs)`, and what onnx.backend.test runs on.

    >>> import onnx.parser, numpy as np, ulpscope.onnx_backend as backend
    >>> model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) { y = Exp(x) }')
    >>> backend.prepare(model, arithmetic="bf16").run([np.zeros(3, np.float32)])[0].tolist()
    [1.0, 1.0, 1.0]
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import onnx
import onnx.helper
from onnx.backend.base import Backend, BackendRep

from ._arrays import Array
from ._errors import UsageError
from ._model import Model
from ._numbers import ArithmeticName


class UlpscopeRep(BackendRep):  # type: ignore[misc]
    """A model that runs in one arithmetic."""

    def __init__(self, model: onnx.ModelProto, arithmetic: ArithmeticName, threads: int) -> None:
        self.model = Model(model)
        self._arithmetic, self._threads = arithmetic, threads
        self._outputs = [(value.name, _dtype(value)) for value in model.graph.output]

    def run(self, inputs: Mapping[str, Any] | Sequence[Any] | Any, **_kwargs: Any) -> tuple[Array, ...]:
        """The outputs in the graph's order, in their declared types. inputs: by name, or in the graph's order."""
        if not isinstance(inputs, Mapping):
            given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = dict(zip((value.name for value in self.model.inputs), given))
        outputs = self.model.run(inputs, self._arithmetic, threads=self._threads)
        return tuple(outputs[name].astype(dtype, copy=False) for name, dtype in self._outputs)


def _dtype(value: onnx.ValueInfoProto) -> Any:
    """In which an output is given; of what is no tensor any: loading the model refuses it."""
    type_ = value.type.tensor_type.elem_type
    return onnx.helper.tensor_dtype_to_np_dtype(type_) if type_ else np.dtype(np.float32)


class UlpscopeBackend(Backend):  # type: ignore[misc]
    """`arithmetic` of prepare and run_*: any that `ulpscope list` explains; "model" obeys the declared types."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_kwargs: Any) -> bool:
        from ._errors import Error

        try:
            Model(model)
        except Error:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", *, arithmetic: ArithmeticName = "model", threads: int = 0, **_kwargs: Any
    ) -> UlpscopeRep:
        if not cls.supports_device(device):
            raise UsageError(f"device {device!r}: expected CPU")
        return UlpscopeRep(model, arithmetic, threads)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Array, ...]:
        """A node alone. Its outputs have the types of outputs_info, else that of the first input."""
        names = [name for name in node.input if name]
        arrays = dict(zip(names, map(np.asarray, inputs.values() if isinstance(inputs, Mapping) else inputs)))
        tensor = onnx.helper.make_tensor_value_info
        of = onnx.helper.np_dtype_to_tensor_dtype
        given = [tensor(name, of(array.dtype), array.shape) for name, array in arrays.items()]
        outputs = [name for name in node.output if name]
        infos = outputs_info or [(next(iter(arrays.values())).dtype, None)] * len(outputs)
        made = [tensor(name, of(np.dtype(info[0])), info[1]) for name, info in zip(outputs, infos)]
        graph = onnx.helper.make_graph([node], "node", given, made)
        opset = onnx.helper.make_opsetid(node.domain, kwargs.pop("opset_version", onnx.defs.onnx_opset_version()))
        model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10)
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"


is_compatible = UlpscopeBackend.is_compatible
prepare = UlpscopeBackend.prepare
run_model = UlpscopeBackend.run_model
run_node = UlpscopeBackend.run_node
supports_device = UlpscopeBackend.supports_device
