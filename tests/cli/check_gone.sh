#!/usr/bin/env bash
# Names that have left: each is answered by one line that says where it went, and NEWS.md's table has the same rows.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

sed -n 's/^GONE("\([^"]*\)", "\([^"]*\)", "\([^"]*\)")$/\1;\2;\3/p' "$source/src/cli/gone.def" >rows
[ "$(wc -l <rows)" -eq "$(grep -c '^GONE(' "$source/src/cli/gone.def")" ] || fail "gone.def has rows of another form"
sed 's/^\([^;]*\);\([^;]*\);\(.*\)/| `\1 \2` | \3 |/; s/ `/`/2' rows >of_table
sed -n '/^| was | is |$/,/^$/p' "$source/NEWS.md" | grep '^| `' >of_news
cmp -s of_table of_news || fail "NEWS.md and gone.def have other rows: $(diff of_table of_news)"

commands=$("$program" --help=all | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
while IFS=';' read -r command option where; do
    name="$command${option:+ $option}"
    for words in "$command $option" "$command model.onnx $option" ${option:+"$command $option=value model.onnx"}; do
        # shellcheck disable=SC2086
        expect 2 "$words" "$program" $words
        [ "$(cat err)" = "ulpscope: '$name' left in this release: $where" ] || fail "$words: $(cat err)"
        lines out 0 "$words"
    done
    if [ -z "$option" ]; then
        ! grep -qx "$command" <<<"$commands" || fail "$command has left, and --help lists it"
    else
        ! "$program" "$command" --help=all 2>/dev/null | grep -qE -- "$option\b" || fail "$name has left, and --help=all lists it"
    fi
done <rows
exit $failed
