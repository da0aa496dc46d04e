#!/usr/bin/env bash
# The README is a page that is read to its end: under 200 lines, none longer than 120 characters; its links lead somewhere.
cd "${top_srcdir:-.}" || exit 99
awk 'length($0) > 120 { print "README.md:" FNR ": " length($0) " characters, 120 at most"; bad = 1 }
     END { if (FNR >= 200) { print "README.md: " FNR " lines, expected less than 200"; bad = 1 } exit bad }' README.md
bad=$?
for page in README.md doc/*.md; do
    for link in $(grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/.$//'); do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page: a link to $link, which is not there"; bad=1; }
    done
done
exit $bad
