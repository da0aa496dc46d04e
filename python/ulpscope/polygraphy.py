"""A runner for Polygraphy, and `polygraphy run MODEL --ulpscope --ulpscope-arith fp16@h200 ...` on its command line.

The package's entry point in the group polygraphy.run.plugins adds the options; nothing has to be set up."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import numpy as np
from polygraphy import util
from polygraphy.backend.base import BaseRunner
from polygraphy.common import TensorMetadata
from polygraphy.datatype import DataType

from ._arrays import dtype_of
from ._library import decode, lib
from ._loaded import _value
from ._model import Model
from ._numbers import ArithmeticName


def _runner_base() -> Any:
    """Polygraphy's classes have no types."""
    return BaseRunner


_Base: Any = _runner_base()


class UlpscopeRunner(_Base):  # type: ignore[misc]
    """Runs an ONNX model in one arithmetic.

    model: what ulpscope.Model takes (a path, bytes, a ModelProto), or a loader that gives it."""

    def __init__(self, model: Any, arithmetic: ArithmeticName = "model", name: str | None = None, threads: int = 0) -> None:
        super().__init__(name=name, prefix=f"ulpscope-{arithmetic}")
        self._source, self._arithmetic, self._threads = model, arithmetic, threads

    @util.check_called_by("activate")  # type: ignore[untyped-decorator]
    def activate_impl(self) -> None:
        self.model = Model(util.invoke_if_callable(self._source)[0])

    @util.check_called_by("get_input_metadata")  # type: ignore[untyped-decorator]
    def get_input_metadata_impl(self) -> Any:
        metadata = TensorMetadata()
        handle = self.model._model
        for i in range(lib.ulp_model_input_count(handle)):
            info = lib.ulp_model_input(handle, i)
            shape = _value(info).shape
            sizes = None if shape is None else [size if size is not None else -1 for size in shape]
            dtype = dtype_of(info.type) or np.dtype(np.float32)
            metadata.add(decode(info.name), dtype=DataType.from_dtype(dtype), shape=sizes)
        return metadata

    @util.check_called_by("infer")  # type: ignore[untyped-decorator]
    def infer_impl(self, feed_dict: Any) -> Any:
        arrays = {name: util.array.to_numpy(array) for name, array in feed_dict.items()}
        start = time.time()
        outputs = self.model.run(arrays, self._arithmetic, threads=self._threads)
        self.inference_time = time.time() - start
        return OrderedDict(outputs)

    @util.check_called_by("deactivate")  # type: ignore[untyped-decorator]
    def deactivate_impl(self) -> None:
        del self.model


def export_argument_groups() -> list[Any]:
    """For Polygraphy's command line: the option that selects the runner, and those that the runner has."""
    from polygraphy.tools.args import ModelArgs, OnnxLoadArgs
    from polygraphy.tools.args import util as args_util
    from polygraphy.tools.args.base import BaseRunnerArgs
    from polygraphy.tools.script import make_invocable

    class UlpscopeRunnerArgs(BaseRunnerArgs):  # type: ignore[misc]
        """ulpscope: running in exact low-precision arithmetic, on the processor."""

        def get_name_opt_impl(self) -> tuple[str, str]:
            return "ulpscope", "ulpscope"

        def add_parser_args_impl(self) -> None:
            self.group.add_argument(
                "--ulpscope-arith",
                help="Arithmetics that --ulpscope computes in, a runner for each: fp16@h200, tf32, trt:fp16, ... "
                "('ulpscope list NAME' explains one). Default: model, the types that the model declares",
                nargs="+",
                default=None,
            )

        def parse_impl(self, args: Any) -> None:
            self.arithmetics = args_util.get(args, "ulpscope_arith") or ["model"]

        def add_to_script_impl(self, script: Any) -> None:
            if self.arg_groups[OnnxLoadArgs].must_use_onnx_loader():
                model = self.arg_groups[OnnxLoadArgs].add_to_script(script, serialize_model=True)
            else:
                model = self.arg_groups[ModelArgs].path
            script.add_import(imports=["UlpscopeRunner"], frm="ulpscope.polygraphy")
            for arithmetic in self.arithmetics:
                script.add_runner(make_invocable("UlpscopeRunner", model, arithmetic=arithmetic))

    return [UlpscopeRunnerArgs()]
