# After read.awk: manual pages in `folder`, one for each command, and from overview.man that of the program; `date` is the release's.
/^@COMMANDS@$/ {
    for (c = 1; c <= command_count; c++)
        put(".TP\n\\fBulpscope " command[c] "\\fR" arguments(c) "\n" filled(capital(summary[c])) ".")
    next
}
/^@EXIT@$/ { put(filled(exit_codes)); next }
/^@PAGES@$/ { for (c = 1; c <= command_count; c++) put(".BR ulpscope\\-" command[c] " (1)" (c < command_count ? "," : "")); next }
reading_template {
    page = folder "/ulpscope.1"
    gsub(/@DATE@/, date)
    gsub(/@VERSION@/, version)
    put($0)
}
END { for (c = 1; c <= command_count; c++) write_page(c) }

function put(line) { print line >page }
function capital(line) { return toupper(substr(line, 1, 1)) substr(line, 2) }
# Text that roff shows as it is.
function literal(line)
{
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    gsub(/'/, "\\(aq", line)
    gsub(/`/, "\\(ga", line)
    gsub(/\^/, "\\(ha", line)
    gsub(/~/, "\\(ti", line)
    return (line ~ /^\./ ? "\\&" : "") line
}
# Words to be filled, in lines of at most 76 columns.
function filled(text,    i, count, list, out, line)
{
    count = split(text, list, /[ \n]+/)
    for (i = 1; i <= count; i++) {
        if (list[i] == "") continue
        # a hyphen inside a word is one, before it an option begins
        list[i] = list[i] ~ /^[a-zA-Z(]+(-[a-zA-Z]+)+[,.;:)]*$/ ? list[i] : literal(list[i])
        if (line != "" && length(line) + length(list[i]) > 75) { out = out line "\n"; line = "" }
        line = line (line == "" ? "" : " ") list[i]
    }
    return out line
}
# An argument as written in a synopsis.
function arguments(c,    first) { first = words[c]; sub(/\n.*/, "", first); return first == "" ? "" : " " italic(first) }
function italic(words) { return "\\fI" literal(words) "\\fR" }

function write_option(c, k,    i, count, list, line)
{
    count = split(all_names(c, k), list, " ")
    for (i = 1; i <= count; i++) {
        line = line (i > 1 ? ", " : "") "\\fB" literal(list[i]) "\\fR"
        if (argument[c, k] != "" && i == count) line = line (list[i] !~ /^--/ ? " " : argument[c, k] ~ /^\[/ ? "" : "=") italic(argument[c, k])
    }
    put(".TP\n" line "\n" filled(text[c, k]) (text[c, k] ~ /\.$/ ? "" : "."))
}
# What follows a list of options in --help: paragraphs, and under a line that ends in ":" lines that begin with two spaces: an
# item, or a word, two spaces or more and its meaning; lines that begin with more go on with it. "Examples:" are commands.
function write_after(text,    i, count, list, item, meaning, open)
{
    count = split(text, list, "\n")
    for (i = 1; i <= count; i++) {
        if (list[i] ~ /^  [^ ]/) {
            item = substr(list[i], 3)
            meaning = ""
            if (match(item, /   */)) { meaning = substr(item, RSTART + RLENGTH); item = substr(item, 1, RSTART - 1) }
            for (; i < count && list[i + 1] ~ /^   /; i++) { sub(/^ */, "", list[i + 1]); meaning = meaning " " list[i + 1] }
            put(".TP\n\\fB" literal(item) "\\fR\n" (meaning == "" ? "\\&" : filled(meaning)))
            open = 0
        } else if (list[i] ~ /:$/ && list[i + 1] ~ /^  /) {
            item = substr(list[i], 1, length(list[i]) - 1)
            put((length(item) < 25 ? ".SH " : ".SS ") literal(length(item) < 25 ? toupper(item) : item))
            open = 1
        } else if (list[i] != "") {
            if (!noted++) put(".SH NOTES")
            else if (!open) put(".PP")
            put(filled(list[i]))
            open = 1
        } else
            open = 0
    }
}
function write_page(c,    k, title, text, forms, list, i)
{
    page = folder "/ulpscope-" command[c] ".1"
    noted = 0
    put(".\\\" made from the program's own --help")
    put(".TH ULPSCOPE\\-" toupper(command[c]) " 1 \"" date "\" \"ulpscope " version "\" \"User Commands\"")
    put(".SH NAME\nulpscope\\-" command[c] " \\-\n" filled(summary[c]))
    put(".SH SYNOPSIS")
    forms = split(words[c], list, "\n")
    for (i = 1; i <= forms; i++)
        put((i > 1 ? ".br\n" : "") "\\fBulpscope " command[c] "\\fR [\\fIOPTION\\fR...] " italic(list[i]))
    put(".SH DESCRIPTION\n" filled(before[c]))
    put(".SH OPTIONS")
    for (k = 1; k <= options[c]; k++) {
        if (group[c, k] != "" && group[c, k] != title) put(".SS " literal(group[c, k]))
        title = group[c, k]
        write_option(c, k)
    }
    write_after(notes[c])
    write_after("Examples:\n" examples[c])
    put(".SH EXIT STATUS\n" filled(exit_codes))
    put(".SH SEE ALSO\n.BR ulpscope (1)")
    close(page)
}
