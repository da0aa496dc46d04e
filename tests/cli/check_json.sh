#!/usr/bin/env bash
# --json of every command that has a result: with - standard output is the JSON and nothing else, the same that --out or --json FILE
# writes, and exit codes are those of the command without it.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
cp "$model" model.onnx
cp "$inputs" in.npz
cat >layers.json <<'JSON'
{"Layers": [{"Name": "embed/MatMul", "LayerType": "gemm", "Inputs": [{"Name": "patches", "Format/Datatype": "Half"}],
 "Outputs": [{"Name": "embed", "Format/Datatype": "Half"}], "Metadata": "[ONNX Layer: embed/MatMul]"}]}
JSON
expect 0 "a recording" "$program" run model.onnx -i in.npz -a fp16 -q -o recorded.npz
expect 0 "a part of an audit" "$program" audit model.onnx -i in.npz -a bf16 -q --checkpoint parts --shard 1/1
expect 0 "a report" "$program" audit model.onnx -i in.npz -a fp16,tf32 -q --no-attribute --out report

# The lines of all commands: name, what --out's JSON is called (-: it has none), arguments.
cases() {
    cat <<'LINES'
audit report.json model.onnx -i in.npz -a bf16
audit report.json model.onnx -i in.npz -a bf16 --fail-above sqnr_db=300
audit report.json --merge parts
doctor doctor.json model.onnx -i in.npz -a fp16
overflow overflow.json model.onnx -i in.npz
compare compare.json model.onnx recorded.npz -i in.npz -a fp16
engine engine.json model.onnx layers.json
prove proof.json model.onnx --input-range 0,1
plan plan.json model.onnx -i in.npz --tolerance sqnr_db=20
quantise plan.json model.onnx -i in.npz --formats nvfp4,fp32 --tolerance sqnr_db=20
lint - model.onnx
tolerance - model.onnx -i in.npz -a bf16 --trials 2
quantise - model.onnx -i in.npz -a bf16,factor=nvfp4 --no-choices
fix - model.onnx -i in.npz -a fp16 --out fixed.onnx
show - report op:MatMul
diff - report report
LINES
}
# every command with the option is among them
for command in $("$program" --describe | awk -F '\t' '$1 == "command" { print $2 }'); do
    "$program" "$command" --describe | awk -F '\t' '$1 == "option" && $3 ~ /^json/ && $4 == "FILE"' | grep -q . && echo "$command"
done | sort >have
cases | cut -d ' ' -f 1 | sort -u | cmp -s - have || fail "not the commands with --json FILE: $(cases | cut -d ' ' -f 1 | sort -u | diff - have)"

# Equal but for what a run costs.
cat >equal.py <<'PY'
import json, sys
def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if "seconds" not in key and "bytes" not in key}
    return [plain(item) for item in value] if isinstance(value, list) else value
first, second = (json.load(open(path)) for path in sys.argv[1:])
assert first["schema"] and first["ulpscope"], "no schema, or no version"
assert plain(first) == plain(second), "they are not equal"
PY
while read -r -u 3 command file arguments; do
    read -ra words <<<"$arguments"
    quiet=(-q)
    case $command in show | diff) quiet=() ;; esac
    name="$command ${words[*]}"
    rm -rf folder fixed.onnx
    "$program" "$command" "${words[@]}" "${quiet[@]}" >text 2>err
    code=$?
    [ $code -le 1 ] || fail "$name: exit $code: $(cat err)"
    also=(--out folder)
    [ "$file" != - ] || also=()
    rm -f fixed.onnx
    expect $code "$name --json -" "$program" "$command" "${words[@]}" "${quiet[@]}" "${also[@]}" --json -
    cp out stream.json
    shows err "$(head -1 text | cut -c 1-40)" "$name: the text is on stderr"
    if [ "$file" = - ]; then
        rm -f fixed.onnx
        expect $code "$name --json FILE" "$program" "$command" "${words[@]}" "${quiet[@]}" --json file.json
        diff <(sed 's/[0-9.]* s$//' text) <(sed 's/[0-9.]* s$//' out) >changed || fail "$name: --json FILE changes the text: $(head -5 changed)"
        python3 equal.py stream.json file.json || fail "$name: standard output is not what --json FILE writes"
    else
        python3 equal.py stream.json "folder/$file" || fail "$name: standard output is no JSON"
        cmp stream.json "folder/$file" || fail "$name: standard output is not $file"
    fi
    # a pipe whose reader comes late
    rm -f fixed.onnx
    "$program" "$command" "${words[@]}" "${quiet[@]}" "${also[@]}" --json=- 2>err | { sleep 0.05; cat >piped.json; }
    python3 equal.py stream.json piped.json || fail "$name: into a pipe: $(tail -2 err)"
done 3< <(cases)

# ---- what goes wrong is said, and leaves standard output empty
overflow=("$program" overflow model.onnx -i in.npz -q --json -)
expect 3 "a model that is none" "$program" overflow in.npz --json -
[ ! -s out ] || fail "a command that fails writes to standard output"
expect 2 "no such option" "${overflow[@]}" --nothing
[ ! -s out ] || fail "a refused command writes to standard output"
"${overflow[@]}" >/dev/full 2>err
[ $? -eq 3 ] || fail "a full disk: not exit 3"
shows err "--json -: cannot write to standard output: No space left on device" "a full disk"
# Markdown is written there by the same way
expect 0 "Markdown on standard output" "$program" lint model.onnx --markdown -
cp out streamed.md
expect 0 "Markdown in a file" "$program" lint model.onnx --markdown file.md
cmp -s streamed.md file.md || fail "--markdown - writes other than --markdown FILE: $(diff streamed.md file.md)"
expect 2 "both on standard output" "$program" lint model.onnx --markdown - --json -
expect 2 "--json of --apply" "$program" plan model.onnx --apply plan.json -o applied --json -
expect 2 "--json of a shard" "$program" audit model.onnx -q --checkpoint new --shard 1/2 --json -
[ ! -e ./- ] || fail "there is a file of the name -"
# of two command lines the first says where it goes
expect 0 "an audit with a checkpoint" "$program" audit model.onnx -i in.npz -a bf16 -q --checkpoint kept --json first.json
rm first.json
expect 0 "its merge" "$program" audit --merge kept -q
[ ! -e first.json ] || fail "audit --merge writes the file of the audit's --json"
if "$program" list fp16 --sandbox >out 2>err; then
    expect 0 "in the sandbox" "${overflow[@]}" --sandbox
    python3 equal.py out out || fail "in the sandbox: no JSON"
fi
exit $failed
