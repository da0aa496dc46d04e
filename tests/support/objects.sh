# Sourced, from the sources' folder.
# objects FOLDER...: the object files of the sources there, by their paths in $top_builddir, where they are wanted from. By the
# sources, since a build folder may hold objects of files that are gone; those of a build without a static library are in .libs.
objects() {
    local source object
    find "$@" -name '*.c' | while read -r source; do
        for object in "${source%.c}.o" "${source%/*}/.libs/$(basename "$source" .c).o"; do
            [ -f "$OLDPWD/${top_builddir:-.}/$object" ] && { echo "$object"; break; }
        done
    done
}
