# After read.awk: completion.zsh with its tables.
/^@COMMANDS@$/ {
    for (c = 1; c <= command_count; c++) print "        " quoted(command[c] ":" summary[c])
    next
}
/^@OPTIONS@$/ { for (c = 1; c <= command_count; c++) print_command(c); next }
/^@VALUES@$/ {
    count = split("arithmetic part gpu unit rule target what", list, " ")
    for (i = 1; i <= count; i++) print "    " list[i] " " quoted(offered(list[i]))
    next
}
reading_template { print }
function escaped(word)
{
    gsub(/\\/, "\\\\", word)
    gsub(/\[/, "\\[", word)
    gsub(/\]/, "\\]", word)
    gsub(/:/, "\\:", word)
    return word
}
function action(which)
{
    if (which ~ /^choice/) return "(" substr(which, 8) ")"
    if (which == "any") return " "
    if (which == "file") return "_files"
    if (which ~ /^file /) return "_files -g \"*." substr(which, 6) "(-.)\""
    if (which == "folder") return "_files -/"
    return " _ulpscope_value " which # the space: without arguments of its own
}
function print_command(c,    k, i, list, count, argued, first)
{
    print "        " command[c] ")"
    print "            _arguments -s -S \\"
    for (k = 1; k <= options[c]; k++) {
        argued = argument[c, k] == "" ? "" : ":" escaped(argument[c, k]) ":" action(kind(argument[c, k]))
        count = split(all_names(c, k), list, " ")
        for (i = 1; i <= count; i++)
            print "                " quoted("*" list[i] (argued == "" ? "" : list[i] ~ /^--/ ? "=" : "+") "[" escaped(short(text[c, k])) "]" argued) " \\"
    }
    first = words[c]
    sub(/\n.*/, "", first)
    count = split(first, list, " ")
    for (i = 1; i <= count; i++)
        print "                " quoted((list[i] ~ /\.\.\./ ? "*" : i) ":" escaped(list[i]) ":" action(kind(list[i]))) " \\"
    print "                && return ;;"
}
