#!/usr/bin/env bash
# Manual pages and completions against --help=all: every command has a page, every long option of every command is
# in its page and in the three completions, mandoc finds nothing, and bash completes what a person types.
set -u
made=${top_builddir:-.}/src/cli/manual
source=${top_srcdir:-.}/src/cli/manual
program=${ULPSCOPE_PROGRAM:-${top_builddir:-.}/ulpscope}
bad=0
wrong() { echo "$*"; bad=1; }

# The long options of a command, by its --help=all.
help_options() { "$program" "$1" --help=all | sed -nE 's/^  (-.,|   ) (--.*)$/\2/p' | sed 's/   .*//' | grep -oE -- '(^|, )--[a-z][a-z-]*' | tr -d ', ' | sort -u; }
# What bash offers for the line $1 with the cursor at its end, COMP_WORDBREAKS being $2.
offered() {
    bash --norc -c 'source "$1"; COMP_WORDBREAKS=$3 COMP_LINE=$2 COMP_POINT=${#2}
        read -ra COMP_WORDS <<<"$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9
        _ulpscope ulpscope "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$made/ulpscope" "$1" "$2" | sort -u
}
expect() {
    local got
    got=$(offered "$1" "${3-$default_breaks}" | tr '\n' ' ')
    [ "$got" = "${2:+$2 }" ] || wrong "completing '$1': expected '$2', got '$got'"
}
default_breaks=$' \t\n"\'@><=;|&(:'

commands=$("$program" --help=all | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 16 ] || { echo "too few commands were found"; exit 1; }
expect 'ulpscope ' "$(tr ' ' '\n' <<<"$commands --help --version" | sort | tr '\n' ' ' | sed 's/^ *//; s/ *$//')"
count=0
for command in $commands; do
    page=$made/ulpscope-$command.1
    [ -f "$page" ] || { wrong "$command has no manual page"; continue; }
    grep -q "manual/ulpscope-$command\.1\|%D%/ulpscope-$command\.1" "$source/local.mk" || wrong "src/cli/manual/local.mk does not name ulpscope-$command.1"
    options=$(help_options "$command")
    [ -n "$options" ] || wrong "$command --help=all: too few options were found"
    of_page=$(sed -n '/^\.TP/{n;p}' "$page" | sed 's/\\-/-/g; s/\\f[BIR]/ /g' | grep '^ -' | grep -oE -- ' --[a-z][a-z-]*' | tr -d ' ' | sort -u)
    of_zsh=$(sed -n "/^        $command)/,/return ;;/p" "$made/_ulpscope" | grep -oE "^ *'\*--[a-z][a-z-]*" | grep -oE -- '--.*' | sort -u)
    of_fish=$(grep -F -- "'__ulpscope_command $command'" "$made/ulpscope.fish" | sed "s/ -d '.*//" | grep -oE -- ' -l [a-z-]+' | sed 's/ -l /--/' | sort -u)
    of_bash=$(offered "ulpscope $command --" "$default_breaks" | tr -d '=' | sort -u)
    for place in page zsh fish bash; do
        got=of_$place
        [ "${!got}" = "$options" ] || wrong "$command: --help=all and the $place differ: $(diff <(echo "$options") <(echo "${!got}") | grep '^[<>]' | tr '\n' ' ')"
    done
    count=$((count + $(wc -l <<<"$options")))
done

# --help as wide as the terminal, or 100 columns: no line is wider but for a word that is, and each begins where its kind does.
helps='
import fcntl, os, pty, re, struct, subprocess, sys, termios
for command in sys.argv[2:]:
    for width in (80, 100, 0):
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
        with subprocess.Popen([sys.argv[1], command, "--help=all"], stdout=terminal if width else subprocess.PIPE) as process:
            os.close(terminal)
            text = b""
            try:
                while part := os.read(controller if width else process.stdout.fileno(), 65536):
                    text += part
            except OSError:  # the terminal is closed
                pass
        os.close(controller)
        lines = text.decode().replace("\r", "").split("\n")
        examples = next((i for i, line in enumerate(lines) if line == "Examples:"), 0)
        options = lines[lines.index("", examples) : next(i for i, line in enumerate(lines) if line.startswith("  -h, --help"))]
        wrong = [line for line in options if not re.match(r"$|  -.,? |      --|\S|(?= \S.*:$)| {32}\S", line)]
        wrong += [line for line in lines if len(line) > (width or 100) and len(line.split()) > 1]
        for line in wrong:
            print(f"{command} --help=all, {width or 100} columns: {line!r}")
'
[ -z "$(python3 -c "$helps" "$program" $commands | tee /dev/stderr)" ] || wrong "lines of --help=all"

# what excludes and needs name is there
cat "$source"/../command/*_option.def "$source"/../option/common.c | tr '\n' ' ' | sed 's/" *"//g' >"$$.rows"
for name in $(grep -oE '(EXCLUDES|NEEDS)\("[^:]*:' "$$.rows" | sed 's/.*("//; s/://'); do
    grep -qE "(OPTION|WORD)\(\"$name\"," "$$.rows" || wrong "a row excludes or needs $name, which is no option"
done
rm "$$.rows"

# the first screen: how a command is called, examples before options, no more than fits
for command in $commands; do
    "$program" "$command" -h >"$command.front" || wrong "$command -h"
    [ "$(wc -l <"$command.front")" -le 40 ] || wrong "$command -h: $(wc -l <"$command.front") lines"
    "$program" "$command" --help | cmp -s - "$command.front" || wrong "$command: -h and --help differ"
    [ "$(sed -n 's/^Examples:.*/e/p; s/^  -h, --help.*/h/p' "$command.front" | tr -d '\n')" = eh ] || wrong "$command -h: no examples before the options"
    rm "$command.front"
done

echo "$count options of $(wc -w <<<"$commands") commands"

# what options take
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$made/ulpscope" "$folder/completion"
mkdir "$folder/here" "$folder/here/sub"
touch "$folder/here/net.onnx" "$folder/here/in.npz" "$folder/here/with space.npz"
gpus=$("$program" list parts | sed -n 's/^@\([a-z0-9|]*\)$/\1/p' | tr '|' '\n' | sort | tr '\n' ' ' | sed 's/ $//')
[ -n "$gpus" ] || wrong "no GPUs were found"
expect 'ulpscope audit m.onnx --arith fp16' 'fp16 fp16-strict'
expect 'ulpscope audit m.onnx --arith=bf' 'bf16 bf16-strict'
expect 'ulpscope audit m.onnx --arith=bf' '--arith=bf16 --arith=bf16-strict' $' \t\n'
expect 'ulpscope audit m.onnx -qa tf32-t' 'tf32-trunc'
expect 'ulpscope audit m.onnx --arith fp32,fp16@' "$gpus"
expect 'ulpscope audit m.onnx --arith fp32,fp16@a1' 'a10 a100'
expect 'ulpscope audit m.onnx --arith torch:fp1' 'fp16'
expect 'ulpscope audit m.onnx --arith fp16,order=' 'blocked: pairwise sequential'
expect 'ulpscope audit m.onnx --keep op:Softmax=fp3' 'fp32'
expect 'ulpscope audit m.onnx --keep op:Soft' ''
expect 'ulpscope audit m.onnx --gpu ' "$gpus"
expect 'ulpscope overflow m.onnx --fail-on ' '1bit 3bits overflows'
expect 'ulpscope lint --explain cast-down' 'cast-down-up'
expect 'ulpscope list Softm' 'Softmax'
expect 'ulpscope list -- fp64' 'fp64'
expect 'ulpscope list arithm' 'arithmetics'
expect 'ulpscope mma h200.mma.f16' 'h200.mma.f16.f16 h200.mma.f16.f32'
expect 'ulpscope audit m.onnx --seed ' ''
expect 'ulpscope audit m.onnx --hel' '--help'
expect 'ulpscope audit m.onnx --help=' 'all'
made=$(cd "$made" && pwd) program=$(cd "$(dirname "$program")" && pwd)/ulpscope
cd "$folder/here" || exit 99
expect 'ulpscope audit ' 'net.onnx sub'
expect 'ulpscope audit net.onnx ' ''
expect 'ulpscope audit net.onnx -i ' "in.npz net.onnx sub with space.npz"
expect 'ulpscope audit net.onnx --out=' 'sub'
expect 'ulpscope mma u in' 'in.npz'
cd "$made" || exit 99

bash -n ulpscope || bad=1
skipped=
if command -v zsh >/dev/null; then
    zsh -n _ulpscope || bad=1
else
    skipped+=' zsh'
fi
if command -v fish >/dev/null; then
    fish -n ulpscope.fish || bad=1
    fish_offers() { HOME=$folder fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$made/ulpscope.fish" "$1" | cut -f1 | sort -u | tr '\n' ' '; }
    [ "$(fish_offers 'ulpscope audit m.onnx --arith fp32,tf')" = 'fp32,tf32 fp32,tf32-trunc ' ] || wrong "fish: $(fish_offers 'ulpscope audit m.onnx --arith fp32,tf')"
else
    skipped+=' fish'
fi
if command -v mandoc >/dev/null; then
    found=$(mandoc -Tlint ulpscope*.1)
    [ -z "$found" ] || wrong "mandoc: $found"
else
    skipped+=' mandoc'
fi
[ $bad -eq 0 ] && [ -n "$skipped" ] && { echo "the rest passed; not here, and skipped:$skipped"; exit 77; }
exit $bad
