#!/usr/bin/env python3
"""Lists the operators that do not take FLOAT16, or BFLOAT16, from the schemas of the onnx package and, for com.microsoft, of
onnxruntime: scripts/list_wide_operators.py > src/ops/wide.def. A graph with mixed types keeps them in FLOAT."""
import onnx
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

FLOATS = {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)"}
TYPES = [("FLOAT16", "tensor(float16)"), ("BFLOAT16", "tensor(bfloat16)")]
# What they compute follows from their scales, which are FLOAT.
QUANTIZED = {"QuantizeLinear", "DequantizeLinear"}
LAST = 99
SLOTS = 32
EVERY = ("EVERY", "EVERY")


def refusing(schema, slots, wanted):
    """A letter of each slot that has floats: does it refuse the type? A variadic slot stands for all behind it."""
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    refuses, takes = 0, False
    for i, slot in enumerate(slots):
        name = getattr(slot, "type_str", None) or slot.typeStr
        types = allowed.get(name, {name})
        if types & FLOATS and wanted not in types:
            refuses |= (1 << SLOTS) - (1 << i) if "Variadic" in str(slot.option) else 1 << i
        takes |= wanted in types
    return refuses, takes


def refused(schema, wanted):
    """The inputs and outputs whose floats cannot have the type, as bits; None: there are none."""
    inputs, takes = refusing(schema, schema.inputs, wanted)
    outputs, gives = refusing(schema, schema.outputs, wanted)
    if schema.name in QUANTIZED or (inputs | outputs and not takes and not gives):
        return EVERY
    return (f"{inputs:#x}", f"{outputs:#x}") if inputs | outputs else None


def rows(schemas):
    history = {}
    for schema in schemas:
        if not schema.deprecated:
            history.setdefault(schema.name, []).append(schema)
    for name, versions in sorted(history.items()):
        versions.sort(key=lambda s: s.since_version)
        spans = []
        for i, schema in enumerate(versions):
            last = versions[i + 1].since_version - 1 if i + 1 < len(versions) else LAST
            slots = [refused(schema, wanted) for _, wanted in TYPES]
            if spans and spans[-1][2] == slots:
                spans[-1] = (spans[-1][0], last, slots)
            else:
                spans.append((schema.since_version, last, slots))
        for first, last, slots in spans:
            for of in dict.fromkeys(s for s in slots if s):
                yield name, first, last, " | ".join(t for (t, _), s in zip(TYPES, slots) if s == of), *of


def main():
    domains = [("", [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]),
               ("com.microsoft", [s for s in get_all_operator_schema() if s.domain == "com.microsoft"])]
    print(f"""/* Operators whose floats cannot be FLOAT16 or BFLOAT16, written by scripts/list_wide_operators.py from onnx {onnx.__version__}
 * and ONNX Runtime {onnxruntime.__version__}: WIDE(domain, name, first opset, last opset, types, inputs, outputs): bit i: that slot; {LAST}: the newest. */""")
    for domain, schemas in domains:
        for name, first, last, types, inputs, outputs in rows(schemas):
            print(f'WIDE("{domain}", "{name}", {first}, {last}, {types}, {inputs}, {outputs})')


main()
