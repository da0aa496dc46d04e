#!/usr/bin/env bash
# Every command that judges begins with what, why and what to do: three lines for each arithmetic, series or recording, whole, however long the model's names
# are: no condition stands further down, no name and no command is cut.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
cp "$model" digits.onnx
cp "$inputs" digits.npz
"$program" run digits.onnx -i digits.npz -a fp16 -q -o digits-fp16.npz || exit 99
"$program" run digits.onnx -i digits.npz -a fp32 -q -o digits-fp32.npz || exit 99
models=(digits)
# names of 120 characters, one of spaces and marks
if python3 -c 'import numpy' 2>/dev/null; then
    models+=(long)
    python <<'END' || fail "no model of long names"
layer = "/backbone/stages.3/" + "block_of_a_name_without_an_end/" * 3
nodes = [node("Mul", "x scale", "wide", layer + "Mul, with: marks; and. spaces"), node("MatMul", "wide w", "narrow", layer + "MatMul"),
         node("Tanh", "narrow", layer + "output", layer + "Tanh")]
random = np.random.default_rng(5)
write_model("long.onnx", nodes, {"x": (4, 8)}, [layer + "output"], {"scale": np.float32(3e4).reshape(1), "w": (random.standard_normal((8, 8)) * 1e-5).astype("f4")})
np.savez("long.npz", x=(1 + random.random((4, 8))).astype("f4") * 2)
END
    for arithmetic in fp16 fp32; do "$program" run long.onnx -i long.npz -a $arithmetic -q -o long-$arithmetic.npz || fail "long.onnx is not run"; done
fi

for name in "${models[@]}"; do mkdir "$name-samples" && cp "$name.npz" "$name-samples/" || exit 99; done

# command, how many verdicts, arguments: MODEL stands for the model's name
cases() {
    cat <<'LINES'
audit 3 MODEL.onnx -i MODEL.npz -a fp16,bf16,fp64
audit 1 MODEL.onnx -i MODEL.npz -a fp16@h200,acc=fp16
plan 1 MODEL.onnx -i MODEL.npz --tolerance sqnr_db=50
plan 1 MODEL.onnx -i MODEL.npz --tolerance sqnr_db=300
plan 1 MODEL.onnx -i MODEL.npz --tolerance sqnr_db=-20
quantise 1 MODEL.onnx -i MODEL.npz --formats nvfp4,mxfp8,bf16 --budget bits=8
quantise 1 MODEL.onnx -i MODEL.npz --formats nvfp4,fp32 --tolerance sqnr_db=40
quantise 1 MODEL.onnx -i MODEL.npz --formats nvfp4,fp32 --tolerance sqnr_db=300
overflow 3 MODEL.onnx -i MODEL.npz --format fp16,bf16,fp8-e4m3
prove 1 MODEL.onnx --format fp16
prove 1 MODEL.onnx --format fp16 --input-range 0,1e9
prove 1 MODEL.onnx --format bf16
tolerance 1 MODEL.onnx -i MODEL.npz -a fp16
tolerance 1 MODEL.onnx -i MODEL.npz -a fp32
doctor 1 MODEL.onnx -i MODEL.npz -a fp16
quantise 1 MODEL.onnx -i MODEL.npz --for ort
quantise 1 MODEL.onnx -i MODEL.npz --formats int8,fp32 --tolerance sqnr_db=30
doctor 1 MODEL.onnx -i MODEL.npz -a fp32
fix 1 MODEL.onnx -i MODEL.npz -a fp16 -o fixed.onnx
fix 1 MODEL.onnx -i MODEL.npz -a fp32 -o fixed.onnx
audit 1 MODEL.onnx -i MODEL.npz -a fp8-e4m3
audit 1 MODEL.onnx -i MODEL.npz -a bf16 --fail-above sqnr_db=200
audit 1 MODEL.onnx -i MODEL.npz -a e4m2
overflow 1 MODEL.onnx -i MODEL.npz --keep #1=bf16 --keep #0=bf16
overflow 1 MODEL.onnx -i MODEL-samples --format fp16
overflow 1 MODEL.onnx --seed 3 --val-range 0,1e30 --format e4m3
doctor 1 MODEL.onnx -i MODEL.npz -a fp16 --no-plan
fix 1 MODEL.onnx -i MODEL.npz -a tf32 --tolerance sqnr_db=90 -o fixed.onnx
compare 1 MODEL.onnx MODEL-fp16.npz -i MODEL.npz -a fp32
lint 1 MODEL.onnx
quantise 1 MODEL.onnx -i MODEL.npz -a bf16,factor=nvfp4
compare 2 MODEL.onnx MODEL-fp16.npz MODEL-fp32.npz -i MODEL.npz -a fp32
LINES
}
# the commands that have a result and judge it are among them (what engine lists, what show looks up and
# what diff sets side by side are no verdicts)
for command in $("$program" --describe | awk -F '\t' '$1 == "command" { print $2 }'); do
    "$program" "$command" --describe | awk -F '\t' '$1 == "option" && $3 ~ /^json/ && $4 == "FILE"' | grep -q . && echo "$command"
done | grep -vxE 'engine|show|diff' | sort >have
cases | cut -d ' ' -f 1 | sort -u | cmp -s - have || fail "not the commands that judge: $(cases | cut -d ' ' -f 1 | sort -u | diff - have)"

while read -r -u 3 command count arguments; do
    for name in "${models[@]}"; do
        read -ra words <<<"${arguments//MODEL/$name}"
        rm -f fixed.onnx*
        LC_ALL=C.UTF-8 "$program" "$command" "${words[@]}" -q >out 2>err
        code=$?
        [ $code -le 1 ] || fail "$command ${words[*]}: exit $code: $(cat err)"
        # what and why, and what to do behind them; the first lines are a verdict
        awk -v count="$count" '
            # a text goes on in lines that are indented, the first one before its why
            /^        [^ ]/ && line[lines] ~ /^  (why|do) / { sub(/^ */, ""); line[lines] = line[lines] " " $0; next }
            /^  why   / { while (lines > 1 && line[lines] ~ /^  [^ ]/) { sub(/^ */, "", line[lines]); line[lines - 1] = line[lines - 1] " " line[lines]; lines-- } }
            { line[++lines] = $0 }
            END {
                for (n = 2; n < lines; n++)
                    if (line[n] ~ /^  why   [^ ]/ && line[n - 1] ~ /^[^ ]/ && line[n + 1] ~ /^  do    [^ ]/) {
                        found++
                        for (i = n - 1; i <= n + 1; i++)
                            if (line[i] ~ /[,;:]$/ || line[i] ~ /[.][.][.]/) print "not whole: " line[i]
                        if (found == 1 && n != 2) print "the verdict is not first"
                    }
                if (found != count) print found + 0 " verdicts, not " count
            }' out >wrong
        [ ! -s wrong ] || fail "$command ${words[*]}: $(cat wrong)"
        # every command that is proposed: on a line by itself, or in parentheses
        sed -nE 's/^ *(do|next)? *(ulpscope [a-z]+ .*)/\2/p; s/.*\((ulpscope [a-z]+ [^)]*)\).*/\1/p' out >>proposed
    done
done 3< <(cases)
# they can be copied and run
ulpscope() { "$program" "$@"; }
sort -u proposed >commands
grep -q '^ulpscope audit digits.onnx -i digits-samples -a fp16 --keep ' commands || fail "a folder of samples is not proposed"
grep -q "^ulpscope audit digits.onnx -i digits.npz -a fp16 --keep '#1=bf16' --keep '#0=bf16' --keep " commands || fail "what is kept already is not proposed"
while read -r -u 3 command; do
    (eval "$command") >out 2>err </dev/null
    code=$?
    [ $code -le 1 ] || fail "proposed: $command: exit $code: $(cat err)"
done 3<commands
# a plan is proposed for the model of long names alone, where a limit is crossed
for command in audit doctor lint overflow fix $([ ${#models[@]} = 1 ] || echo plan); do grep -q "^ulpscope $command " commands || fail "no ulpscope $command is proposed"; done

# that inputs were drawn and not given is a condition of what is said first, also from a checkpoint, and of nothing else
for line in "audit -a fp16" "audit --for trt11" "audit -a e4m2 --checkpoint done" "audit -a e4m2 --checkpoint done" "doctor -a fp16" "doctor -a e4m2" "overflow -a fp16" \
    "overflow -a e4m3" "plan -a fp16 --tolerance sqnr_db=70" "fix -a fp16 -o fixed.onnx" "fix -a e5m3 -o fixed.onnx" "tolerance -a fp16" "tolerance -a e4m2" \
    "quantise -a bf16,factor=nvfp4"; do
    rm -f fixed.onnx*
    "$program" $line digits.onnx -q >out 2>err || [ $? = 1 ] || fail "$line, no inputs: $(cat err)"
    sed '/^  why/Q; /^$/Q' out | tr -s '\n ' ' ' | grep -qF '(with random inputs, which stand for yours)' || fail "$line, no inputs: not said first"
    rm -f fixed.onnx*
    "$program" ${line% --checkpoint *} digits.onnx -i digits.npz -q >out 2>err || [ $? = 1 ] || fail "$line: $(cat err)"
    tr -s '\n ' ' ' <out | grep -qF 'random inputs' && fail "$line, with inputs: said to be random"
done

# whatever is said of the inputs is proposed whole, and that NaN and infinities are meant
folder=$(printf 'a%.0s' {1..200})/$(printf 'b%.0s' {1..200})
mkdir -p "$folder" && cp digits.npz "$folder/it's 1.npz" && cp digits.npz "$folder/2.npz" && cp digits.npz "$folder/3.npz"
long=(digits.onnx -i "$folder/it's 1.npz" -i "$folder/2.npz" -i "$folder/3.npz" -q)
words="digits.onnx -i '$folder/it'\\''s 1.npz' -i $folder/2.npz -i $folder/3.npz"
for line in "tolerance -a e4m2" "doctor -a e5m3"; do
    "$program" $line "${long[@]}" >out 2>err || [ $? = 1 ] || fail "$line, long inputs: $(cat err)"
    grep -qF "$words -a " out || fail "$line, long inputs: they are not said whole"
done
if python3 -c 'import numpy' 2>/dev/null; then
    python3 -c 'import numpy as np; x = np.repeat(np.load("digits.npz")["patches"], 2, 0); x[0] = np.inf; np.savez("nan.npz", patches=x)'
    for line in "tolerance -a e4m2" "doctor -a fp16"; do
        "$program" $line --allow-nonfinite-inputs digits.onnx -i nan.npz -q >out 2>err || [ $? = 1 ] || fail "$line, infinite inputs: $(cat err)"
        sed -nE 's/^ *(do|next)? *(ulpscope (audit|plan|fix|doctor|quantise) .*)/\2/p' out >commands
        [ -s commands ] || fail "$line, infinite inputs: nothing is proposed"
        grep -v -- ' --allow-nonfinite-inputs' commands && fail "$line: infinite inputs are not said to be meant"
    done
    # a target is judged in what fix takes, and the fix that is proposed is of what is broken
    python <<'END' || fail "no model that needs fusion"
factor = {name: np.float32(value).reshape(1) for name, value in (("up", 1e3), ("down", 1e-6))}
write_model("fused.onnx", [node("Mul", "x up", "a", "a"), node("Mul", "a up", "b", "b"), node("Mul", "b down", "y", "y")], {"x": (4, 8)}, ["y"], factor)
END
    for target in trt8 trt10 trt11 trt-rtx torch torch-compile ort-cuda ort-webgpu ort-dml openvino-cpu openvino-gpu coreml-ane coreml-gpu ort-coreml qnn; do
        "$program" audit fused.onnx --for $target -q --no-attribute >out 2>err || fail "audit --for $target: $(cat err)"
        judged=$(awk '/verdict *arithmetic$/ { getline; print $NF }' out)
        fix=$(sed -n 's/^  do    ulpscope //p' out | head -1)
        "$program" fix fused.onnx --for $target -o fixed.onnx -q >out 2>err || [ $? = 1 ] || fail "fix --for $target: $(cat err)"
        head -1 out | grep -q " in $judged\(,\|:\| (\|\$\)" || fail "--for $target: audit judges $judged, fix: $(head -1 out)"
        [ -z "$fix" ] && continue
        eval "\"\$program\" $fix -q" >out 2>err || [ $? = 1 ] || fail "$fix: $(cat err)"
        head -1 out | grep -q '^nothing to fix' && fail "$fix: $(head -1 out)"
    done
    "$program" audit fused.onnx --for trt11 -q >out
    grep -q '^  do    ulpscope fix fused.onnx -a trt11:fp16,fuse=none ' out || fail "not the arithmetic that is broken"
fi

# no tile is green of an output that is not finite
if python3 -c 'import numpy' 2>/dev/null; then
    python3 -c 'import numpy as np; np.savez("large.npz", patches=np.load("digits.npz")["patches"] * np.float32(1e7))'
    "$program" audit digits.onnx -i large.npz -a fp16 --json large.json -q >out 2>err || fail "large inputs: $(cat err)"
    python3 -c 'import json; tiles = json.load(open("large.json"))["lanes"][0]["tiles"]
assert any("not finite" in t["value"] for t in tiles) and not any(t["level"] == "good" for t in tiles), tiles' || fail "tiles of an output that is not finite"
fi
exit $failed
