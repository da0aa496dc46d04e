# What Doxygen reads of a public header: the comments of the headers as its own. A comment before a declaration describes that, one
# behind a member its member, the first one its file; indented lines stay as they are, and all signs stand for themselves.
function plain(text)
{
    gsub(/[\\@<>&#%"]/, "\\\\&", text)
    gsub(/::/, "\\::", text)
    gsub(/\.\./, ".\\.", text) # "lanes 1.." would end a list
    return text
}
# One line of a comment; indented ones are verbatim.
function comment_line(text)
{
    if (text ~ /^   / && text !~ /^ *\*\// && !trailing) {
        if (!verbatim) printf "%s", "@verbatim\n"
        verbatim = 1
        return text
    }
    if (verbatim) { verbatim = 0; return "@endverbatim\n" plain(text) }
    return plain(text)
}
function close_comment() { verbatim = 0; inside = 0; trailing = 0 }
{
    line = $0
    if (!inside) {
        start = index(line, "/*")
        if (!start) { print line; next }
        code = substr(line, 1, start - 1)
        rest = substr(line, start + 2)
        trailing = code ~ /[^ \t]/
        inside = 1
        mark = trailing ? "/**<" : "/**"
        if (!trailing && !first++) mark = "/** @" (FILENAME ~ /ulpscope\.h$/ ? "mainpage ulpscope\n" : "file\n")
        printf "%s%s", code, mark
    } else {
        rest = line
        sub(/^ *\*?/, "", rest)
        if (line ~ /^ *\*\/ *$/) rest = "*/"
    }
    end = index(rest, "*/")
    if (!end) { print comment_line(rest); next }
    text = substr(rest, 1, end - 1)
    if (verbatim && text !~ /^   /) printf "%s", "@endverbatim\n"
    if (verbatim && text ~ /^   /) print text "\n@endverbatim */" substr(rest, end + 2)
    else print plain(text) "*/" substr(rest, end + 2)
    close_comment()
}
