#!/usr/bin/env bash
# What a command reads is never written, by whatever name, and two outputs are two files: every option that names an input
# crossed with every one that names an output, as the program's own description lists them.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# spared FILE COMMAND...: it is refused in a line that names the file, and the file stays as it is.
spared() {
    local file=$1
    shift
    cp "$file" before
    says 2 "$*" "${file##*/}: is " "$@"
    lines err 1 "$*"
    lines out 0 "$*"
    cmp -s before "$file" || fail "$*: $file has changed"
}

# ---- every option with a file or a folder is marked as one that is read or written
commands=$("$program" --describe | awk -F '\t' '$1 == "command" { print $2 }')
for command in $commands; do
    "$program" "$command" --describe >"$command.text"
    awk -F '\t' -v OFS=';' '$1 == "option" { sub(/ .*/, "", $3); print $3, $4, $6, $7 }' "$command.text" >"$command.options"
    awk -F ';' '$2 ~ /(^|[^A-Z])(FILE|FOLDER|PATH|DIR|OUT|IN)$|\.[a-z]+$/ && $3 $4 == "" { print $1 }' "$command.options" >unmarked
    while read -r option; do fail "$command --$option names a file, and is neither read nor written"; done <unmarked
    awk -F ';' '$3 $4 != "" && $2 == "" { print $1 }' "$command.options" >unmarked
    while read -r option; do fail "$command --$option is read or written, and names no file"; done <unmarked
done
[ "$(cat ./*.options | awk -F ';' '$3 != ""' | wc -l)" -ge 15 ] || fail "few options are read"
[ "$(cat ./*.options | awk -F ';' '$4 != ""' | wc -l)" -ge 20 ] || fail "few options are written"
# external data is known when the model is loaded: by a function that looks at the outputs
if grep -rn 'ulp_model_load(' "$source/src/cli" | grep -v option/outputs.c >calls; then
    fail "models are loaded without a look at the outputs: $(cat calls)"
fi

# ---- all inputs, all outputs, all names
printf '{"groups": [{"nodes": ["a", "b"]}]}\n' >groups.json
cp "$model" model.onnx
cp "$inputs" in.npz
mkdir place
ln -s place linked
# words_of COMMAND INPUT FILE: the words of the command, FILE being the one called INPUT.
words_of() {
    local file=$3 word
    word() { if [ "$1" = "$4" ]; then echo "$file"; else echo "$2"; fi; }
    case $1 in
    show) word REPORT model.onnx - "$2" ;;
    diff) word OLD model.onnx - "$2"; word NEW model.onnx - "$2" ;;
    mma) echo h200; word IN.npz in.npz - "$2" ;;
    compare) word MODEL.onnx model.onnx - "$2"; word RECORDING in.npz - "$2" ;;
    extract) word MODEL.onnx model.onnx - "$2"; echo embed/MatMul ;;
    engine) word MODEL.onnx model.onnx - "$2"; word ENGINE other.json - "$2" ;;
    *) word MODEL.onnx model.onnx - "$2" ;;
    esac
}
# What else the command wants so that its options go together.
others_of() {
    case $1-$2-$3 in
    plan-apply-*) ;;
    plan-*) echo --tolerance=sqnr_db=20 ;;
    quantise-*-calibrate) echo --arith=bf16,factor=fp8-tensor ;;
    audit-tokens-*) echo --between=fp16,bf16 ;;
    audit-*-junit) echo --fail-above=rms=1 ;;
    fix-*-json | fix-*-html | fix-*-markdown) echo --out=fixed.onnx ;;
    esac
}
crossed=0
# cross COMMAND INPUT OUTPUT KIND NAMES: a file that is read is written, by each of its names. Of a folder NAMES are the files in it.
cross() {
    local command=$1 input=$2 output=$3 kind=$4 names=$5 file name words others option
    for name in $names; do
        end=${name#"$kind"} # ".data", where the weights of a model go
        [ "$kind" = FOLDER ] || name=victim.npz$end
        rm -rf place other
        mkdir place other
        file=place/$name
        cp in.npz "$file"
        mapfile -t words < <(words_of "$command" "$input" "$file")
        mapfile -t others < <(others_of "$command" "$input" "$output")
        case $input in
        [A-Z]*) option=() ;;
        fuse) option=(--arith="fp16,fuse=$file") ;;
        *) option=("--$input=$file") ;;
        esac
        ln "$file" "other/$name"
        if [ "$kind" = FOLDER ]; then
            for where in place ./other/../place/ linked other; do
                spared "$file" "$command" "${words[@]}" "${option[@]}" "${others[@]}" "--$output=$where"
                crossed=$((crossed + 1))
            done
            rm "other/$name"
            ln -s "../$file" "other/$name"
            spared "$file" "$command" "${words[@]}" "${option[@]}" "${others[@]}" "--$output=other"
            continue
        fi
        ln -s "../$file" other/soft
        for where in "$file" "./other/../$file" linked/$name other/$name other/soft; do
            if [ "$output" = OUT.npz ]; then where=("$where"); else where=("--$output=${where%.data}"); fi
            cp "$file" before
            says 2 "$command: $input is $output" "so nothing is written to it; give the output" "$command" "${words[@]}" "${option[@]}" "${others[@]}" "${where[@]}"
            lines err 1 "$command: $input is $output"
            cmp -s before "$file" || fail "$command: $input is $output, and has changed"
            crossed=$((crossed + 1))
        done
    done
}
for command in $commands; do
    inputs_of=$(awk -F ';' '$3 != "" && $4 == "" { print $1 }' "$command.options")
    words=$(awk -F '\t' '$1 == "words" { sub(/\\n.*/, "", $2); gsub(/[].[]+( |$)|\[/, " ", $2); print $2 }' "$command.text")
    [ "$command" != mma ] || words=IN.npz
    [ "$command" != extract ] || words=MODEL.onnx # the other names nodes
    [ "$command" != show ] || words=REPORT
    ! grep -q '^arith;' "$command.options" || [ "$command" = show ] || inputs_of+=" fuse"
    while IFS=';' read -r output kind read names; do
        [ -n "$names" ] && [ -z "$read" ] || continue
        for input in $inputs_of $words; do
            case $command-$input-$output in
            plan-apply-html | plan-apply-json | plan-apply-markdown | quantise-fuse-out | quantise-cost-calibrate | quantise-validate-calibrate | quantise-calibration-cache-calibrate) continue ;; # they do not go together
            audit-tokens-json | audit-tokens-html | audit-tokens-markdown) files=$names ;;
            audit-tokens-*) continue ;; # --between has no others
            plan-apply-out) files="mixed.onnx mixed.onnx.data" ;;
            *) files=$names ;;
            esac
            cross "$command" "$input" "$output" "$kind" "$files"
        done
    done < <(cat "$command.options"; [ "$command" != mma ] || printf 'OUT.npz;OUT.npz;;OUT.npz\n')
done
echo "$crossed pairs of an input and an output"
[ "$crossed" -ge 600 ] || fail "only $crossed pairs were crossed"

# ---- what is in folders and lists
mkdir -p samples/test_data_set_0 many
cp in.npz samples/a.npz
cp in.npz samples/test_data_set_0/input_0.pb
cp in.npz far.npz
ln -s ../far.npz samples/link.npz
printf '# two\nsamples/a.npz\nfar.npz\n' >list.txt
spared list.txt overflow model.onnx -i list.txt --html list.txt
spared samples/a.npz overflow model.onnx -i list.txt --html samples/a.npz
spared far.npz overflow model.onnx -i list.txt --html far.npz
spared far.npz overflow model.onnx -i samples --html far.npz
spared samples/test_data_set_0/input_0.pb overflow model.onnx -i samples --html samples/test_data_set_0/input_0.pb
spared far.npz plan model.onnx -i in.npz --validate list.txt --tolerance sqnr_db=20 --html far.npz
mkdir recorded
cp in.npz recorded/0000000000.json
spared recorded/0000000000.json compare model.onnx recorded --html recorded/0000000000.json
expect 0 "a report" "$program" audit model.onnx -i in.npz -a bf16 -q -o report
for name in report plan overflow compare engine proof lint; do
    [ -f report/$name.json ] || { echo '{}' >report/$name.json && added=yes; }
    spared report/$name.json show report --html report/$name.json
    [ $name = report ] || rm report/$name.json
done

# ---- parts of audits
expect 0 "a checkpoint" "$program" audit model.onnx -i in.npz -a bf16 -q --checkpoint parts
for part in parts/audit.part parts/sample-000001.part; do
    spared $part audit --merge parts --html $part
    spared $part audit model.onnx -i in.npz -a bf16 --checkpoint parts --html $part
done
spared in.npz audit --merge parts --html in.npz # which the shards' arguments name
spared model.onnx audit --merge parts --html model.onnx
spared model.onnx audit --merge model.onnx --json model.onnx
expect 2 "a part that is not there yet" "$program" audit model.onnx -i in.npz --checkpoint fresh --html fresh/sample-000001.part
[ ! -e fresh ] || fail "a refused audit makes a folder"

# ---- the weights of a model, also of one that is only compared with
if command -v python3 >/dev/null; then
    mkdir big
    python <<'PY'
external = block(13, block(1, "location") + block(2, "weights.bin")) + number(14, 1)
weight = number(1, 2) + number(2, 1) + block(8, "w") + external
node = block(1, "x") + block(1, "w") + block(2, "y") + block(3, "add") + block(4, "Add")
graph = block(1, node) + block(2, "g") + block(5, weight) + block(11, value("x", [2])) + block(12, value("y", None))
open("big/model.onnx", "wb").write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, 18)))
open("big/weights.bin", "wb").write(bytes(8))
PY
    for line in "audit --html" "run -o" "tolerance --json" "overflow --html" "lint --json" "lint --sarif" "lint --html" \
        "plan --tolerance=sqnr_db=20 --html"; do
        read -ra words <<<"$line"
        spared big/weights.bin "${words[0]}" big/model.onnx "${words[@]:1}" big/weights.bin
    done
    spared big/weights.bin audit big/model.onnx --reference-model big/model.onnx --html big/weights.bin
    [ "$(wc -c <big/weights.bin)" -eq 8 ] || fail "weights have changed"
fi

# ---- two outputs are two files
says 2 "a page in a report's place" "two/report.json: is the file of two outputs, --html and --out" audit model.onnx -i in.npz -a bf16 -q -o two --html two/report.json
expect 2 "by a linked folder" "$program" audit model.onnx -i in.npz -a bf16 -q -o linked --html place/layers.csv
expect 2 "a page in a plan's place" "$program" plan model.onnx -i in.npz -q --tolerance sqnr_db=20 -o two --html two/trtexec.txt
[ ! -e two ] || fail "a refused audit makes a folder"
for option in --json --html; do
    says 2 "$option in its weights' place" "h.onnx.data: is the file of two outputs" fix model.onnx -i in.npz --for torch -o h.onnx -q $option h.onnx.data
done

# ---- a link is not written through, whatever it leads to
mkdir links
for line in "audit -a bf16 -o links report.json" "audit -a bf16 --html links/page.html page.html" "run -o links/y.npz y.npz" "overflow -o links overflow.json" \
    "prove -o links proof.json" "tolerance --json links/t.json t.json" "plan --tolerance=sqnr_db=20 -o links mixed.onnx"; do
    read -ra words <<<"$line"
    name=links/${words[-1]}
    for target in victim nowhere; do
        rm -rf links/*
        echo mine >victim
        ln -s ../$target "$name"
        says 2 "$line to $target" "$name: is a symbolic link, and nothing is written through one" "${words[0]}" model.onnx -i in.npz "${words[@]:1:${#words[@]}-2}"
        lines err 1 "$line to $target"
        { [ -L "$name" ] && [ "$(cat victim)" = mine ] && [ ! -e nowhere ]; } || fail "$line writes through a link to $target"
    done
done
rm -rf links/*
ln -s ../place links/inside
expect 0 "a folder may be a link" "$program" run model.onnx -i in.npz -q -o links/inside/y.npz
expect 0 "a link to a device" "$program" tolerance model.onnx -i in.npz -q --trials 2 --json /dev/stdout >out | cat

# ---- good twins: what they write is what the option says, and nothing stands in the way of writing it again
# good COMMAND...: into the folder `o`, twice.
good() {
    rm -rf o
    for time in first second; do expect "${code:-0}" "$* ($time)" "$program" "$@" -q; done
    local names
    names=" $(awk -F ';' '$1 == "out" { print $4 }' "$1.options") o.html "
    for file in o/*; do [[ $names == *" ${file##*/} "* ]] || fail "$*: writes $file, and --describe does not say so"; done
}
good audit model.onnx -i in.npz -a bf16 -o o --html o/o.html
good overflow model.onnx -i in.npz -o o --html o/o.html
good prove model.onnx -o o
good plan model.onnx -i in.npz --tolerance sqnr_db=40 -o o --html o/o.html
good quantise model.onnx -i in.npz --formats nvfp4,fp32 --tolerance sqnr_db=30 -o o --html o/o.html
good engine model.onnx model.onnx -o o --html o/o.html
expect 0 "a recording" "$program" run model.onnx -i in.npz -q -o recording.npz
good compare model.onnx -i in.npz recording.npz -o o --html o/o.html
good audit --merge parts -o o --html o/o.html
expect 0 "a plan" "$program" plan model.onnx -i in.npz -q --tolerance sqnr_db=40 -o planned
expect 0 "a plan's own folder" "$program" plan model.onnx -i in.npz -q --apply planned/plan.json -o planned
expect 0 "beside a plan" "$program" audit model.onnx -i in.npz -q --plan planned/plan.json -o planned
expect 0 "beside a report" "$program" show report --html report/report.html
expect 0 "beside a report, again" "$program" show report --html report/report.html
expect 0 "beside samples" "$program" audit model.onnx -i samples/a.npz -a bf16 -q --html samples/page.html
expect 0 "in a folder that is made" "$program" audit model.onnx -i in.npz -a bf16 -q -o made/it --html made/page.html
expect 0 "the last of two" "$program" audit model.onnx -i in.npz -a bf16 -q --html in.npz --html page.html
exit $failed
