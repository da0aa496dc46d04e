#!/usr/bin/env bash
# audit --quick: what is said of its reference, beside the audit whose reference is 128 bits.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

expect 0 "an audit" "$program" audit "$model" -i "$inputs" -a fp16,fp32 -q --no-attribute -o full
expect 0 "a quick audit" "$program" audit "$model" -i "$inputs" -a fp16,fp32 -q --no-attribute --quick -o quick
for text in "reference fp64" "its roundings were recomputed at 128 bits" "estimated: its error is at most" "not proven:"; do
    shows out "$text" "a quick audit"
done
shows quick/report.json '"sampled":' "a quick audit"
grep -q '"quick"' full/report.json && fail "an audit at 128 bits says it is quick"
expect 0 "a quick audit's report" "$program" show quick
expect 0 "both reports" "$program" diff full quick --fail-if-worse
grep -q "FP64 is not known to be enough" out && fail "FP64 is not enough for FP16"
# an arithmetic of FP64's own precision cannot be judged by it
expect 0 "a quick audit of fp64" "$program" audit "$model" -i "$inputs" -a fp64 -q --no-attribute --quick
shows out "FP64 is not known to be enough at" "a quick audit of fp64"
shows out "audit again with --reference mpfr:128" "a quick audit of fp64"
# samples do not depend on each other, nor on being resumed
cp "$inputs" a.npz
cp "$inputs" b.npz
expect 0 "two samples" "$program" audit "$model" -i a.npz -i b.npz -a fp64,fp16 -q --no-attribute --quick -o two
expect 0 "kept samples" "$program" audit "$model" -i a.npz -i b.npz -a fp64,fp16 -q --no-attribute --quick --checkpoint kept -o three
expect 0 "resumed samples" "$program" audit "$model" -i a.npz -i b.npz -a fp64,fp16 -q --no-attribute --quick --checkpoint kept -o four
for folder in three four; do
    cmp -s <(grep -v '"seconds":\|"peak_bytes":' two/report.json) <(grep -v '"seconds":\|"peak_bytes":' $folder/report.json) ||
        fail "$folder: not the bytes of an audit without a checkpoint"
done
expect 2 "two references" "$program" audit "$model" --quick --reference mpfr:64
shows err "leave out --reference" "two references"
expect 2 "two certificates" "$program" audit "$model" --quick --certify
lines err 2 "two certificates"
exit $failed
