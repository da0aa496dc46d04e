# After read.awk: completion.fish with its tables.
/^@COMMANDS@$/ {
    for (c = 1; c <= command_count; c++)
        print "complete -c ulpscope -n __ulpscope_no_command -a " command[c] " -d " fish_quoted(summary[c])
    next
}
/^@OPTIONS@$/ { for (c = 1; c <= command_count; c++) print_command(c); next }
/^@VALUES@$/ {
    count = split("arithmetic part gpu unit rule target what", list, " ")
    for (i = 1; i <= count; i++) {
        print "        case " list[i]
        print "            string split ' ' -- " fish_quoted(offered(list[i]))
    }
    next
}
reading_template { print }
function fish_quoted(word)
{
    gsub(/\\/, "\\\\", word)
    gsub(/'/, "\\'", word)
    return "'" word "'"
}
function offer(which)
{
    if (which == "any") return "-x"
    if (which ~ /^choice/) return "-x -a " fish_quoted(substr(which, 8))
    if (which == "file") return "-r -F"
    if (which ~ /^file /) return "-x -a '(__fish_complete_suffix ." substr(which, 6) ")'"
    if (which == "folder") return "-x -a '(__fish_complete_directories)'"
    if (which == "arithmetic") return "-x -a '(__ulpscope_arithmetics)'"
    if (which == "keep") return "-x -a '(__ulpscope_keep)'"
    return "-x -a '(__ulpscope_values " which ")'"
}
function print_command(c,    k, i, list, count, start, named)
{
    start = "complete -c ulpscope -n '__ulpscope_command " command[c] "'"
    for (k = 1; k <= options[c]; k++) {
        named = ""
        count = split(all_names(c, k), list, " ")
        for (i = 1; i <= count; i++)
            named = named (list[i] ~ /^--/ ? " -l " substr(list[i], 3) : " -s " fish_quoted(substr(list[i], 2)))
        print start named (argument[c, k] == "" ? "" : " " offer(kind(argument[c, k]))) " -d " fish_quoted(short(text[c, k]))
    }
    count = split(word_kinds(c), list, ";")
    for (i = 1; i <= count; i++) {
        sub(/^\*/, "", list[i])
        if (list[i] != "any") print start " " (list[i] == "file" ? "-F" : substr(offer(list[i]), 4))
    }
}
