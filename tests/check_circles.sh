#!/usr/bin/env bash
# No circle of files: where a.c calls into b.c, b.c does not call back, by itself or through others. The graph is
# that of the object files' symbols. A circle that is the recursion of the data itself is listed below, whole; any
# other is opened by moving what both sides need to a file under both.
set -u
cd "${top_srcdir:-.}" || exit 99
. tests/support/objects.sh
allowed='src/load/load_attribute.o src/load/load_graph.o
src/load/mixed/body.o src/load/mixed/node.o
src/run/bodies.o src/run/walk.o
src/run/enclose/enclose_bodies.o src/run/enclose/enclose_body.o src/run/enclose/enclose_graph.o src/run/enclose/iterations.o'
mapfile -t objects < <(objects src analysis | grep -v '^src/cli/')
cd "$OLDPWD/${top_builddir:-.}" || exit 99
[ "${#objects[@]}" -gt 100 ] || { echo "only ${#objects[@]} object files were found: is top_builddir right?"; exit 1; }
# Each file's line: all files it reaches that reach it, itself among them.
circles=$(${NM:-nm} -A -P "${objects[@]}" | awk '
    { sub(/:$/, "", $1) }
    $3 ~ /^[TDBRCVW]$/ { home[$2] = $1 }
    $3 == "U" { users[++n] = $1; used[n] = $2 }
    END {
        for (i = 1; i <= n; i++) {
            from = users[i]; to = home[used[i]]
            if (to != "" && to != from && !((from, to) in edge)) { edge[from, to] = 1; after[from] = after[from] " " to }
        }
        for (file in after) {
            depth = 1; stack[1] = file
            while (depth > 0) {
                count = split(after[stack[depth--]], list, " ")
                for (i = 1; i <= count; i++)
                    if (!((file, list[i]) in reach)) { reach[file, list[i]] = 1; stack[++depth] = list[i] }
            }
        }
        for (pair in reach) {
            split(pair, ends, SUBSEP)
            if ((ends[2], ends[1]) in reach) print ends[1], ends[2]
        }
    }' | sort | awk '$1 != file { if (file) print members; file = $1; members = $2; next } { members = members " " $2 }
    END { if (file) print members }' | sort -u)
new=$(comm -23 <(echo "$circles") <(sort <<<"$allowed"))
[ -n "$new" ] || exit 0
echo "circles of files, one a line:"
echo "$new"
exit 1
