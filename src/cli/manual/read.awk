# Reads a description of the program (describe.sh): a record a line, fields between tabs, "\n" and "\\" in texts.
#
#   program VERSION; purpose TEXT; exit TEXT     of the program
#   command NAME SUMMARY                         its commands
#   value KIND NAME                              what arguments may be
#   options COMMAND                              what follows is of this command:
#   words TEXT; before TEXT                      what follows the options; its documentation before them
#   notes TEXT; examples TEXT                    and after them
#   group TITLE                                  what follows is under this title
#   option LETTERS NAMES ARGUMENT TEXT READS WRITES   with all its names; "reads", and the files that it names
#
# into command[1 ..], summary[c], words[c], before[c], notes[c], examples[c], options[c], and of option k: group[c, k], letters[c, k], names[c, k],
# argument[c, k], text[c, k]; values[KIND], separated by spaces.
BEGIN { FS = "\t"; values["what"] = "arithmetics parts targets operators units" }
function plain(text)
{
    gsub(/\\\\/, "\001", text)
    gsub(/\\n/, "\n", text)
    gsub(/\001/, "\\", text)
    return text
}
$1 == "program" { version = $2 }
$1 == "purpose" { purpose = plain($2) }
$1 == "exit" { exit_codes = plain($2) }
$1 == "command" { command[++command_count] = $2; summary[command_count] = plain($3); number[$2] = command_count }
$1 == "value" && $2 ~ /^(arithmetic|target|operator|unit)$/ && !listed[$3]++ { values["what"] = values["what"] " " $3 }
$1 == "value" { if (!seen[$2, $3]++) values[$2] = values[$2] (values[$2] == "" ? "" : " ") $3 }
$1 == "options" { c = number[$2]; title = "" }
$1 == "words" { words[c] = plain($2) }
$1 == "before" { before[c] = plain($2) }
$1 == "notes" { notes[c] = plain($2) }
$1 == "examples" { examples[c] = plain($2) }
$1 == "group" { title = plain($2) }
$1 == "option" {
    k = ++options[c]
    group[c, k] = title
    letters[c, k] = $2
    names[c, k] = $3
    argument[c, k] = plain($4)
    text[c, k] = plain($5)
}

# Every name of an option: "-a --arith".
function all_names(c, k,    out, i, list, count)
{
    for (i = 1; i <= length(letters[c, k]); i++)
        out = out " -" substr(letters[c, k], i, 1)
    count = split(names[c, k], list, " ")
    for (i = 1; i <= count; i++)
        out = out " --" list[i]
    return substr(out, 2)
}

# What an argument may be, by the word that --help has for it: "" for none, "choice a b c", "file", "file onnx", "folder", a KIND
# of values, "keep" (PATTERN=arithmetic), or "any". Words in capitals stand for something, others for themselves.
function kind(word,    out, i, list, count)
{
    gsub(/\[|\]|\.\.\./, "", word)
    if (word == "") return ""
    if (word == "ARITH" || word == "LIST") return "arithmetic"
    if (word ~ /=ARITH$/) return "keep"
    if (word == "GPU") return "gpu"
    if (word == "UNIT" || word == "TARGET" || word == "RULE" || word == "WHAT") return tolower(word)
    if (word == "FOLDER" || word == "DIR") return "folder"
    if (word ~ /\.[a-z]+$/) { sub(/.*\./, "", word); return "file " word }
    if (word ~ /^(FILE|PATH|RECORDING|REPORT|ENGINE|SECOND|OLD|NEW)$/) return "file"
    if (word !~ /^[a-z0-9]/) return "any"
    count = split(word, list, "|")
    for (i = 1; i <= count; i++) {
        sub(/[A-Z].*/, "", list[i])
        out = out " " list[i]
    }
    return "choice" out
}

# The kinds of the words that follow a command's options, separated by ";"; the last one with "*" may be repeated.
function word_kinds(c,    out, i, list, count, first)
{
    first = words[c]
    sub(/\n.*/, "", first)
    count = split(first, list, " ")
    for (i = 1; i <= count; i++)
        out = out (i > 1 ? ";" : "") (list[i] ~ /\.\.\./ ? "*" : "") kind(list[i])
    return out
}

# The values of a kind as a completion offers them: parts of arithmetics as "round=rne", the GPUs without their "@".
function offered(which,    out, i, j, list, count, choice, choices, name)
{
    if (which == "gpu") {
        out = values["part"]
        sub(/^.*@/, "", out)
        sub(/ .*/, "", out)
        gsub(/\|/, " ", out)
        return out
    }
    if (which != "part") return values[which]
    count = split(values["part"], list, " ")
    for (i = 1; i <= count; i++) {
        if (list[i] ~ /^@/) continue
        name = list[i] ~ /=/ ? substr(list[i], 1, index(list[i], "=")) : ""
        choices = split(substr(list[i], length(name) + 1), choice, "|")
        if (choice[1] == "FORMAT") choices = split(values["number-format"], choice, " ")
        for (j = 1; j <= choices; j++) {
            sub(/[A-Z]+$/, "", choice[j])
            out = out " " name choice[j]
        }
    }
    return substr(out, 2)
}
function quoted(word)
{
    gsub(/'/, "'\\''", word)
    return "'" word "'"
}
# The beginning of an option's meaning, on one line.
function short(meaning)
{
    gsub(/\n/, " ", meaning)
    if (match(meaning, /(\. |; | \()/)) meaning = substr(meaning, 1, RSTART - 1)
    if (length(meaning) > 90 && match(meaning, /: /)) meaning = substr(meaning, 1, RSTART - 1)
    if (length(meaning) > 90) { meaning = substr(meaning, 1, 87); sub(/ [^ ]*$/, "", meaning); meaning = meaning "..." }
    return meaning
}
