# Sourced, from the sources' folder.
# objects FOLDER...: the object files of the sources there, by their paths in $top_builddir, where they are wanted from. By the
# sources, since a build folder may hold objects of files that are gone.
objects() {
    local source
    find "$@" -name '*.c' | while read -r source; do
        [ ! -f "$OLDPWD/${top_builddir:-.}/${source%.c}.o" ] || echo "${source%.c}.o"
    done
}
