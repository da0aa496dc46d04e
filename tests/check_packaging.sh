#!/usr/bin/env bash
# What publishes: one version everywhere, workflows and the action are YAML whose steps run the program with options that it has. The
# action's steps are run as a runner would, on the example: the summary begins with the verdict, a limit that is crossed fails it, and the
# comment, which a server here takes in GitHub's place, is written once and then anew, with what became worse.
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
    if "uses" in step:
        continue
    # what a pull request's author may name reaches the shell through the environment alone
    assert step["shell"] == "bash" and "${{" not in step["run"], step["name"]
(work / "audit.sh").write_text(steps["Audit"]["run"])
(work / "lint.sh").write_text(steps["Lint"]["run"])
(work / "say.sh").write_text(steps["Say"]["run"])
example = yaml.safe_load((source / "doc" / "github-workflow.yml").read_text())["jobs"]["fp16"]["steps"]
given = next(step["with"] for step in example if "ulpscope" in step.get("uses", ""))
assert set(given) <= set(action["inputs"]) and len(example) > 3, given
(work / "limits").write_text(action["inputs"]["fail-above"]["default"])
END
mkdir -p "$work/runner/ulpscope/bin"
ln -s "$program" "$work/runner/ulpscope/bin/ulpscope"
# GitHub's comments: 30 of others, then what is posted; a token of a fork is refused
cat >"$work/github.py" <<'END'
import http.server, json, pathlib, sys
comments, log = [{"id": i, "body": "mine"} for i in range(30)], pathlib.Path(sys.argv[1])
class Comments(http.server.BaseHTTPRequestHandler):
    def answer(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers["Authorization"] != "Bearer secret":
            self.send_response(403); self.end_headers(); return
        assert "/repos/me/mine/issues/" in self.path, self.path
        if self.command == "POST":
            # as it is once somebody has edited it in a browser
            comments.append({"id": len(comments), "body": json.loads(data)["body"].replace("\n", "\r\n")})
        elif self.command == "PATCH":
            comments[int(self.path.rsplit("/", 1)[1])].update(json.loads(data))
        log.write_text(json.dumps([c["body"] for c in comments if c["body"] != "mine"]))
        body = json.dumps(comments if self.command == "GET" else {}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_GET = do_POST = do_PATCH = answer
    def log_message(self, *arguments): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Comments)
print(server.server_port, flush=True)
server.serve_forever()
END
mkfifo "$work/port"
"$python" "$work/github.py" "$work/comments" >"$work/port" & server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
read -r port <"$work/port"
echo '{"pull_request": {"number": 7}}' >"$work/event"
export RUNNER_TEMP=$work/runner GITHUB_STEP_SUMMARY=$work/summary GITHUB_OUTPUT=$work/output MODEL=$source/examples/digits/model.onnx \
    INPUTS=$source/examples/digits/inputs.npz ARITH=fp16 MORE= REPORT=$work/report TARGET=trt10 LIMITS KEPT=kept COMMENT=true WORSE= \
    GITHUB_TOKEN=secret GITHUB_API_URL=http://127.0.0.1:$port GITHUB_REPOSITORY=me/mine GITHUB_EVENT_PATH=$work/event GITHUB_ACTION_PATH=$source
LIMITS=$(cat "$work/limits")
# as runners call it; what a step sets the next one has
run() { (cd "$work" && bash --noprofile --norc -eo pipefail "$1") >"$work/said" 2>&1; }
fail() { echo "$1:"; cat "$work/said"; exit 1; }
audit() { # the steps from the audit on; their exit code
    : >"$work/output"; : >"$work/summary"; rm -f "$work"/runner/*.md
    run lint.sh || fail "the action's lint fails"
    run audit.sh || fail "the action's audit fails by itself"
    AUDITED=$(sed -n 's/^status=//p' "$work/output"); export AUDITED
    run say.sh
}
audit
[ $? -eq 1 ] || fail "digits in fp16 is within the action's limits, or could not be audited"
sed -n 3p "$work/summary" | grep -q '^\*\*✕ fp16: broken ' || { head -5 "$work/summary"; fail "the summary does not begin with the verdict"; }
grep -q '^kept=ulpscope-[0-9]*$' "$work/output" || fail "the cache has no name"
for file in report.json report.html limits.xml lint.sarif; do [ -s "$work/report/$file" ] || fail "the action writes no $file"; done
[ "$(tail -c +2 "$work/comments" | grep -o 'fp16: broken' | wc -l)" -ge 1 ] || fail "there is no comment"
mkdir "$work/first"; mv "$work/kept" "$work/first/"
# mended, with the arithmetic named as it was, and against the first report: the same comment
KEPT=first/kept COMMENT=true MORE="--keep block/norm1/Sum=fp32 --keep block/norm1/Variance=fp32" audit || fail "mended, digits still fails"
"$python" - "$work/comments" <<'END' || fail "the comment is not written anew"
import json, sys
comments = json.load(open(sys.argv[1]))
assert len(comments) == 1 and "Against the default branch" in comments[0] and comments[0].startswith("<!-- ulpscope "), comments
END
# another model's audit has a comment of its own; a fork's token may not write, no pull request has none: neither fails the run
cp "$MODEL" "$work/other.onnx"
MODEL=$work/other.onnx MORE="--keep block/norm1/Sum=fp32 --keep block/norm1/Variance=fp32" audit || fail "another model fails"
[ "$("$python" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$work/comments")" = 2 ] || fail "two audits share a comment"
# so has another arithmetic of the same model, and nobody answering fails no run
LIMITS= ARITH=bf16 audit || fail "another arithmetic fails"
[ "$("$python" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$work/comments")" = 3 ] || fail "two arithmetics share a comment"
LIMITS= GITHUB_API_URL=http://127.0.0.1:1 audit || fail "a run fails where GitHub does not answer"
grep -q '^no comment: GitHub does not answer' "$work/said" || fail "that GitHub does not answer is not said"
# worse than the default branch: fails where that is asked for
rm -rf "$work/kept"; LIMITS= audit || fail "without limits it fails"
cp -r "$work/kept" "$work/good"
sed -i 's/"rms": [0-9.e-]*/"rms": 1e-9/' "$work/good/report.json"
for token in secret theirs; do
    rm -rf "$work/kept"; cp -r "$work/good" "$work/kept"
    LIMITS= WORSE= GITHUB_TOKEN=$token audit || fail "worse fails although it was not asked"
    [ $token = secret ] || grep -q '^no comment: GitHub answers 403' "$work/said" || fail "a fork's token is not said"
    rm -rf "$work/kept"; cp -r "$work/good" "$work/kept"
    LIMITS= WORSE=true GITHUB_TOKEN=$token audit && fail "worse does not fail"
done
echo '{}' >"$work/event"
LIMITS= audit || fail "a run of no pull request fails"
grep -q '^no comment: this run is of no pull request' "$work/said" || fail "that there is no pull request is not said"
echo "the action's lint, audit and comment ran as a runner runs them"
