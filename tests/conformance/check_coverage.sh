#!/usr/bin/env bash
# Which operators of ai.onnx are computed, by onnx's own look-up of each opset that the package has: prints how many, and fails for one
# that is missing without a reason in conformance's written list, and for a row that is no operator.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_RUNTIMES:-python3}
"$python" -c 'from onnx import defs' 2>/dev/null || { echo "no onnx package: operators are not counted"; exit 77; }
"$program" list operators >rows || exit 1
${ULPSCOPE_EMULATOR:-} "$program_folder/conformance" --list >listed || exit 1
"$python" - <<'END'
import re, sys
from onnx import defs

rows, missing = {}, {}
for name, since, until in re.findall(r"^(\w+) +opset (\d+)-(\d*)", open("rows").read(), re.M):
    rows.setdefault(name, []).append((int(since), int(until or 99)))
reasons = dict(re.findall(r"^  (\w+) +(.+)$", open("listed").read().split("\ntypes\n")[0], re.M))
names = {s.name for s in defs.get_all_schemas_with_history() if s.domain == ""}
# An experimental operator of opset 1, and those that ONNX Runtime writes into the domain of ONNX.
wrong = [f"{name} is no operator of ai.onnx" for name in sorted(set(rows) - names - {"DynamicSlice", "SimplifiedLayerNormalization", "MemcpyFromHost", "MemcpyToHost"})]
print("opset operators computed")
for opset in range(7, defs.onnx_opset_version() + 1):
    there = {n: any(since <= opset <= until for since, until in rows.get(n, [])) for n in names if defs.has(n, opset, "")}
    there = {n: computed for n, computed in there.items() if computed or not defs.get_schema(n, opset, "").deprecated}
    print(f"{opset:5} {len(there):9} {sum(there.values()):8}")
    for name in (n for n, computed in there.items() if not computed):
        missing.setdefault(name, []).append(opset)
for name, opsets in sorted(missing.items()):
    print(f"  {name:28} {opsets[0]:2}-{opsets[-1]:2}  {reasons.get(name, 'NO REASON IS WRITTEN DOWN')}")
wrong += [f"{name} has no reason" for name in missing if name not in reasons]
print("\n".join(wrong))
sys.exit(bool(wrong) or not rows)
END
