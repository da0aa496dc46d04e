#!/usr/bin/env bash
# scripts/sizes: its rooms add up to what is there, and the totals in NEWS.md are not older than 5 % of the lines.
set -u
export ULPSCOPE_BUILD=$PWD
cd "${top_srcdir:-.}" || exit 99
table=$(scripts/sizes) || { echo "scripts/sizes failed"; exit 1; }
there=0 # but what says that a script made it
while read -r file; do
    head -3 "$file" | grep -qiE '(made|generated|written) by (scripts|lab)/' || there=$((there + $(wc -l <"$file")))
done < <(find src analysis include \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -not -name '*.pb-c.*')
[ "$there" -gt 10000 ] || { echo "only $there lines were found"; exit 1; }
sum=$(awk '/^(src|analysis)\/|^include / { lines += $2 } END { print lines }' <<<"$table")
said=$(awk '$1 == "product" { print $2 }' <<<"$table")
[ "$sum" = "$there" ] && [ "$said" = "$there" ] || { echo "$there lines, but $sum in rooms and $said in sum"; exit 1; }
[ "$(awk '/^src\/kernels/ { print $5 }' <<<"$table")" != 0 ] || { echo "no bytes of src/kernels"; exit 1; }
[ "$(awk '/^tests\/kernels/ { print $2 }' <<<"$table")" -gt 1000 ] || { echo "no tests of kernels"; exit 1; }
[ "$(awk '$1 == "lab" { print $2 }' <<<"$table")" = "$(find lab -name "*.py" -o -name "*.c" | xargs cat | wc -l)" ] || { echo "the lab is not counted apart"; exit 1; }
scripts/sizes --nonsense 2>/dev/null
[ $? = 2 ] || { echo "an unknown option is no wrong usage"; exit 1; }
made=$(mktemp -d -p "$ULPSCOPE_BUILD") || exit 99
: >"$made/check_a.log"
sleep 0.2
: >"$made/check_a.trs"
said=$(ULPSCOPE_BUILD=$made scripts/sizes --slowest) born=$(stat -c %W "$made/check_a.log")
rm -r "$made"
[ "$born" -le 0 ] || [[ $said == [0-9]*.[0-9]" s  check_a" && $said != 0.0* ]] || { echo "the slowest tests: $said"; exit 1; }
news=$(grep -oE '[0-9,]+ product lines' NEWS.md | head -1 | tr -dc 0-9)
[ -n "$news" ] || { echo "NEWS.md has no totals: scripts/sizes --totals"; exit 1; }
[ $((20 * (news > there ? news - there : there - news))) -le "$there" ] ||
    { echo "NEWS.md says $news product lines, there are $there: scripts/sizes --totals"; exit 1; }
