#!/usr/bin/env python3
"""Lists the operators of ai.onnx with the opset versions of their meanings, from the onnx package. `conformance --coverage` counts what is covered
against this list: scripts/list_onnx_operators.py > tests/conformance/onnx_operators.def; tests/conformance/check_coverage.sh compares them."""
import onnx

versions = {}
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        versions.setdefault(schema.name, []).append((schema.since_version, schema.deprecated))

print(f"""/* Every operator of ai.onnx up to opset {onnx.defs.onnx_opset_version()}, written by scripts/list_onnx_operators.py from onnx {onnx.__version__}:
 * OPERATOR(name, opset versions of its meanings in order, the version that removed it or 0). */""")
for name, rows in sorted(versions.items()):
    rows.sort()
    last, gone = rows[-1]
    numbers = " ".join(str(version) for version, _ in (rows[:-1] if gone else rows))
    print(f'OPERATOR("{name}", "{numbers}", {last if gone else 0})')
