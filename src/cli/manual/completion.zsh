#compdef ulpscope
# zsh completion for ulpscope; made from the program's own tables of options.

typeset -gA _ulpscope_values=(
@VALUES@
)

# One of a list of arithmetics: after a comma parts as well, after "@" GPUs.
_ulpscope_arithmetics()
{
    local part=''
    compset -P '*,' && part=part
    if compset -P '*@'; then
        compadd -S '' -- ${=_ulpscope_values[gpu]}
    else
        compadd -S '' -- ${=_ulpscope_values[arithmetic]} ${part:+${=_ulpscope_values[part]}}
    fi
}

_ulpscope_value()
{
    case $1 in
        arithmetic) _ulpscope_arithmetics ;;
        keep) compset -P 1 '*=' && _ulpscope_arithmetics ;;
        *) compadd -- ${=_ulpscope_values[$1]} ;;
    esac
}

_ulpscope()
{
    local -a commands
    commands=(
@COMMANDS@
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        compadd -- --help --version
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
@OPTIONS@
    esac
}

_ulpscope "$@"
