#!/usr/bin/env bash
# --max-memory holds for what is read: a document that takes many times its file's size is refused before it is parsed.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
awk 'BEGIN { printf "{\"Layers\":["; for (i = 0; i < 300000; i++) printf "%s{\"Name\":\"a%d\"}", i ? "," : "", i; print "]}" }' >wide.json
for command in "run $model -i wide.json -q" "compare $model -i $inputs wide.json -q" "plan $model -i wide.json --tolerance sqnr_db=40 -q"; do
    # shellcheck disable=SC2086
    expect 5 "$command" "$program" $command --max-memory 50M
    shows err "wide.json: out of memory, about" "$command"
done
exit $failed
