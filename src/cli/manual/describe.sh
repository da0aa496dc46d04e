#!/bin/sh
# describe.sh PROGRAM: what the program says of its commands, options and values (read.awk). The output has all of it or the
# exit code is not 0.
set -eu
"$1" --describe
for command in $("$1" --describe | awk -F '\t' '$1 == "command" { print $2 }'); do
    printf 'options\t%s\n' "$command"
    "$1" "$command" --describe
done
