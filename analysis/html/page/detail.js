// One node: its formula, its error and the causes of it, how its values lie, where its error comes from.

const causeWords = { weights: "rounding of weights and constants", inputs: "rounding of inputs", sums: "sums", steps: "functions and other steps", result: "rounding of the result", inside: "inside the operator" };

const detailRows = [
  ["rms", (m) => figure(m.rms)],
  ["max abs", (m) => figure(m.max_abs)],
  ["max rel", (m) => figure(m.max_rel)],
  ["max ulp", (m) => figure(m.max_ulp)],
  ["median ulp", (m) => figure(m.median_ulp)],
  ["SQNR dB", (m) => (m.exact ? "exact" : tenths(m.sqnr_db))],
  ["cosine", (m) => (known(m.cosine) ? m.cosine.toFixed(6) : "–")],
  ["not finite", (m) => whole(m.nonfinite)],
];

function describeShape(output) {
  return `${shown(output.type ?? "")}[${(output.dims || []).join(", ")}]`;
}

function nodeRemark(node) {
  return node.born ? "Makes Inf or NaN from finite inputs." : node.poisoned ? "Passes Inf or NaN on." : node.absorbed === true ? "Bears an overflow that is absorbed later: its figures say nothing of the model." : "";
}

function causesBlock(node) {
  const causes = Object.entries(node.causes || {}).filter(([, part]) => part);
  if (!causes.length) return null;
  const most = Math.max(...causes.map(([, part]) => Math.abs(part)));
  causes.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  return element(
    "dl",
    { class: "causes" },
    causes.map(([cause, part]) => [
      element("dt", { text: causeWords[cause] || shown(cause) }),
      element("dd", {}, element("span", { class: "meter" }, element("span", { class: part < 0 ? "less" : "", style: `width:${((100 * Math.abs(part)) / most).toFixed(1)}%` })), element("span", { class: "number", text: share(part) })),
    ]),
  );
}

// A table of one row, which stands in a narrow panel.
const termsOf = ({ columns, rows }) => element("dl", { class: "how" }, columns.map((c) => [element("dt", { text: c.title }), element("dd", { class: c.class(rows[0]) || null }, c.text(rows[0]))]));

class Detail {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    app.listen(() => this.show());
    this.show();
  }
  marks(i) {
    const { nodes } = this.app.view, value = (m) => nodes.values(this.app.lane, m.key)[i], rows = nodes.measures.filter((m) => nodes.marks.has(m.key) && !Number.isNaN(value(m)));
    return rows.length ? element("dl", { class: "how" }, rows.map((m) => [element("dt", { text: m.title, title: m.hint }), element("dd", { text: m.text(value(m)) })])) : null;
  }
  link(i, name) {
    return button(cut(this.app.view.nodes.title(i), 46), { class: "link", title: cut(name ?? this.app.view.nodes.names[i], 400) }, () => this.app.choose(i, true));
  }
  section(title, ...content) {
    const parts = content.flat().filter((part) => part !== null && part !== undefined);
    return parts.length ? element("section", {}, element("h4", { text: title }), parts) : null;
  }
  figures(node) {
    const output = worstOutput(node.outputs);
    const views = viewNames.filter(([view]) => output?.[view]);
    if (!views.length) return null;
    return smallTable(
      [{ title: "figure", text: ([name]) => name }, ...views.map(([view, hint]) => ({ title: view, hint, number: true, text: ([, text]) => text(output[view]) }))],
      [["rms / rms", null], ...detailRows].map(([name, text]) => [name, text || ((m) => figure(m.rms / output.range?.ref_rms))]),
      `Figures of ${cut(output.name ?? "", 80)}`,
    );
  }
  inherits(place) {
    const { nodes } = this.app.view, errors = nodes.measures.some((m) => m.key === "entire") ? nodes.values(this.app.lane, "entire") : null;
    const inputs = (place.inputs || []).slice(0, 60);
    if (!inputs.length) return null;
    return element(
      "ul",
      { class: "links" },
      inputs.map((input) =>
        element("li", {}, nodes.at.has(input.node) ? [this.link(nodes.at.get(input.node), input.name), element("span", { class: "number", text: errors ? figure(errors[nodes.at.get(input.node)]) : "" })] : [element("span", { class: "quiet", text: cut(input.name ?? "", 46), title: cut(input.name ?? "", 400) }), element("span", { class: "quiet", text: input.constant ? "constant" : "input" })]),
      ),
    );
  }
  // What the document's tables say of the node.
  rowsOf(i) {
    const { nodes, tables } = this.app.view, number = nodes.numbers[i], name = nodes.names[i];
    return tables.flatMap((table) => {
      const at = table.columns.findIndex((c) => c.as === "node");
      const rows = at < 0 ? [] : table.rows.filter((row) => ((cell) => (cell.node >= 0 ? cell.node === number : cell.value === name && nodes.byName.get(name) === i))(cellOf(row[at])));
      return rows.length ? [{ title: shown(table.title), columns: table.columns.filter((c) => c.as !== "node"), rows: rows.slice(0, 40) }] : [];
    });
  }
  everyLane(i) {
    const { view } = this.app, measures = view.nodes.measures.filter((m) => ["share", "introduced", "carried", "entire", "headroom"].includes(m.key) && view.nodes.has(m.key));
    if (view.lanes.length < 2 || !measures.length) return null;
    return smallTable(
      [{ title: "figure", text: (m) => m.title }, ...view.lanes.map((lane, l) => ({ title: cut(lane.name, 16), number: true, text: (m) => m.text(view.nodes.values(l, m.key)[i]) }))],
      measures,
      "All arithmetics",
    );
  }
  show() {
    const { view, lane, selected } = this.app;
    this.host.classList.remove("folded");
    this.host.scrollTop = 0;
    this.host.replaceChildren(button("Fold", { class: "fold" }, (event) => (event.target.textContent = this.host.classList.toggle("folded") ? "Unfold" : "Fold")));
    if (selected < 0) {
      this.host.append(element("p", { class: "quiet", text: "Choose a node, in the graph, the picture of errors or the table, to see its formula, the causes of its error, and how its values lie." }));
      return;
    }
    const { nodes } = view, node = nodes.node(lane, selected), place = nodes.place(selected), output = worstOutput(node.outputs);
    const remark = nodeRemark(node), histograms = place.histograms || [];
    this.host.append(
      element("h3", { class: "name" }, breakable(shown(nodes.title(selected)).slice(0, 20000))),
      element("p", {}, element("strong", { text: cut(nodes.ops[selected], 60) }), ` · node ${nodes.numbers[selected]}`, (node.outputs || []).filter((o) => o.type).slice(0, 4).map((o) => ` · ${describeShape(o)}`).join(""), view.lanes[lane] ? ` · ${shown(node.arithmetic || view.lanes[lane].name)}` : ""),
    );
    const add = (part) => part && this.host.append(part);
    add(this.marks(selected));
    if (remark) add(element("p", { class: "bad", text: remark }));
    add(place.formula ? this.section("Formula", element("pre", { text: shown(place.formula.replaceAll("; ", ";\n")).replaceAll("\\n", "\n") }), /\bacc\b/.test(place.formula) ? element("p", { class: "quiet", text: "acc is the sum of products." }) : null) : null);
    if (known(node.share)) add(this.section(`Causes of its share, ${share(node.share)} of the outputs' error`, causesBlock(node)));
    histograms.slice(0, 4).forEach((histogram, o) => add(this.section(histograms.length > 1 ? `Values of output ${o + 1}` : "Values", histogramTotals(histogram) ? histogramBlock(histogram, view, nodes.names[selected]) : null)));
    add(this.section(view.nodes.has("entire") ? "Inputs and their whole errors" : "Inputs", this.inherits(place)));
    const readers = nodes.readers[selected];
    if (readers.length) add(this.section("Read by", element("ul", { class: "links" }, readers.slice(0, 20).map((i) => element("li", {}, this.link(i))), readers.length > 20 ? element("li", { text: `and ${readers.length - 20} more` }) : null)));
    add(this.section(`Errors${output?.name && (node.outputs || []).length > 1 ? ` of ${cut(output.name, 40)}` : ""}`, this.figures(node)));
    add(this.section("All arithmetics", this.everyLane(selected)));
    for (const table of this.rowsOf(selected)) add(this.section(table.title, table.rows.length > 1 ? smallTable(table.columns, table.rows, table.title) : termsOf(table)));
  }
}
