#!/usr/bin/env bash
# ulpscope demo: a page from nothing.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

says 0 demo "overflows at node 5" demo
shows out "Open ulpscope-demo/report.html" demo
cmp -s ulpscope-demo/model.onnx "$model" && cmp -s ulpscope-demo/inputs.npz "$inputs" || fail "the demo's files are not the example's"
[ -s ulpscope-demo/report.html ] && [ -s ulpscope-demo/report.json ] || fail "the demo wrote no report"
expect 0 "a second demo" "$program" demo -o ulpscope-demo
# what it says holds: the commands are run as they are printed
sed -n '/^  ulpscope audit ulpscope-demo/{s/^  ulpscope//;N;s/\\\n//;p}' out >said
expect 0 "the command that the demo names" bash -c "'$program' $(cat said) -q"
shows out 63.4 "the command that the demo names"
echo changed >>ulpscope-demo/model.onnx
cp ulpscope-demo/model.onnx before
expect 2 "a model of another's" "$program" demo
cmp -s before ulpscope-demo/model.onnx || fail "the demo wrote over a model of another's"
mkdir linked && ln -s "$work/target" linked/model.onnx
expect 3 "a link in the demo's folder" "$program" demo -o linked
[ ! -e target ] || fail "the demo wrote through a link"
expect 2 "a model for the demo" "$program" demo "$model"
if "$program" list fp16 --sandbox 2>&1 | grep -q Landlock; then echo "no Landlock: the demo is not run in a sandbox"; else
    expect 0 "the demo in a sandbox" "$program" demo --sandbox -o boxed
fi
exit $failed
