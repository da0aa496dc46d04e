# bash completion for ulpscope; made from the program's own tables of options.

# The options of a command, and the kinds of the words that may follow it.
_ulpscope_command()
{
    options='' words=()
    case $1 in
@OPTIONS@
    esac
}

# The kind of an option's argument; empty: it takes none.
_ulpscope_kind()
{
    kind=''
    case "$1 $2" in
@KINDS@
    esac
}

_ulpscope_values()
{
    values=''
    case $1 in
@VALUES@
    esac
}

# Offer those of the words $1 that go on from $3, after $2, which is there already.
_ulpscope_offer()
{
    local word
    for word in $1; do
        [[ $word == "$3"* ]] && COMPREPLY+=("$2$word")
    done
}

# One of a list of arithmetics: after a comma parts as well, after "@" GPUs.
_ulpscope_offer_arithmetic()
{
    local values before=$1 last=$2
    [[ $last == *,* ]] && before+=${last%,*}, last=${last##*,}
    if [[ $last == *@* ]]; then
        _ulpscope_values gpu
        _ulpscope_offer "$values" "$before${last%@*}@" "${last##*@}"
        return
    fi
    _ulpscope_values arithmetic
    _ulpscope_offer "$values" "$before" "$last"
    if [[ $before == *, ]]; then
        _ulpscope_values part
        _ulpscope_offer "$values" "$before" "$last"
    fi
    compopt -o nospace 2>/dev/null
}

# Offer arguments of a kind; $2 is what is there before the argument, $3 its beginning.
_ulpscope_argument()
{
    local values path
    case $1 in
        choice*) _ulpscope_offer "${1#choice }" "$2" "$3" ;;
        arithmetic) _ulpscope_offer_arithmetic "$2" "$3" ;;
        keep) [[ $3 == *=* ]] && _ulpscope_offer_arithmetic "$2${3%%=*}=" "${3#*=}" ;;
        file* | folder)
            compopt -o filenames 2>/dev/null
            while IFS= read -r path; do
                [[ $1 != 'file '* || -d $path || $path == *."${1#file }" ]] && COMPREPLY+=("$2$path")
            done < <(if [[ $1 == folder ]]; then compgen -d -- "$3"; else compgen -f -- "$3"; fi)
            ;;
        *)
            _ulpscope_values "$1"
            _ulpscope_offer "$values" "$2" "$3"
            ;;
    esac
}

# The command before the cursor as words; bash itself splits them at "=" and ":", too. The state after the last whole word:
# `kind` of the argument that the current one must be, or the `position` of a word.
_ulpscope_parse()
{
    local word i
    kind='' position=0 only_words=''
    for word in "${typed[@]:2:${#typed[@]}-3}"; do
        if [[ $kind ]]; then
            kind=''
        elif [[ $only_words || $word != -?* ]]; then
            position=$((position + 1))
        elif [[ $word == -- ]]; then
            only_words=yes
        elif [[ $word == --* ]]; then
            [[ $word == *=* ]] || _ulpscope_kind "${typed[1]}" "$word"
        else
            for ((i = 1; i < ${#word}; i++)); do
                _ulpscope_kind "${typed[1]}" "-${word:i:1}"
                [[ $kind ]] && break
            done
            ((i + 1 < ${#word})) && kind=''
        fi
    done
}

_ulpscope()
{
    local line=${COMP_LINE:0:COMP_POINT} IFS=$' \t\n'
    local typed current commands options words kind position only_words breaks i
    COMPREPLY=()
    read -a typed <<<"$line" # a backslash keeps a space
    [[ $line == *[[:space:]] && $line != *\\[[:space:]] || ${#typed[@]} -lt 2 ]] && typed+=('')
    current=${typed[${#typed[@]} - 1]}
    if [[ ${#typed[@]} -eq 2 ]]; then
@COMMANDS@
        _ulpscope_offer "$commands" '' "$current"
        return
    fi
    _ulpscope_command "${typed[1]}"
    _ulpscope_parse
    if [[ $kind ]]; then
        _ulpscope_argument "$kind" '' "$current"
    elif [[ ! $only_words && $current == --*=* ]]; then
        _ulpscope_kind "${typed[1]}" "${current%%=*}"
        _ulpscope_argument "$kind" "${current%%=*}=" "${current#*=}"
    elif [[ ! $only_words && $current == -* ]]; then
        _ulpscope_offer "$options" '' "$current"
    elif [[ ${#words[@]} -gt 0 ]]; then
        i=$((position < ${#words[@]} ? position : ${#words[@]} - 1))
        [[ $i -eq $position || ${words[i]} == \** ]] && _ulpscope_argument "${words[i]#\*}" '' "$current"
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
    # bash replaces only what follows the last of these
    breaks=${COMP_WORDBREAKS//[^=:@]/}
    if [[ $breaks && $current == *["$breaks"]* ]]; then
        local kept=${current%"${current##*["$breaks"]}"}
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$kept"}; done
    fi
}
complete -F _ulpscope ulpscope
