#!/usr/bin/env bash
# The program on a hostile host: processor modes, files, streams and names that others have set up.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# A library linked with -ffast-math sets the processor's mode for whoever loads it.
if command -v cc >/dev/null && ! grep -q __asan_init "$program"; then
    cat >mode.c <<'C'
#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif
__attribute__((constructor)) static void set_mode(void)
{
    fesetround(FE_UPWARD);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}
C
    if cc -shared -fPIC mode.c -o mode.so -lm 2>/dev/null; then
        for preload in "" "$work/mode.so"; do
            LD_PRELOAD=$preload expect 0 "audit, preloaded '$preload'" "$program" audit "$model" -a fp32,fp16 --val-range -1e-38,3e-38 -q
            grep -v seconds out >"${preload:+pre}loaded"
        done
        cmp -s loaded preloaded || fail "a preloaded library changes what an audit says"
    fi
fi

# Names with control characters, line ends and bytes that are no UTF-8 stay on their line and move no cursor.
if command -v python3 >/dev/null; then
    python <<'PY'
evil = b'a\x1b[31mred\x1b]0;title\x07\nulpscope:_well\r\t\x9b2J\xff"=1+1\xe2\x80\xae'
def one(op, inputs, output):
    return b"".join(block(1, n) for n in inputs) + block(2, output) + block(3, output) + block(4, op)
def write(path, nodes, outputs):
    graph = b"".join(block(1, n) for n in nodes) + block(2, evil) + block(11, value("x", [2, 3])) + b"".join(block(12, value(n, None)) for n in outputs)
    open(path, "wb").write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, 18)))
write("names.onnx", [one("Relu", [b"x"], evil), one("Neg", [evil], b"y")], ["y"])
write("operator.onnx", [one(evil, [b"x"], evil)], [])
write("missing.onnx", [one("Relu", [evil], b"y")], ["y"])
with zipfile.ZipFile("names.npz", "w") as z:
    z.writestr("x\n\x1b[2J.npy", b"\x93NUMPY")
PY
    # Visible UTF-8 and line ends alone.
    harmless() { ! LC_ALL=C.UTF-8 grep -qaP '[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{202e}]' "$1" && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null || fail "$2: $1 is not harmless"; }
    expect 0 "run with evil names" "$program" run names.onnx --all-values -o names_out.npz
    expect 0 "run prints evil names" "$program" run names.onnx
    harmless out "run prints evil names"
    expect 0 "audit of evil names" "$program" audit names.onnx -a fp16 -o names_report
    for file in out err names_report/layers.csv names_report/summary.txt names_report/report.json; do harmless $file "audit of evil names"; done
    [ "$(wc -l <names_report/layers.csv)" -eq 3 ] || fail "a name ends a line of layers.csv"
    expect 4 "an operator of an evil name" "$program" audit operator.onnx -q
    harmless err "an operator of an evil name"
    lines err 2 "an operator of an evil name"
    expect 3 "a missing value of an evil name" "$program" audit missing.onnx
    harmless err "a missing value of an evil name"
    lines err 1 "a missing value of an evil name"
    expect 3 "a member of an evil name" "$program" run "$model" -i names.npz
    harmless err "a member of an evil name"
    lines err 1 "a member of an evil name"
    cp names.onnx "$(printf 'evil\n\033[2J.onnx')"
    expect 0 "a file of an evil name" "$program" audit "$(printf 'evil\n\033[2J.onnx')" -q
    harmless out "a file of an evil name"
    expect 3 "a missing file of an evil name" "$program" audit "$(printf 'none\n\033[2J.onnx')"
    harmless err "a missing file of an evil name"
    lines err 1 "a missing file of an evil name"
    expect 2 "an argument of evil characters" "$program" audit names.onnx --dim "$(printf 'a\n\033[2J')"
    harmless err "an argument of evil characters"
    if command -v script >/dev/null; then
        script -qec "'$program' audit names.onnx -a fp16" /dev/null </dev/null | grep -qaP '\x1b\][0-9]|\x07' && fail "evil names reach the terminal"
    fi
fi

# Output that is lost is said, however the program ends.
if [ -w /dev/full ]; then
    for arguments in --help --version "audit --help" "list operators" "list fp16" "list units" "run $model -q" "audit $model -q"; do
        # shellcheck disable=SC2086
        "$program" $arguments >/dev/full 2>err
        [ $? -eq 3 ] || fail "ulpscope $arguments with a full disk ends well"
        shows err "cannot write to standard output" "ulpscope $arguments with a full disk"
    done
    expect 3 "limits that are crossed, as XML that does not fit" "$program" audit "$model" -i "$inputs" -a fp16 -q --fail-above sqnr_db=60 --junit /dev/full
    shows out "limit crossed: sqnr_db=60" "limits that are crossed, as XML that does not fit"
    shows err "/dev/full: cannot write" "limits that are crossed, as XML that does not fit"
fi
"$program" --version >&- 2>err
[ $? -eq 3 ] || fail "printing to a closed stream ends well"
"$program" run "$model" -i "$inputs" -q -o closed.npz >&- 2>err || fail "a closed stream to which nothing is written is an error"
"$program" run "$model" -i "$inputs" -o open.npz 2>&- || fail "no stream for notes is an error"
cmp -s closed.npz open.npz || fail "notes went into the output's file"

# What is read is not written to, by whatever name.
cp "$model" own.onnx; ln own.onnx hard.onnx; ln -s own.onnx soft.onnx; cp "$inputs" in.npz; mkdir folder; cp "$inputs" folder/a.npz
for output in own.onnx hard.onnx soft.onnx ./folder/../own.onnx in.npz; do
    says 2 "run writes to $output" "nothing is written to it" run own.onnx -i in.npz -o "$output"
    lines err 1 "run writes to $output"
done
expect 2 "run writes into its folder of inputs" "$program" run own.onnx -i folder -o folder/a.npz
cp in.npz report.json; mkdir link; ln -s ../own.onnx link/report.json
expect 2 "the report is the model" "$program" audit own.onnx -a fp16 -o link
for file in own.onnx:$model in.npz:$inputs folder/a.npz:$inputs; do cmp -s "${file%%:*}" "${file#*:}" || fail "${file%%:*} has changed"; done
if command -v python3 >/dev/null; then
    python <<'PY'
external = block(13, block(1, "location") + block(2, "weights.npz")) + number(14, 1)
weight = number(1, 2) + number(2, 1) + block(8, "w") + external
node = block(1, "x") + block(1, "w") + block(2, "y") + block(4, "Add")
graph = block(1, node) + block(2, "g") + block(5, weight) + block(11, value("x", [2])) + block(12, value("y", None))
open("external.onnx", "wb").write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, 18)))
open("weights.npz", "wb").write(bytes(8))
PY
    expect 0 "external data" "$program" run external.onnx -o external.npz
    expect 2 "run writes to external data" "$program" run external.onnx -o weights.npz
    [ "$(wc -c <weights.npz)" -eq 8 ] || fail "external data has changed"
fi

# Where no file can be made is said before the work, and two outputs are two files.
mkdir taken
for wanted in "run -o" "overflow --html" "tolerance -a bf16 --json" "plan -a bf16 --tolerance sqnr_db=30 --html" \
    "audit -a bf16 --junit" "audit -a bf16 --html"; do
    read -ra words <<<"$wanted"
    [ "${words[-1]}" != --junit ] || words=("${words[@]:0:3}" --fail-above rms=1 --junit)
    # a model that is computed would take its time, and print
    says 3 "$wanted in no folder" "nowhere/x.out: no file can be made in nowhere/: No such file or directory" "${words[0]}" "$model" -i "$inputs" -q "${words[@]:1}" nowhere/x.out
    lines err 1 "$wanted in no folder"
    lines out 0 "$wanted in no folder"
    expect 3 "$wanted is a folder" "$program" "${words[0]}" "$model" -i "$inputs" -q "${words[@]:1}" taken
    lines out 0 "$wanted is a folder"
done
for second in same ./same taken/../same; do
    says 2 "two outputs, same and $second" "is the file of two outputs" audit "$model" -i "$inputs" -a bf16 -q --html same --junit $second --fail-above rms=1
    lines err 1 "two outputs, same and $second"
    [ ! -e same ] || fail "two outputs, same and $second: something is written"
done
expect 0 "outputs that are no files" "$program" audit "$model" -i "$inputs" -a bf16 -q --html /dev/null --junit /dev/null --fail-above rms=1e9

# What cannot be waited for is refused.
mkfifo pipe.onnx pipe.npz
expect 3 "a pipe as model" timeout 20 "$program" audit pipe.onnx
shows err "not a regular file" "a pipe as model"
expect 3 "a pipe as inputs" timeout 20 "$program" run "$model" -i pipe.npz

# A process that is killed leaves nothing behind, and reports that are written at a time are one's or the other's.
mkdir killed
for wait in 0.01 0.02 0.04 0.08 0.16 0.3; do
    "$program" audit "$model" -i "$inputs" -a fp16 -o killed -q >/dev/null & audit=$!
    sleep $wait; kill -9 $audit 2>/dev/null; wait $audit 2>/dev/null
done
[ -z "$(ls -A killed | grep -vE '^(report.json|layers.csv|summary.txt)$')" ] || fail "a killed audit leaves $(ls -A killed)"
for round in 1 2 3; do
    "$program" audit "$model" -i "$inputs" -a fp16 -o both -q >/dev/null & one=$!
    "$program" audit "$model" -i "$inputs" -a bf16 -o both -q >/dev/null & other=$!
    wait $one || fail "one of two audits into a folder"
    wait $other || fail "the other of two audits into a folder"
    for file in report.json layers.csv summary.txt; do
        case $(grep -ow -e bf16 -e fp16 both/$file | sort -u | tr '\n' ' ') in "fp16 " | "bf16 ") ;; *) fail "two audits mix in $file" ;; esac
        grep -ow -e bf16 -e fp16 both/$file | head -1
    done | sort -u >winners
    [ "$(wc -l <winners)" -eq 1 ] || fail "files of two audits are in one folder"
done

[ $failed -eq 0 ] && echo "all checks of the host passed"
exit $failed
