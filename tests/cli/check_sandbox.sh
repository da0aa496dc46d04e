#!/usr/bin/env bash
# --sandbox: every command gives what it gives without it, and opens no file that the command line does not name.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

mkdir models
cp "$model" models/model.onnx
cp "$inputs" inputs.npz
expect 2 "--sandbox=maybe" "$program" audit models/model.onnx --sandbox=maybe
lines err 1 "--sandbox=maybe"
"$program" lint models/model.onnx --sandbox >out 2>err
if grep -q "this kernel has no Landlock" err; then
    lines err 1 "a kernel without Landlock"
    expect 0 "--sandbox=try without Landlock" "$program" lint models/model.onnx --sandbox=try
    shows err "no sandbox: this kernel has no Landlock" "--sandbox=try without Landlock"
    echo "this kernel has no Landlock: the sandbox is not tried"
    exit $failed
fi

# same NAME ARGUMENTS...: the same files in boxed/ as in plain/, but for seconds. {} is the folder.
same() {
    local name=$1 words=("${@:2}") code
    rm -rf boxed plain
    mkdir boxed plain
    "$program" "${words[@]//\{\}/plain}" -q >/dev/null 2>&1
    code=$?
    expect $code "$name" "$program" "${words[@]//\{\}/boxed}" -q --sandbox
    [ -n "$(ls plain)" ] || fail "$name writes nothing"
    diff -r <(cd plain && ls -R) <(cd boxed && ls -R) >/dev/null || fail "$name: other files"
    for file in plain/*.json plain/*.csv plain/*.onnx plain/*.npz; do
        [ -f "$file" ] || continue
        diff <(grep -av '"seconds"\|plain/' "$file") <(grep -av '"seconds"\|boxed/' "boxed/${file#*/}") >/dev/null || fail "$name: another ${file#*/}"
    done
}
mkdir samples other scratch
export TMPDIR=$work/scratch
cp inputs.npz samples/a.npz
cp inputs.npz other/b.npz
printf 'samples/a.npz\n%s/other/b.npz\n' "$work" >list.txt
same audit audit models/model.onnx -i inputs.npz -a fp16 -o {} --html {}/page.html
same "audit of a list" audit models/model.onnx -i list.txt -a fp16 --checkpoint={}/parts -o{} --junit {}/limits.xml --fail-above nonfinite=0
same "audit in a file of TMPDIR" audit models/model.onnx -i inputs.npz -a bf16 --attribute --out {}
same run run models/model.onnx -i samples -o {}/y.npz
same overflow overflow models/model.onnx -i inputs.npz --out {} --html={}/page.html
same plan plan models/model.onnx -i inputs.npz --tolerance sqnr_db=60 --out {}
same prove prove models/model.onnx --out {}
same tolerance tolerance models/model.onnx --json {}/tolerance.json --trials 2
[ -z "$(ls -A scratch)" ] || fail "a folder stays in TMPDIR"

expect 0 "a report" "$program" audit models/model.onnx -i inputs.npz -a fp16 -q -o report
expect 0 "show" "$program" show report 'op:MatMul' --sandbox
for k in 1 2; do expect 0 "shard $k" "$program" audit models/model.onnx -i list.txt -a fp16 -q --shard $k/2 --checkpoint shards --sandbox; done
expect 0 merge "$program" audit --merge shards -o merged --sandbox
expect 0 "--sandbox=try" "$program" lint models/model.onnx --sandbox=try
if python3 -c 'import numpy' 2>/dev/null; then
    python3 -c 'import numpy as np
a = np.ones((1, 16, 16), np.float16).view(np.uint16)
np.savez("bits.npz", a=a, b=a, c=np.zeros((1, 16, 16), np.uint32))'
    mkdir words
    expect 0 "a word that is an output" "$program" mma v100.mma.f16.f32 bits.npz words/d.npz --sandbox
fi
# what is beside the folder of a link is not in it
ln -s ../other/b.npz samples/link.npz
says 3 "a link out of a folder" "Permission denied" audit models/model.onnx -i samples -a fp16 -q --sandbox
exit $failed
