#!/usr/bin/env bash
# The README is a page that is read to its end: under 200 lines, none longer than 120 characters. Links of pages lead to files and
# headings that are there.
cd "${top_srcdir:-.}" || exit 99
awk 'length($0) > 120 { print "README.md:" FNR ": " length($0) " characters, 120 at most"; bad = 1 }
     END { if (FNR >= 200) { print "README.md: " FNR " lines, expected less than 200"; bad = 1 } exit bad }' README.md
bad=$?
# a heading's name in links, as GitHub and MkDocs make it of one without runs of dashes
headings() { sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'; }
anchors=0
for page in README.md CONTRIBUTING.md SECURITY.md doc/*.md lab/README.md; do
    while read -r link; do
        case $link in http:* | https:* | mailto:*) continue ;; esac
        file=$page
        [ -z "${link%%#*}" ] || file=$(dirname "$page")/${link%%#*}
        [ -e "$file" ] || { echo "$page: a link to $link, which is not there"; bad=1; continue; }
        case $link in *#*) ;; *) continue ;; esac
        anchors=$((anchors + 1))
        headings "$file" | grep -qxF -- "${link#*#}" || { echo "$page: $file has no heading ${link#*#}"; bad=1; }
    done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//' | sort -u)
done
[ "$anchors" -gt 50 ] || { echo "only $anchors links to headings were seen"; bad=1; }
exit $bad
