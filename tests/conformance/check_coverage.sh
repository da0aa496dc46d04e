#!/usr/bin/env bash
# The coverage that conformance counts: everything missing has a reason and, when Python's onnx has the last opset of the list, the list
# of operators is onnx's and the counts are those counted from onnx's own look-up of each opset.
set -u
python3() { command "${ULPSCOPE_TEST_PYTHON:-python3}" "$@"; }
export ULPSCOPE_PROGRAM=${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}
coverage=$(${ULPSCOPE_EMULATOR:-} "${top_builddir:-.}/conformance" --coverage) || exit 1
export coverage
! grep "NO REASON" <<<"$coverage" || exit 1
python3 -c 'import onnx, sys; sys.exit(onnx.defs.onnx_opset_version() != 28)' 2>/dev/null ||
    { echo "no onnx package of opset 28: the list is not compared"; exit 0; }
diff <(grep '^OPERATOR' "${top_srcdir:-.}/tests/conformance/onnx_operators.def") <(python3 "${top_srcdir:-.}/scripts/list_onnx_operators.py" | grep '^OPERATOR') || exit 1
python3 - <<'PYTHON'
import os, re, subprocess, sys
from onnx import defs

said = subprocess.run([os.environ["ULPSCOPE_PROGRAM"], "list", "operators"], capture_output=True, text=True, check=True).stdout
rows, wrong = {}, 0
for name, since, until in re.findall(r"^(\w+) +opset (\d+)-(\d*)", said, re.M):
    rows.setdefault(name, []).append((int(since), int(until or 99)))
counts = {int(o): (int(e), int(c)) for o, e, c, _ in re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+)$", os.environ["coverage"], re.M)}
names = {s.name for s in defs.get_all_schemas_with_history() if s.domain == ""}
# An experimental operator of opset 1, and those that ONNX Runtime writes into the domain of ONNX.
extra = {"DynamicSlice", "SimplifiedLayerNormalization", "MemcpyFromHost", "MemcpyToHost"}
for name in sorted(set(rows) - names - extra):
    print(f"{name} is no operator of ai.onnx")
    wrong += 1
for opset in range(7, 29):
    there = [n for n in names if defs.has(n, opset, "")]
    there = [n for n in there if not defs.get_schema(n, opset, "").deprecated or any(u < 99 and s <= opset <= u for s, u in rows.get(n, []))]
    covered = [n for n in there if any(s <= opset <= u for s, u in rows.get(n, []))]
    if counts.get(opset) != (len(there), len(covered)):
        print(f"opset {opset}: the program says {counts.get(opset)}, onnx has {len(there)} and {len(covered)} of them are rows")
        wrong += 1
sys.exit(wrong != 0 or not rows)
PYTHON
