"""AutoCast's functions (NVIDIA ModelOpt, modelopt.onnx.autocast) over a plan: one import changed, and nodes stay in FP32 because a run says so, not because a value is above 512.

    from ulpscope import autocast            # in place of: from modelopt.onnx import autocast
    onnx.save(autocast.convert_to_mixed_precision("model.onnx", keep_io_types=True, calibration_data="inputs.npz"), "mixed.onnx")
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Mapping, Sequence

from ._lowering import lower, refuse
from ._progress import ProgressOption

DEFAULT_DATA_MAX = 512
DEFAULT_INIT_MAX = 65504.0


def _refuse_plugins(plugins: Sequence[str] | None, precisions: Sequence[str] | None = None) -> None:
    if plugins or precisions:
        refuse("trt_plugins", "a plugin's operator is not computed here")


def _target(target: str, low: str) -> str:
    if low not in ("fp16", "bf16"):
        refuse("low_precision_type", f"expected 'fp16' or 'bf16', not {low!r}")
    return f"{target}:{low}"


def convert_to_mixed_precision(
    onnx_path: Any,
    low_precision_type: str = "fp16",
    nodes_to_exclude: Sequence[str] | None = None,
    op_types_to_exclude: Sequence[str] | None = None,
    nodes_to_include: Sequence[str] | None = None,
    op_types_to_include: Sequence[str] | None = None,
    data_max: float | None = DEFAULT_DATA_MAX,
    init_max: float | None = DEFAULT_INIT_MAX,
    keep_io_types: bool = False,
    calibration_data: Any = None,
    custom_rule: Any = None,
    init_conversion_max_bytes: int | None = None,
    providers: Sequence[str] = ("cpu",),
    trt_plugins: Sequence[str] = (),
    trt_plugins_precision: Sequence[str] = (),
    max_depth_of_reduction: int | None = None,
    opset: int | None = None,
    use_standalone_type_inference: bool = False,
    *,
    target: str = "trt11",
    tolerance: str | Sequence[str] = (),
    task: str | None = None,
    seconds: float = 0,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Any:
    """The model in low precision but for the fewest nodes that it needs in FP32 at the target: an onnx.ModelProto (of bytes, bytes).

    onnx_path: also an onnx.ModelProto, or bytes. calibration_data: a path (.npz, Polygraphy's JSON, a folder), arrays by name, or several such; none: random, with a
    warning. nodes_to_exclude and nodes_to_include are expressions that match from the begin of a name; what is included is lowered whatever else says.
    tolerance: as of Model.plan; none: what outputs are for (`task`; None: recognised; doc/verdicts.md) decides whether
    nodes are kept at all, and 40 dB which. seconds: the search ends then, with the best so far. A warning says when the tolerance is not met.

    Runs decide here in place of AutoCast's rules: data_max and init_max are taken as they are by default, or as inf or None, which switch them off; another value, a custom_rule,
    init_conversion_max_bytes, max_depth_of_reduction and plugins are refused. use_standalone_type_inference changes nothing, for types are not inferred by onnx."""
    if data_max not in (None, DEFAULT_DATA_MAX, math.inf) or init_max not in (None, DEFAULT_INIT_MAX, math.inf):
        refuse("data_max, init_max", "runs decide in place of these rules: leave them out, or give nodes_to_exclude")
    if custom_rule is not None:
        refuse("custom_rule", "runs decide: give nodes_to_exclude or op_types_to_exclude")
    if init_conversion_max_bytes is not None:
        refuse("init_conversion_max_bytes", "constants are converted in the file, each rounded once")
    if max_depth_of_reduction is not None:
        refuse("max_depth_of_reduction", "runs decide, and sums are formed as the target forms them: give nodes_to_exclude")
    _refuse_plugins(trt_plugins, trt_plugins_precision)
    if list(providers) != ["cpu"]:
        warnings.warn(f"providers={list(providers)!r}: the reference is exact and computed on the processor, and `target` says what is emulated", stacklevel=2)
    return lower(
        onnx_path, calibration_data, "calibration_data", _target(target, low_precision_type), tolerance=tolerance,
        always={"expressions": nodes_to_exclude, "ops": op_types_to_exclude}, never={"expressions": nodes_to_include, "ops": op_types_to_include},
        lower_io=not keep_io_types, opset=opset, task=task, seconds=seconds, threads=threads, progress=progress,
    )  # fmt: skip


def convert_to_f16(
    model: Any,
    low_precision_type: str = "fp16",
    keep_io_types: bool = True,
    op_block_list: Sequence[str] = (),
    tensor_block_dict: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    trt_plugins: Sequence[str] | None = (),
    use_standalone_type_inference: bool = False,
    opset: int | None = None,
    *,
    inputs: Any = None,
    target: str = "trt11",
    tolerance: str | Sequence[str] = (),
    task: str | None = None,
    seconds: float = 0,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Any:
    """The same of a model in memory: op_block_list stays in FP32, and what else needs to. inputs: as calibration_data above."""
    if tensor_block_dict:
        refuse("tensor_block_dict", "a node has one type here: give op_block_list")
    _refuse_plugins(trt_plugins)
    return lower(
        model, inputs, "inputs", _target(target, low_precision_type), tolerance=tolerance, always={"ops": op_block_list},
        lower_io=not keep_io_types, opset=opset, task=task, seconds=seconds, threads=threads, progress=progress,
    )  # fmt: skip
