#!/usr/bin/env bash
# What the page makes of a report, by its own script without a browser: nodes have their numbers in the model and their edges, also where
# nodes between them are not computed, and tables have all rows. Skipped without node (Node.js) or numpy.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v node >/dev/null || { echo "no node: the page's script is not run"; exit 77; }
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: pages are not made"; exit 77; }

# nodes 0 and 2 follow from shapes and are not computed; 3 reads 1, 4 reads both
python <<'END' || fail "a model"
write_model("gaps.onnx", [node("Shape", "x", "s", "shape"), node("Mul", "x x", "a", "first"), node("Shape", "a", "t", "other"), node("Reshape", "a t", "b", "second"),
                          node("Mul", "a b", "y", "third")], {"x": (2, 3)}, ["y"], {}, opset=13)
np.savez("gaps.npz", x=np.ones((2, 3), "f4"))
END
expect 0 "a forecast" "$program" overflow gaps.onnx -i gaps.npz -f fp16,bf16 -q --html overflow.html -o report
expect 0 "a forecast afterwards" "$program" show report --html later.html
expect 0 "an audit" "$program" audit gaps.onnx -i gaps.npz -a fp16,bf16 -q --html audit.html
python <<'END' || fail "long reports"
nodes = [{"index": i, "name": f"n{i}", "op": "Add", "outputs": [{"name": f"v{i}", "bound": i, "verdict": "proven"}]} for i in range(1000)]
head = {"schema": 2, "ulpscope": "0", "verdict": "Many.", "model_path": "m.onnx"}
json.dump({**head, "counts": {}, "findings": [{"severity": "note", "rule": "r", "node": n["name"], "op": "Add", "text": "t"} for n in nodes]}, open("many.json", "w"))
json.dump({**head, "counts": {}, "hidden_unproven": 0, "arithmetic": "fp16", "nodes": nodes}, open("proof.json", "w"))
END
for name in many proof; do expect 0 "$name" "$program" show $name.json --html $name.html; done
cat >views.js <<'END'
const fs = require("fs"), vm = require("vm"), zlib = require("zlib"), assert = require("assert").strict;
const [folder, ...pages] = process.argv.slice(2);
const scripts = ["text", "element", "state", "adapt"];
vm.runInThisContext(scripts.map((name) => fs.readFileSync(`${folder}/${name}.js`, "utf8")).join("\n") + "\nvar page = { viewOf };");
const viewOf = (path) => page.viewOf(JSON.parse(zlib.inflateSync(Buffer.from(/id="data">([^]*?)<\/script>/.exec(fs.readFileSync(path, "utf8"))[1], "base64"))));
for (const path of pages) {
  const { nodes } = viewOf(path);
  const edges = nodes.sources.map((from, i) => [nodes.numbers[i], [...from].map((n) => nodes.numbers[n]).filter((n) => n % 2).sort()]).filter(([to]) => [1, 3, 4].includes(to));
  assert.deepEqual(edges, [[1, []], [3, [1]], [4, [1, 3]]], `${path}: ${JSON.stringify(edges)}`);
  for (const number of [1, 3, 4]) assert.equal(nodes.names[nodes.at.get(number)], { 1: "first", 3: "second", 4: "third" }[number], path);
  assert.ok(nodes.values(1, "headroom")[nodes.at.get(4)] > 10, path);
}
// one format took a branch that the other did not
const forecast = (format, ...indexes) => ({ name: format, born_count: 0, harmful_count: 0, nodes: indexes.map((index) => ({ index, name: `n${index}`, op: "Add", outputs: [{ headroom_bits: index }] })) });
const { nodes } = page.viewOf({ formats: [], reports: [{ document: { title: "", model: "", blocks: [] }, root: { lanes: [forecast("fp16", 2, 7), forecast("bf16", 2, 5)] } }] });
assert.deepEqual([nodes.numbers, nodes.names], [[2, 5, 7], ["n2", "n5", "n7"]]);
assert.deepEqual([[...nodes.values(0, "headroom")], [...nodes.values(1, "headroom")]], [[2, NaN, 7], [2, 5, NaN]]);
// no table is cut
for (const path of ["many.html", "proof.html"]) assert.equal(viewOf(path).tables.at(-1).rows.length, 1000, path);
END
node views.js "$source/analysis/html/page" overflow.html later.html audit.html || fail "what the page makes of reports"
exit $failed
