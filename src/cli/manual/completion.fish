# fish completion for ulpscope; made from the program's own tables of options.

function __ulpscope_no_command
    test (count (commandline -opc)) -eq 1
end

function __ulpscope_command
    set -l typed (commandline -opc)
    test (count $typed) -ge 2; and test $typed[2] = $argv[1]
end

function __ulpscope_values
    switch $argv[1]
@VALUES@
    end
end

# One of a list of arithmetics: after a comma parts as well, after "@" GPUs. $argv[1] is what stands before the list.
function __ulpscope_list
    set -l last (string replace -r '^.*,' '' -- $argv[2])
    set -l before $argv[1](string sub -l (math (string length -- $argv[2]) - (string length -- $last)) -- $argv[2])
    if string match -q '*@*' -- $last
        set before $before(string replace -r '@[^@]*$' '@' -- $last)
        string join \n -- $before(__ulpscope_values gpu)
        return
    end
    string join \n -- $before(__ulpscope_values arithmetic)
    string match -q '*,' -- $before; and string join \n -- $before(__ulpscope_values part)
end

# The argument that is being typed, without the option before it.
function __ulpscope_typed
    string replace -r -- '^(--[^=]*=|-[a-zA-Z])' '' (commandline -ct)
end

function __ulpscope_arithmetics
    __ulpscope_list '' (__ulpscope_typed)
end

function __ulpscope_keep
    set -l typed (__ulpscope_typed)
    string match -q '*=*' -- $typed; or return
    __ulpscope_list (string replace -r '=[^=]*$' '=' -- $typed) (string replace -r '^.*=' '' -- $typed)
end

complete -c ulpscope -f
complete -c ulpscope -n __ulpscope_no_command -l help -d 'Print the commands'
complete -c ulpscope -n __ulpscope_no_command -l version -d 'Print the version'
@COMMANDS@
@OPTIONS@
