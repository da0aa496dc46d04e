#!/usr/bin/env bash
# What ends the program from outside: its time (--max-time), interruption, and mapped files that become shorter.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# 0.4 s is less than a hundred audits take, and more than starting one does
says 6 "a run that is too long" "ulpscope: the time of --max-time 0.4 is over: no file was left half written" run "$model" -i "$inputs" -a mpfr:128 --repeat 10000 -q --max-time 0.4 -o late.npz
lines err 1 "a run that is too long"
[ -z "$(ls -A | grep -v '^out$\|^err$')" ] || fail "a run that is too long leaves files"
expect 0 "a run in time" "$program" run "$model" -i "$inputs" -q --max-time=600
for command in "audit -q" "plan -q --tolerance sqnr_db=60" "overflow -q" "tolerance -q" "prove -q" lint; do
    # shellcheck disable=SC2086
    expect 6 "$command in no time" "$program" $command "$model" --max-time=0.001
    lines err 1 "$command in no time"
done
for wrong in 0 -1 x 1s nan inf 1e99 ""; do
    expect 2 "--max-time '$wrong'" "$program" audit "$model" --max-time "$wrong"
    lines err 1 "--max-time '$wrong'"
done
expect 2 "--max-time at the end" "$program" audit "$model" --max-time
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "$inputs"; done >list.txt
for i in 1 2 3 4 5 6 7 8 9 10; do cat list.txt; done >long.txt
# As much time as the first sample needs here, be it on a sanitizer's build, and less than two hundred: if it was not done in a
# quarter of that time, they take fifty times as long.
for seconds in 0.1 0.4 1.5 6 24 96; do
    expect 6 "an audit with a checkpoint" "$program" audit "$model" -i long.txt -a fp16 -q --checkpoint done -o report --max-time $seconds
    [ ! -e done/sample-000001.part ] || break
done
shows err " of 200, are in done; the same command resumes after them" "an audit with a checkpoint"
lines err 1 "an audit with a checkpoint"
[ -e done/sample-000001.part ] && [ ! -e report/report.json ] || fail "what an audit with a checkpoint leaves"

command -v python3 >/dev/null || { echo "no python3: nobody interrupts, and files are not shortened"; exit $failed; }
# Who interrupts a command is told what is there; the process ends by the signal.
for signal in INT:130:interrupted TERM:143:"ended by SIGTERM"; do
    IFS=: read -r name code text <<<"$signal"
    rm -rf done
    # (a shell's background processes ignore SIGINT)
    python3 - "$name" "$program" audit "$model" -i long.txt -a fp16 -q --checkpoint done <<'END' >out 2>err
import os, signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while process.poll() is None and not os.path.exists("done/sample-000002.part"):
    time.sleep(0.01)
process.send_signal(getattr(signal, "SIG" + sys.argv[1]))
code = process.wait(60)
sys.exit(128 - code if code < 0 else code)
END
    [ $? -eq "$code" ] || fail "SIG$name: exit code"
    shows err "ulpscope: $text: the samples finished so far, up to " "SIG$name"
    shows err " of 200, are in done; the same command resumes after them" "SIG$name"
    lines err 1 "SIG$name"
done

# The model is loaded when the list of samples is opened: a pipe says when that is.
python <<'END' || exit 99
size = 1 << 18
external = block(13, block(1, "location") + block(2, "weights.bin"))
weights = number(1, size) + number(2, 1) + block(8, "w") + external + number(14, 1)
graph = block(1, node("Add", "x w", "y")) + block(2, "g") + block(5, weights) + block(11, value("x", [size])) + block(12, value("y", [size]))
open("outside.onnx", "wb").write(number(1, 10) + block(7, graph) + block(8, block(1, "") + number(2, 18)))
open("weights.bin", "wb").write(bytes(4 * size))
import struct, zipfile
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % size
head += " " * (63 - (len(head) + 10) % 64) + "\n"
with zipfile.ZipFile("x.npz", "w") as out:
    out.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(4 * size))
END
expect 0 "external weights" "$program" run outside.onnx -i x.npz -q
mkfifo samples.txt
for command in "run outside.onnx" "audit outside.onnx -a fp16"; do
    head -c $((4 << 18)) /dev/zero >weights.bin
    # shellcheck disable=SC2086
    timeout 60 "$program" $command -i samples.txt -q >out 2>err &
    process=$!
    # opening waits until the program opens it
    timeout 60 bash -c 'exec 3>samples.txt; : >weights.bin; echo "$1" >&3' _ "$work/x.npz"
    wait $process
    [ $? -eq 3 ] || fail "weights that shrink: exit code"
    shows err "ulpscope: a file became shorter while it was read" "weights that shrink"
    lines err 1 "weights that shrink"
done
exit $failed
