#!/usr/bin/env bash
# Fields that this program does not know, comments and metadata stay in the models that it writes, in bodies and functions, too.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
python <<'END' || exit 99
def odd(word): # with a length in more bytes than it needs
    return varint(5000 << 3 | 2) + b"\x84\x80\x00" + word + varint(5001 << 3) + b"\x07" + varint(5002 << 3 | 5) + b"abcd"
def graph(name, nodes, inputs, outputs):
    return b"".join(block(1, n) for n in nodes) + block(2, name) + b"".join(block(11, i) for i in inputs) + b"".join(block(12, o) for o in outputs)
def branch(name, op, output, word):
    inner = graph(output, [node(op, "s", output) + odd(word)], [], [value(output, [2, 4])]) + odd(b"body")
    return block(5, block(1, name) + block(6, inner) + number(20, 5))
nodes = [node("Mul", "x x", "s") + block(6, "A comment.") + block(9, block(1, "kept") + block(2, "yes")) + odd(b"node"),
         node("If", "flag", "c") + branch("then_branch", "Tanh", "a", b"then") + branch("else_branch", "Sin", "b", b"else"),
         node("F", "c", "y") + block(7, "local")]
flag = block(1, "flag") + block(2, block(1, number(1, 9) + block(2, b"")))
function = (block(1, "F") + block(4, "p") + block(5, "q") + block(7, node("Sigmoid", "p", "q") + odd(b"deep")) + block(9, block(1, "") + number(2, 17)) +
            block(10, "local") + odd(b"func"))
main = graph("main", nodes, [value("x", [2, 4]), flag], [value("y", [2, 4])]) + odd(b"main")
opsets = block(8, block(1, "") + number(2, 17)) + block(8, block(1, "local") + number(2, 1))
open("odd.onnx", "wb").write(number(1, 8) + odd(b"file") + block(7, main) + opsets + block(25, function))
END
expect 0 "a plan" "$program" plan odd.onnx -a fp16 --tolerance sqnr_db=60 --always op:Mul -q -o plan
for word in file main node body then else func deep; do
    LC_ALL=C grep -qaP "\xc2\xb8\x02\x84\x80\x00$word\xc8\xb8\x02\x07|\xc2\xb8\x02\x04$word\xc8\xb8\x02\x07\xd5\xb8\x02abcd" plan/mixed.onnx || fail "mixed.onnx has lost the fields behind '$word'"
done
for text in "A comment." kept yes; do LC_ALL=C grep -qaF "$text" plan/mixed.onnx || fail "mixed.onnx has lost '$text'"; done
exit $failed
