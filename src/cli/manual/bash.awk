# After read.awk: completion.bash with its tables.
/^@COMMANDS@$/ { print "        commands=" quoted(list_of_commands()); next }
/^@OPTIONS@$/ { for (c = 1; c <= command_count; c++) print_options(c); next }
/^@KINDS@$/ { for (c = 1; c <= command_count; c++) print_kinds(c); next }
/^@VALUES@$/ {
    count = split("arithmetic part gpu unit rule target what", list, " ")
    for (i = 1; i <= count; i++) print "        " list[i] ") values=" quoted(offered(list[i])) " ;;"
    next
}
reading_template { print }
function list_of_commands(    out, c)
{
    for (c = 1; c <= command_count; c++) out = out command[c] " "
    return out "--help --version"
}
function print_options(c,    k, i, list, count, out)
{
    for (k = 1; k <= options[c]; k++) {
        count = split(all_names(c, k), list, " ")
        for (i = 1; i <= count; i++)
            out = out " " list[i] (argument[c, k] ~ /^[^[]/ && list[i] ~ /^--/ ? "=" : "")
    }
    print "        " command[c] ")"
    print "            options=" quoted(substr(out, 2))
    print "            IFS=';' read -ra words <<<" quoted(word_kinds(c)) " ;;"
}
function print_kinds(c,    k, i, list, count)
{
    for (k = 1; k <= options[c]; k++) {
        if (argument[c, k] == "") continue
        count = split(all_names(c, k), list, " ")
        printf "        "
        for (i = 1; i <= count; i++) printf "%s%s", (i > 1 ? " | " : ""), quoted(command[c] " " list[i])
        print ") kind=" quoted(kind(argument[c, k])) " ;;"
    }
}
