#!/usr/bin/env bash
# Columns of tables do not run together, however wide what they hold: in a format a cell aligned to the right begins with a blank (" %9s", not "%10s"), and one aligned to the left ends
# with one, unless it begins the line. Every format of analysis/ that has cells is looked at, broken lines joined.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
touching() {
    perl -0777 -ne '
        my $cell = qr/%[-+0]?(?:\d+|\*)(?:\.(?:\d+|\*))?(?:zu|td|lld|[sdueEfgG])(?:%%)?/;
        s/"\s*\n\s*"//g;
        while (/((?:add|show|figure)\((?:[^;"]*?,\s*)?)"((?:[^"\\]|\\.)*)"/g) {
            my ($before, $format) = ($1, $2);
            print "$ARGV: \"$format\"\n" if $format =~ /$cell%[-+\d*]/ || $format =~ /%%%[\d*]/ || $format =~ /^%(?:\d+|\*)(?:\.\d+)?[a-zA-Z]/ && $format !~ /^%(?:59s|5zu|\*s")/;
        }' "$@"
}
mapfile -t files < <(find "$source/analysis" -name '*_text.c' -o -path '*/report/*.c' -o -path '*/saved/*.c' -o -path '*/search/*.c' | sort)
found=$(touching "${files[@]}" /dev/null)
[ -z "$found" ] || { printf 'FAIL cells that can touch:\n%s\n' "$found"; exit 1; }
# it finds what it is for
printf 'ulp_text_add(out, "%%10s%%8s\\n", a, b);\nulp_text_add(out, "%%9.4g %%%%%%8s", c, d);\nulp_text_add(out,\n    "%%-8s"\n    "%%-14s ", e, f);\nulp_text_add(out, "  %%s%%9s %%8s  %%s\\n", g);\n' >"${TMPDIR:-/tmp}/cells.$$.c"
[ "$(touching "${TMPDIR:-/tmp}/cells.$$.c" | wc -l)" -eq 3 ] || { echo "FAIL of four formats three touch:"; touching "${TMPDIR:-/tmp}/cells.$$.c"; rm "${TMPDIR:-/tmp}/cells.$$.c"; exit 1; }
rm "${TMPDIR:-/tmp}/cells.$$.c"
