#!/usr/bin/env bash
# What publishes: one version everywhere, workflows and the action are YAML whose steps run the program with options that it has. The
# action's audit is run as a runner would, on the example: its summary begins with the verdict, and a limit that is crossed fails it.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
program=${ULPSCOPE_PROGRAM:-$(cd "${top_builddir:-.}" && pwd)/ulpscope}
python=${ULPSCOPE_TEST_PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(cat "$source/VERSION")
grep -qx "version: $version" "$source/CITATION.cff" || { echo "CITATION.cff has another version than VERSION: $version"; exit 1; }
released=$(sed -n 's/^AC_SUBST(\[ULP_RELEASE_DATE\], \[\(.*\)\])$/\1/p' "$source/configure.ac")
grep -qxF "date-released: \"$released\"" "$source/CITATION.cff" || { echo "CITATION.cff has another date than configure.ac: $released"; exit 1; }
"$python" -c 'import yaml' 2>/dev/null || { echo "$python has no yaml: workflows were not read"; exit 77; }
"$python" - "$source" "$work" <<'END' || exit 1
import pathlib, sys, yaml
source, work = map(pathlib.Path, sys.argv[1:])
yaml.safe_load((source / "CITATION.cff").read_text())
workflow = yaml.safe_load((source / "packaging" / "release.yml").read_text())
publish = workflow["jobs"]["publish"]
assert publish["permissions"]["id-token"] == "write" and publish["needs"] == "build", publish
action = yaml.safe_load((source / "action.yml").read_text())
steps = {step["name"]: step for step in action["runs"]["steps"]}
for step in steps.values():
    # what a pull request's author may name reaches the shell through the environment alone
    assert step["shell"] == "bash" and "${{" not in step["run"], step["name"]
(work / "audit.sh").write_text(steps["Audit"]["run"])
(work / "lint.sh").write_text(steps["Lint"]["run"])
(work / "limits").write_text(action["inputs"]["fail-above"]["default"])
END
mkdir -p "$work/runner/ulpscope/bin"
ln -s "$program" "$work/runner/ulpscope/bin/ulpscope"
export RUNNER_TEMP=$work/runner GITHUB_STEP_SUMMARY=$work/summary MODEL=$source/examples/digits/model.onnx INPUTS=$source/examples/digits/inputs.npz \
    ARITH=fp16 MORE= REPORT=$work/report TARGET=trt10 LIMITS
LIMITS=$(cat "$work/limits")
# as runners call it
run() { (cd "$work" && bash --noprofile --norc -eo pipefail "$1") >"$work/said" 2>&1; }
run lint.sh || { echo "the action's lint fails:"; cat "$work/said"; exit 1; }
run audit.sh
[ $? -eq 1 ] || { echo "digits in fp16 is within the action's limits, or could not be audited:"; cat "$work/said"; exit 1; }
sed -n 3,5p "$work/summary" | tr '\n' ' ' | grep -q '^fp16: broken .* why   it overflows at node ' || { echo "the summary does not begin with the verdict:"; head -5 "$work/summary"; exit 1; }
for file in report.json report.html limits.xml; do [ -s "$work/report/$file" ] || { echo "the action writes no $file"; exit 1; }; done
rm -r "$work/report"
MORE="--keep block/norm1/Sum=fp32 --keep block/norm1/Variance=fp32" run audit.sh || { echo "mended, digits still fails:"; cat "$work/said"; exit 1; }
echo "the action's lint and audit ran as a runner runs them"
