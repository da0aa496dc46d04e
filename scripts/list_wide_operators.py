#!/usr/bin/env python3
"""Lists the operators that do not take FLOAT16, or BFLOAT16, from the schemas of the onnx package and, for com.microsoft, of
onnxruntime: scripts/list_wide_operators.py > src/ops/wide.def. A graph with mixed types keeps them in FLOAT."""
import subprocess
import sys

import onnx
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

FLOATS = {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)"}
TYPES = [("FLOAT16", "tensor(float16)"), ("BFLOAT16", "tensor(bfloat16)")]
# Floats that configure an operator: they stay FLOAT beside data of any type (kind 'p' of the operators' rows).
PARAMETERS = {"Resize": {"roi", "scales"}, "Upsample": {"scales"}}
# Their scales are FLOAT, and what they compute follows from the scales.
QUANTIZED = {"QuantizeLinear", "DequantizeLinear"}
LAST = 99


def refuses(schema, wanted):
    """Is there a float among the required inputs, or the first output, that cannot have the type?"""
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    required = [s for s in schema.inputs if "Optional" not in str(s.option)]
    slots = [s for s in required if s.name not in PARAMETERS.get(schema.name, ())] + list(schema.outputs)[:1]
    names = [getattr(s, "type_str", None) or s.typeStr for s in slots]
    sets = [allowed.get(name, {name}) for name in names]
    return schema.name in QUANTIZED or any(s & FLOATS and wanted not in s for s in sets)


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
            types = tuple(t for t, wanted in TYPES if refuses(schema, wanted))
            if spans and spans[-1][2] == types:
                spans[-1] = (spans[-1][0], last, types)
            else:
                spans.append((schema.since_version, last, types))
        yield from ((name, *span) for span in spans if span[2])


def computed(program):
    """Names of com.microsoft that the program computes."""
    text = subprocess.run([program, "ops"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0].split(".", 2)[2] for line in text.splitlines() if line.startswith("com.microsoft.")}


def main():
    names = computed(sys.argv[1] if len(sys.argv) > 1 else "ulpscope")
    domains = [("", [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]),
               ("com.microsoft", [s for s in get_all_operator_schema() if s.domain == "com.microsoft" and s.name in names])]
    print(f"""/* Operators whose floats cannot be FLOAT16 or BFLOAT16, written by scripts/list_wide_operators.py from onnx {onnx.__version__}
 * and ONNX Runtime {onnxruntime.__version__}: WIDE(domain, name, first opset, last opset, types), {LAST}: the newest. */""")
    for domain, schemas in domains:
        for name, first, last, types in rows(schemas):
            print(f'WIDE("{domain}", "{name}", {first}, {last}, {" | ".join(types)})')


main()
