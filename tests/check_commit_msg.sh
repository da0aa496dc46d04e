#!/usr/bin/env bash
# scripts/commit-msg takes messages that say what and why, and no others.
set -u
check=${top_srcdir:-.}/scripts/commit-msg
message=$(mktemp) || exit 99
trap 'rm -f "$message"' EXIT
bad=0
expect() { # CODE MESSAGE
    printf "$2" >"$message"
    "$check" "$message" 2>/dev/null
    [ $? = "$1" ] || { echo "expected $1 for: $2"; bad=1; }
}
why='A sum of two was rounded twice; 4 of 512 cases differed.\n'
expect 0 "Sums are rounded once\n\n$why"
expect 0 "ops: sums are rounded once\n\n# a comment of git\n$why"
expect 0 "Merge branch 'sums'\n"
expect 1 "Sums are rounded once\n"
expect 1 "Sums are rounded once\n\nSigned-off-by: Somebody who wrote it <a@b.example>\n"
expect 1 "Sums are rounded once.\n\n$why"
expect 1 "sums are rounded once\n\n$why"
expect 1 "Sums are rounded once\n$why"
expect 1 "Sums are rounded once, products are rounded once, and quotients are rounded once, too\n\n$why"
expect 1 ""
expect 1 "# only a comment\n"
"$check" 2>/dev/null
[ $? = 2 ] || { echo "no file is no wrong usage"; bad=1; }
exit $bad
