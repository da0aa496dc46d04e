#!/usr/bin/env bash
# The floors of analysis/: a folder may include from, and call into, a lower floor alone; folders of one floor do not know each
# other. From the bottom: what measures and what writes; audits of one sample and their shares; sessions of many; what all commands
# say of an audit; the commands; what reads their files again.
set -u
cd "${top_srcdir:-.}" || exit 99
declare -A floor=([measure]=0 [writing]=0 [schedule]=1 [html]=1 [resized]=1 [tried]=1 [audit]=2 [attribution]=3 [scales]=3 [session]=4 [report]=5
    [emulation]=5 [mixed]=5 [compare]=5 [engine]=6 [extract]=6 [lint]=5 [overflow]=6 [search]=6 [prove]=6 [saved]=6 [tolerance]=6 [between]=6 [doctor]=7 [fix]=7 [quantise]=7)
bad=0 seen=0
check() { # FROM TO WHAT
    [ "$1" != "$2" ] || return 0
    seen=$((seen + 1))
    [ -n "${floor[$1]:-}" ] && [ -n "${floor[$2]:-}" ] || { echo "$3: no floor"; bad=1; return; }
    [ "${floor[$2]}" -lt "${floor[$1]}" ] || { echo "$3: $1 may not see $2"; bad=1; }
}
while IFS=: read -r file included; do
    from=${file#analysis/} to=${included#analysis/}
    check "${from%%/*}" "${to%%/*}" "$file includes $included"
done < <(grep -rnoE --include='*.[ch]' --include='*.def' '#include "analysis/[^"]*"' analysis | sed -E 's/:[0-9]+:#include "([^"]*)"/:\1/')
[ "$seen" -gt 100 ] || { echo "only $seen includes were seen: is top_srcdir right?"; exit 1; }
. tests/support/objects.sh
mapfile -t objects < <(objects analysis)
cd "$OLDPWD/${top_builddir:-.}" || exit 99
[ "${#objects[@]}" -gt 100 ] || { echo "only ${#objects[@]} object files were found: is top_builddir right?"; exit 1; }
seen=0
while read -r from to what; do check "$from" "$to" "$what"; done < <(${NM:-nm} -A -P "${objects[@]}" | awk '
    function room(path) { sub(/^analysis\//, "", path); sub(/\/.*/, "", path); return path }
    { sub(/:$/, "", $1) }
    $3 ~ /^[TDBRCVW]$/ { home[$2] = $1 }
    $3 == "U" { users[++n] = $1; used[n] = $2 }
    END { for (i = 1; i <= n; i++) if (used[i] in home) print room(users[i]), room(home[used[i]]), users[i] "_calls_" used[i] }' | sort -u)
[ "$seen" -gt 100 ] || { echo "only $seen calls were seen"; exit 1; }
exit $bad
