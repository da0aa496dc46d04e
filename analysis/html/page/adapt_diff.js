// Two audits, before and after: the page of the later one, whose nodes also have what they were.

const changeWords = ["equal", "better", "worse"]; // as the C has them
const said = (figures) => (!figures ? "not there" : figures.diverged ? "diverged" : figures.nonfinite ? `${whole(figures.nonfinite)} not finite` : figures.exact ? "equal" : known(figures.sqnr_db) ? `${tenths(figures.sqnr_db)} dB` : `${figure(figures.rms)} rms`);
const changeClass = (r) => ({ worse: "bad", better: "good" })[r.change] ?? "";

adapters.diff = (report, data) => {
  const root = report.root, view = emptyView(), lanes = data.reports.find((other) => other.kind === "audit").root.lanes;
  const pairs = lanes.map((lane) => root.arithmetics.findIndex((pair) => pair.before && pair.after === lane.name));
  const nodes = lanes.map((lane) => lane.nodes ?? []);
  const rows = pairs.map((p, l) => {
    const own = new Map(nodes[l].map((node) => [node.index, node])), node = (index) => own.get(index) ?? {};
    return (root.were[p] ?? []).map(([index, change, before, after, shareBefore]) => ({ index, name: node(index).name, op: node(index).op, change: changeWords[change], before, after, shareBefore, share: node(index).share }));
  });
  view.model = root.model_path ?? "";
  view.title = "Before and after";
  view.lanes = lanes.map((lane) => ({ name: lane.name })); // those of the later report
  view.verdicts = lineVerdicts(root.verdict, () => (root.worse ? "bad" : root.better ? "good" : "plain"));
  view.outputs = [
    {
      title: "Before and after",
      note: `What became worse stands on top. Errors that differ by less than ${figure(root.factor)} times are equal.`,
      columns: [
        { title: "output", text: (r) => shown(r.output), class: () => "name" },
        { title: "arithmetic", text: (r) => (r.pair.before === r.pair.after ? shown(r.pair.after) : `${shown(r.pair.before ?? "none")} → ${shown(r.pair.after ?? "none")}`) },
        { title: "before", number: true, text: (r) => said(r.before) },
        { title: "after", number: true, text: (r) => said(r.after) },
        { title: "error ×", number: true, text: (r) => figure(r.error_ratio) },
        { title: "change", text: (r) => (r.reason ? `cannot be compared: ${shown(r.reason)}` : r.change), class: changeClass },
      ],
      rows: root.arithmetics.flatMap((pair) => pair.outputs.map((output) => ({ ...output, pair }))).sort((a, b) => (b.change === "worse") - (a.change === "worse") || (b.change === "better") - (a.change === "better") || Math.abs(Math.log(b.error_ratio || 1)) - Math.abs(Math.log(a.error_ratio || 1))),
    },
  ];
  view.tables = rows.map((list, l) =>
    longTable(
      lanes.length > 1 ? `Nodes in ${shown(lanes[l].name)}` : "Nodes whose own error changed",
      "Those that moved most stand on top. Introduced: rms of the error that the node adds, over the rms of its result.",
      [{ title: "#", number: true, text: (r) => String(r.index) }, nodeColumn, operatorColumn, { title: "change", text: (r) => r.change, class: changeClass }, { title: "before", number: true, text: (r) => figure(r.before) }, { title: "after", number: true, text: (r) => figure(r.after) }, { title: "×", number: true, text: (r) => figure(r.after / r.before) }, { title: "share before", number: true, text: (r) => share(r.shareBefore) }, { title: "share after", number: true, text: (r) => share(r.share) }],
      list.filter((r) => r.change !== "equal").sort((a, b) => Math.abs((b.after || 0) - (b.before || 0)) - Math.abs((a.after || 0) - (a.before || 0)) || a.index - b.index),
      "What moved",
    ),
  );
  const words = ["equal", "better", "new", "worse"], marks = (read, rest) => rows.map((list, l) => new Map([...(rest === undefined ? [] : nodes[l].map((node) => [node.index, rest])), ...list.map((r) => [r.index, read(r)])]));
  view.marks = [
    { measure: classMeasure("change", "change", words, "whether the node adds more error than before; new: the earlier report has no node of that name", ["plain", "good", "warn", "bad"]), at: marks((r) => words.indexOf(r.change), 2) },
    { measure: measure("was", "introduced before", "error", figure, Math.max, "rms of the error that the node added before, over the rms of the result"), at: marks((r) => r.before) },
  ];
  view.leading = "change";
  view.hero = (l) => {
    const pair = root.arithmetics[pairs[l]];
    return heroOf(pair, pair?.worse ? "bad" : pair?.better ? "good" : "plain", `${lanes[l]?.name}: ${pair?.verdict ?? root.verdict}`);
  };
  view.first = view.tables.find((table) => table.rows.length)?.rows[0].index;
  view.how = [["Before", shown(root.before)], ["After", shown(root.after)], ["Compared", `nodes and outputs by their names; the graph and all other figures are of the later report`]];
  return view;
};
