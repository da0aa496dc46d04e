#!/usr/bin/env bash
# conformance as its users, tests, meet it: exit codes, tolerances, memory, what is out of scope.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
# shellcheck disable=SC2086
conformance() { ${ULPSCOPE_EMULATOR:-} "$program_folder/conformance" "$@"; }

cases=$work/attention case=$work/attention/test_attention
python3 -m zipfile -e "$source/tests/data/microsoft/attention.zip" "$cases"
expect 0 "one case" conformance "$case"
shows out "total                              1       0            0" "one case"
expect 1 "a tolerance of nothing" conformance "$cases" --arith fp16 --tolerance 0,0
shows out FAILED "a tolerance of nothing"
expect 2 "no folder of cases" conformance
expect 2 "bad tolerance" conformance "$cases" --tolerance nan,0
expect 2 "two arithmetics" conformance "$cases" -a fp32 -a fp16
expect 3 "missing folder" conformance nowhere
mkdir empty
expect 3 "folder without cases" conformance empty
expect 0 "scope" conformance --list
shows out "sequences" "scope"
mkdir -p case/test_small/test_data_set_0
cp "$model" case/test_small/model.onnx
expect 1 "a case that does not fit" conformance case --max-memory 20480
shows out "out of memory" "a case that does not fit"
exit $failed
