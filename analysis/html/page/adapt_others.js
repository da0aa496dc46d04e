// The reports of other commands. Their verdict is the first paragraph of what the terminal shows: a line for each result, indented
// lines that belong to it.

function lineVerdicts(text, level) {
  const verdicts = [];
  for (const line of String(text ?? "").split("\n")) {
    if (/^\s/.test(line) && verdicts.length) verdicts[verdicts.length - 1].text += ` ${line.trim()}${/[.:]$/.test(line) ? "" : "."}`;
    else if (line) verdicts.push({ name: "", text: /[.:;,]$/.test(line) ? line : `${line}.`, level: "plain" });
  }
  for (const [i, verdict] of verdicts.entries()) verdict.level = level(i, verdict.text);
  return verdicts;
}

const longTable = (title, note, columns, rows, section) => ({ title, section, note, columns, rows });

const nodeColumn = { title: "node", text: (r) => nodeLink(r.name, r.index), class: () => "name" };
const operatorColumn = { title: "operator", text: (r) => shown(r.op ?? "") };
const sampleNames = (root) => (root.sample_names ?? root.samples ?? []).map((sample) => sample.name ?? sample);
const sharedHow = (root) => [
  ["Model", shown(root.model_path ?? root.model ?? "")],
  ...(root.reference ? [["Reference", shown(root.reference)]] : []),
  ...(sampleNames(root).length ? [["Samples", sampleNames(root).slice(0, 20).map(shown).concat(sampleNames(root).length > 20 ? [`and ${sampleNames(root).length - 20} more`] : [])]] : []),
];

// ---- overflow ----

const tinyPart = (o) => (o.count ? (o.subnormal + o.zero) / o.count : NaN);
const overflowMeasures = [
  measure("headroom", "headroom", "room", tenths, Math.min, "log2 of the format's largest number over the largest magnitude; below 0 it overflows"),
  measure("largest", "largest", "error", figure, Math.max, "largest magnitude"),
  measure("tiny", "tiny", "part", share, Math.max, "part of the elements that are below the normal numbers or become zero"),
  measure("nonfinite", "overflowed", "count", whole, sum, "elements beyond the format's largest number"),
];

function overflowHero(root, l, verdict) {
  const lane = root.lanes[l] ?? {};
  return heroOf(lane, verdict?.level ?? "plain", verdict?.text, goingOn(verdict?.text));
}

adapters.overflow = (report, data) => {
  const root = report.root, view = emptyView(), formats = root.lanes;
  view.model = root.model_path ?? "";
  view.title = "Overflow forecast";
  const unjudged = String(root.verdict ?? "").split("\n").filter((line) => line.startsWith("cannot be judged")).length; // before the formats
  view.verdicts = lineVerdicts(root.verdict, (i) => (i < unjudged ? "bad" : formats[i - unjudged]?.harmful_count > 0 ? "bad" : formats[i - unjudged]?.born_count > 0 ? "warn" : "good"));
  view.lanes = formats.map((f) => ({ name: f.name, storage: data.formats.find((format) => format.name === f.name.split(/[,@]/)[0]) }));
  // nodes that are constants are not computed, and those of a branch only where some format takes it
  view.hero = (l) => overflowHero(root, l, view.verdicts[unjudged + l]);
  const all = new Map(formats.flatMap((f) => f.nodes.map(({ index, name, op }) => [index, { index, name, op }])));
  const rows = [...all.keys()].sort((a, b) => a - b);
  view.nodes = new NodeList({
    lists: formats.map((f) => {
      const own = new Map(f.nodes.map((node) => [node.index, node]));
      return rows.map((index) => own.get(index) ?? all.get(index));
    }),
    graph: root.places,
    measures: overflowMeasures,
    read: (lane, node) => {
      const outputs = node.outputs || [], worst = outputs.reduce((a, o) => (!a || o.headroom_bits < a.headroom_bits ? o : a), null);
      return { headroom: worst?.headroom_bits, largest: worst?.largest, tiny: worst ? tinyPart(worst) : NaN, nonfinite: outputs.reduce((a, o) => a + (o.overflowed || 0), 0) };
    },
  });
  view.nodes.more = (lane, i) => {
    const node = view.nodes.node(lane, i);
    return [
      { title: "Results", content: smallTable([{ title: "result", text: (o) => cut(o.name, 30) }, { title: "verdict", text: (o) => shown(o.verdict) }, { title: "headroom", number: true, text: (o) => tenths(o.headroom_bits) }, { title: "largest", number: true, text: (o) => figure(o.largest) }, { title: "smallest", number: true, text: (o) => figure(o.smallest) }, { title: "cause", text: (o) => shown(o.verdict === "overflows" ? o.cause : "–") }], node.outputs || [], "Results") },
      ...(node.hidden?.length ? [{ title: `Inside, were it computed in ${shown(formats[lane].name)}`, content: smallTable([{ title: "value", text: (h) => cut(h.words, 40) }, { title: "verdict", text: (h) => shown(h.narrow?.verdict ?? "") }, { title: "headroom", number: true, text: (h) => tenths(h.narrow?.headroom_bits) }, { title: "largest", number: true, text: (h) => figure(h.largest) }], node.hidden, "Inside") }] : []),
    ];
  };
  view.tables = formats
    .filter((f) => f.remedies?.length)
    .map((f) => longTable(`Remedies tried for ${shown(f.name)}`, "What the worst output is then.", [{ title: "remedy", text: (r) => shown(r.what), class: () => "name" }, { title: "nodes", number: true, text: (r) => whole(r.node_count) }, { title: "casts", number: true, text: (r) => whole(r.cast_count) }, { title: "not finite", number: true, text: (r) => whole(r.nonfinite) }, { title: "SQNR dB", number: true, text: (r) => tenths(r.sqnr_db) }, { title: "output", text: (r) => shown(r.output ?? "") }], f.remedies, "Remedies"));
  view.how = [...sharedHow(root), ["Headroom", "from the values of one exact walk, in the reference; nothing is run in the formats themselves"], ...(root.scanned_count ? [["Scanned", `${whole(root.scanned_count)} samples in FP32, the exact walk only where a value came near a limit`]] : [])];
  return view;
};

// ---- plan ----

/* The least error that was seen for each price, of what is allowed: 1 is the limit. */
function planFrontier(root) {
  const points = root.frontier.filter((p) => known(p.cost) && known(p.ratio) && p.ratio > 0).map((p) => [p.cost, p.ratio]);
  const high = Math.max(...points.map(([x]) => x)), step = Math.max(1, Math.ceil(high / 8));
  return {
    title: "The frontier",
    note: "the least error that was seen for what is paid; 1 is what is allowed",
    unit: root.cost === "nodes" ? "nodes that are kept" : root.cost === "nodes+macs" ? "percent of nodes and of multiply-adds that are kept, half of each" : `cost by ${shown(root.cost)}`,
    ticks: Array.from({ length: Math.ceil(high / step) + 1 }, (_, i) => ({ x: i * step, text: String(i * step) })),
    lines: [{ name: "error / tolerance", kind: "output", points }],
  };
}

// Which of a plan's formats each node is in.
function keptMarks(root) {
  const names = [root.narrow ?? root.arithmetic, ...new Set((root.kept || []).map((k) => k.format))].filter((name, i, all) => all.indexOf(name) === i).map(shown);
  const at = new Map((root.places || []).map((_, i) => [i, 0])), without = new Map();
  for (const k of root.kept || []) at.set(k.index, names.indexOf(shown(k.format)));
  for (const k of root.kept || []) if (known(k.without)) without.set(k.index, k.without);
  return [
    { measure: classMeasure("format", "format", names, "the format that the plan computes the node in"), at },
    { measure: measure("without", "without it", "error", figure, Math.max, "the error in units of what is allowed when this node alone is not kept"), at: without },
  ];
}

function planHero(root) {
  const command = root.kept?.length && commandOf("audit", root), hero = heroOf(root, root.met ? "good" : "bad", root.verdict, command && { text: `${command} -a ${quoted(root.arithmetic)} ${keepOptions(root.kept)}`, note: "The audit with the plan: what error is left, and where it comes from." });
  return { ...hero, headline: hero.headline.replace(/ \([^()]*\)/g, "") };
}

adapters.plan = (report) => {
  const root = report.root, view = emptyView(), before = root.before_samples || [], after = root.samples || [];
  view.model = root.model_path ?? "";
  view.title = `Precision plan for ${shown(root.arithmetic)}`;
  view.verdicts = [{ name: "plan", text: root.verdict, level: root.met ? "good" : "bad" }];
  view.outputs = [
    {
      title: `Tolerance ${(root.tolerances || []).map(shown).join(", ")}`,
      note: "The worst output of each sample, as it is and with the plan. Of the error allowed: 1 is the limit.",
      columns: [
        { title: "sample", text: (r) => shown(r.name), class: () => "name" },
        { title: "output", text: (r) => shown(r.output) },
        { title: "metric", text: (r) => shown(r.metric) },
        { title: "before", number: true, text: (r) => figure(r.value) },
        { title: "of what is allowed", number: true, text: (r) => figure(r.ratio), class: (r) => (r.ratio > 1 ? "bad" : "") },
        { title: "with the plan", number: true, text: (r) => figure(r.after?.value) },
        { title: "of what is allowed", number: true, text: (r) => figure(r.after?.ratio), class: (r) => (r.after?.ratio <= 1 ? "good" : "bad") },
      ],
      rows: before.map((row, i) => ({ ...row, after: after[i] })),
    },
  ];
  if ((root.frontier || []).filter((p) => known(p.ratio) && p.ratio > 0).length > 1) {
    view.curves = [planFrontier(root)];
    view.curvesTitle = "Price";
  }
  view.tables = [
    longTable("Draws", "The plan where roundings fall otherwise, in each arithmetic that it is for: the draw that is worst.", [{ title: "arithmetic", text: (r) => shown(r.name), class: () => "name" }, { title: "draws", number: true, text: (r) => whole(r.draw_count) }, { title: "held", number: true, text: (r) => whole(r.held_count) }, { title: "output", text: (r) => shown(r.output) }, { title: "figure", text: (r) => shown(r.metric) }, { title: "value", number: true, text: (r) => figure(r.value) }, { title: "of what is allowed", number: true, text: (r) => figure(r.ratio), class: (r) => (r.ratio > 1 ? "bad" : "good") }], root.targets || [], "Plan"),
    longTable("Nodes that are kept", "Without a node: the error, in units of what is allowed, when it alone is not kept.", [{ title: "#", number: true, text: (r) => String(r.index) }, nodeColumn, operatorColumn, { title: "format", text: (r) => shown(r.format ?? "") }, { title: "without", number: true, text: (r) => figure(r.without) }, { title: "why", text: (r) => (r.always ? "as asked" : "") }], root.kept || [], "Plan"),
    ...(root.mixed?.widened?.length ? [longTable("Also in FLOAT in mixed.onnx", "", [nodeColumn, operatorColumn, { title: "why", text: (r) => shown(r.why) }], root.mixed.widened, "Plan")] : []),
  ];
  view.how = [...sharedHow(root), ["Plan", `${shown(root.arithmetic)} with ${(root.keep || []).map((k) => `${plural(k.nodes?.length ?? 0, "node")} in ${shown(k.arithmetic)}`).join(", ")}; ${plural(root.runs, "run")} of the mixed arithmetic; ${plural(root.casts?.length, "Cast")}`]];
  view.nodes = drawnNodes(root, keptMarks(root));
  view.hero = () => planHero(root);
  return view;
};

// ---- compare ----

function compareMarks(rows, excess) {
  const explained = new Map(), near = new Map();
  for (const r of rows)
    if (Number.isInteger(r.index) && r.index >= 0) {
      explained.set(r.index, Math.max(explained.get(r.index) ?? 0, r.explained ? 0 : 1));
      near.set(r.index, Math.max(near.get(r.index) ?? 0, excess(r)));
    }
  return [
    { measure: classMeasure("explained", "explained", ["explained", "not explained"], "whether an arithmetic makes what was recorded; grey: not recorded", ["good", "bad"]), at: explained },
    { measure: measure("excess", "of the limit", "error", figure, Math.max, "the ratio over its limit: beyond 1 the tensor is not explained"), at: near },
  ];
}

adapters.compare = (report) => {
  const root = report.root, view = emptyView(), rows = (root.tensors || []).flatMap((t) => (t.values || []).map((f) => ({ ...t, ...f })));
  view.model = root.model_path ?? "";
  view.title = "Comparison with recordings";
  // the terminal's ranking is a table here
  const spoken = String(root.verdict ?? "").replace(/^ {2}explains .*(?:\n {2}(?:all|\d|no).*)*/gm, "").replace(/\n+/g, "\n").trim();
  view.verdicts = lineVerdicts(spoken, (i) => (root.files?.[i] ? (root.files[i].explained ? "good" : "bad") : "plain"));
  const excess = (r) => Math.max(r.ratio / r.limit || 0, r.max_ratio / r.max_limit || 0);
  view.tables = [
    longTable(
      "Recorded tensors",
      "Ratio: rms error over what the arithmetic makes there; beyond its limit a tensor is not explained. The first in the graph that is not explained stands on top, then those nearest to their limits.",
      [
        { title: "tensor", text: (r) => shown(r.name), class: () => "name" },
        { title: "node", text: (r) => nodeLink(r.node, r.index), class: () => "name" },
        operatorColumn,
        { title: "recording", text: (r) => cut(String(r.file).split("/").pop(), 40) },
        { title: "explained", text: (r) => (r.explained ? "yes" : "no"), class: (r) => (r.explained ? "good" : "bad") },
        { title: "by", text: (r) => shown(r.by ?? "–") },
        { title: "ref rms", number: true, text: (r) => figure(r.range.ref_rms) },
        { title: "rms error", number: true, text: (r) => figure(r.truth?.rms) },
        { title: "max abs", number: true, text: (r) => figure(r.truth?.max_abs) },
        { title: "ratio", number: true, text: (r) => figure(r.ratio) },
        { title: "limit", number: true, text: (r) => figure(r.limit) },
      ],
      [...rows].sort((a, b) => Number(b.name === root.first_unexplained) - Number(a.name === root.first_unexplained) || Number(!!a.explained) - Number(!!b.explained) || excess(b) - excess(a)),
      "Comparison",
    ),
    ...(root.files || []).filter((f) => f.ranked?.length).map((f) => longTable(`Arithmetics beside ${cut(String(f.name).split("/").pop(), 60)}`, "From the best fit on. Misfit: how far the errors are from what the arithmetic makes, over all tensors.", [{ title: "arithmetic", text: (r) => shown(r.arithmetic) }, { title: "explains", text: (r) => (r.explains ? "all" : "not all"), class: (r) => (r.explains ? "good" : "") }, { title: "equal bits", number: true, text: (r) => share(r.equal / r.elements) }, { title: "ratio", number: true, text: (r) => figure(r.ratio) }, { title: "misfit", number: true, text: (r) => figure(r.misfit) }], f.ranked, "Comparison")),
  ];
  view.nodes = drawnNodes(root, compareMarks(rows, excess));
  view.hero = () => heroOf(root, view.verdicts[0]?.level ?? "plain", String(view.verdicts[0]?.text).replace(/^\S*\//, ""));
  view.first = rows.find((r) => r.name === root.first_unexplained)?.index;
  view.how = [...sharedHow(root), ["Arithmetics", (root.arithmetics || []).map(shown).join(", ")], ["Limits", `from ${whole(root.trials)} slightly changed problems that each arithmetic was run on`], ["Recordings", (root.files || []).map((f) => `${shown(f.name)}: ${plural(f.tensor_count, "tensor")}${f.unmatched?.length ? `, not compared: ${f.unmatched.slice(0, 8).map(shown).join(", ")}` : ""}`)]];
  return view;
};

// ---- engine ----

const told = (type) => (type && type !== "UNDEFINED" ? shown(type) : "");

// A class for each word that nodes have, in the order of their number.
function wordMark(key, title, hint, words) {
  const counts = new Map();
  for (const word of words) if (word) counts.set(word, (counts.get(word) ?? 0) + 1);
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  return { measure: classMeasure(key, title, names, hint), at: new Map(words.map((word, i) => [i, word ? names.indexOf(word) : NaN])) };
}

adapters.engine = (report) => {
  const root = report.root, view = emptyView(), layers = root.layers || [], wishes = root.wishes?.items || [], changes = root.changes?.items || [];
  view.model = root.model_path ?? root.engine?.path ?? "";
  view.title = `Engine ${cut(String(root.engine?.path ?? "").split("/").pop(), 60)}`;
  view.verdicts = lineVerdicts(root.verdict, () => (wishes.some((w) => w.verdict !== "obeyed") ? "bad" : "plain"));
  view.lanes = [{ name: "engine" }];
  const layerOf = (node) => layers[node.layer];
  view.nodes = new NodeList({
    lists: [root.nodes || []],
    graph: root.graph,
    measures: [],
    read: () => ({}),
    marks: [
      wordMark("type", "type", "the type that the engine stores the result in; grey: no layer names the node", (root.nodes || []).map((node) => told(layerOf(node)?.output))),
      wordMark("accumulator", "accumulates in", "the type of the sums of products", (root.nodes || []).map((node) => shown(layerOf(node)?.accumulator ?? ""))),
      wordMark("fate", "fate", "what became of the node in the engine", (root.nodes || []).map((node) => shown(node.kind ?? ""))),
    ],
  });
  view.hero = () => heroOf(root, view.verdicts[0]?.level ?? "plain", view.verdicts[0]?.text);
  view.nodes.more = (lane, i) => {
    const node = root.nodes[i] || {}, layer = layers[node.layer];
    return [{ title: "In the engine", content: element("dl", { class: "how" }, element("dt", { text: "fate" }), element("dd", { text: shown(node.kind ?? "–") }), layer ? [["layer", layer.layer?.name], ["kernel", layer.layer?.kernel], ["input", told(layer.input)], ["weights", told(layer.weights)], ["output", told(layer.output)], ["accumulates in", layer.accumulator], ["sure", layer.product && layer.certainty]].filter(([, text]) => text).map(([term, text]) => [element("dt", { text: term }), element("dd", { text: cut(text, 300) })]) : null) }];
  };
  view.tables = [
    ...(wishes.length ? [longTable("Constraints", "Whether each was obeyed.", [{ title: "pattern", text: (r) => shown(r.pattern), class: () => "name" }, { title: "type", text: (r) => shown(r.type) }, { title: "verdict", text: (r) => shown(r.verdict), class: (r) => (r.verdict === "obeyed" ? "good" : "bad") }, { title: "nodes", number: true, text: (r) => whole(r.node_count) }, { title: "ran", text: (r) => shown(r.ran || "–") }, { title: "hint", text: (r) => shown(r.hint ?? "") }], wishes, "Engine")] : []),
    ...(changes.length ? [longTable("What differs", `Error of ${shown(root.changes.output || "the outputs")}: ${figure(root.changes.first)} and ${figure(root.changes.second)}. Without: the error of the second engine with this difference undone.`, [{ title: "layer", text: (r) => shown(layers[r.layer]?.layer?.name), class: () => "name" }, { title: "was", text: (r) => shown(r.was) }, { title: "is", text: (r) => shown(r.is) }, { title: "without", number: true, text: (r) => figure(r.without) }], changes, "Engine")] : []),
    longTable("Layers", "In the order of the engine's description.", [{ title: "layer", text: (r) => shown(r.layer?.name), class: () => "name" }, { title: "kind", text: (r) => shown(r.layer?.kind ?? "") }, { title: "nodes", number: true, text: (r) => whole(r.nodes?.length) }, { title: "input", text: (r) => told(r.input) || "–" }, { title: "weights", text: (r) => told(r.weights) || "–" }, { title: "output", text: (r) => told(r.output) || "–" }, { title: "accumulates in", text: (r) => shown(r.accumulator || "–") }, { title: "sure", text: (r) => shown(r.product ? r.certainty : "") }, { title: "mapped by", text: (r) => shown(r.by ?? "") }], layers, "Engine"),
  ];
  view.how = [["Engine", shown(root.engine?.path ?? "")], ["Version", shown(root.engine?.version || "not told")], ["GPU", shown(root.gpu ?? "")]];
  return view;
};

// ---- lint ----

adapters.lint = (report) => {
  const root = report.root, view = emptyView(), order = ["error", "warning", "note"];
  view.model = root.model_path ?? "";
  view.title = "Lint";
  view.verdicts = lineVerdicts(root.verdict, () => (root.counts?.error ? "bad" : root.counts?.warning ? "warn" : "good"));
  const rules = new Map();
  for (const finding of root.findings || []) rules.set(finding.rule, [...(rules.get(finding.rule) ?? []), finding]);
  const ranked = [...rules.values()].sort((a, b) => order.indexOf(a[0].severity) - order.indexOf(b[0].severity) || b.length - a.length);
  view.tables = ranked.map((rows) => longTable(`${shown(rows[0].severity)}: ${shown(rows[0].rule)} (${whole(rows.length)})`, [rows[0].what && `${shown(rows[0].what)}.`, shown(rows[0].fix ?? "")].filter(Boolean).join(" "), [{ title: "node", text: (r) => nodeLink(r.node), class: () => "name" }, operatorColumn, { title: "finding", text: (r) => shown(r.text), class: () => "name" }], rows, "Findings"));
  const worst = new Map(), ofNodes = new Map((root.places || []).map((place, n) => [place.name, n]));
  for (const finding of root.findings || []) {
    const n = ofNodes.get(finding.node), rank = 2 - order.indexOf(finding.severity);
    if (n !== undefined && !(worst.get(n) >= rank)) worst.set(n, rank);
  }
  view.nodes = drawnNodes(root, [{ measure: classMeasure("severity", "severity", ["note", "warning", "error"], "the worst that a rule finds there; grey: nothing", ["plain", "warn", "bad"]), at: worst }]);
  if (view.nodes) view.nodes.more = (lane, i) => (root.findings || []).filter((f) => f.node === view.nodes.names[i]).map((f) => ({ title: `${shown(f.severity)}: ${shown(f.rule)}`, content: element("p", { text: `${shown(f.text)}. ${shown(f.fix ?? "")}` }) }));
  view.hero = () => heroOf(root, view.verdicts[0]?.level ?? "plain", String(root.verdict ?? "").replace(`${root.model_path}: `, ""), ranked.length && { text: `ulpscope lint --explain ${quoted(ranked[0][0].rule)}`, note: "What the rule finds, why it matters, and what to do." });
  view.how = [...sharedHow(root), ["Rules for", (root.targets || []).map(shown).join(", ")], ["Nothing is computed", "findings are about the graph and its constants alone"]];
  return view;
};

// ---- scales ----

// What makes most of a tensor's error, as the terminal's columns have it.
const ofError = [["rounding", "elements"], ["scaling", "scales"], ["clipping", "clipping"]];

function scalesHero(root, level) {
  const best = (root.choices || []).find((c) => c.gain_db > 0.5), options = best && ["ulpscope audit", root.model_path && quoted(root.model_path), `-a ${quoted(best.arithmetic ?? root.arithmetic)}`, best.keep && `--keep ${quoted(best.keep)}`].filter(Boolean).join(" ");
  return heroOf(root, level, root.verdict, options && { text: options, note: "The audit with the best choice; add the inputs (-i)." });
}

adapters.scales = (report) => {
  const root = report.root, view = emptyView(), part = (title, key) => ({ title, number: true, text: (r) => share(r[key]) });
  view.model = root.model_path ?? "";
  view.title = `What ${shown(root.arithmetic)} does to factors`;
  view.verdicts = [{ name: "", text: String(root.verdict ?? "").replace(/\n/g, " "), level: (root.tensors || []).some((t) => t.nonfinite) ? "bad" : "plain" }];
  view.tables = [
    longTable(
      "Tensors",
      "Those whose rounding leaves the products least stand on top. Parts of a tensor's squared error: the rounding of elements, of scales, clipping. Range: log2 of a block's largest over its least magnitude, the median of all blocks, beside what the format has. Worst block: its line, its first place along k, and its part of the tensor's error. Outlier: the largest channel, or line, over the median of all.",
      [
        { title: "tensor", text: (r) => shown(r.name), class: () => "name" },
        { title: "node", text: (r) => shown(r.node), class: () => "name" },
        { title: "products dB", number: true, text: (r) => tenths(r.product_db) },
        { title: "become 0", number: true, text: (r) => share(r.zeros / r.elements) },
        { title: "clipped", number: true, text: (r) => share(r.clipped / r.elements), class: (r) => (r.clipped ? "bad" : "") },
        ...ofError.map(([key, title]) => part(title, key)),
        { title: "range", number: true, text: (r) => tenths(r.range_bits) },
        { title: "of", number: true, text: (r) => tenths(r.format_bits) },
        { title: "worst block", number: true, text: (r) => (r.worst_part > 0 ? `${whole(r.worst_line)}:${whole(r.worst_k)}` : "–") },
        part("its part", "worst_part"),
        { title: "outlier", number: true, text: (r) => (r.outlier_ratio > 0 ? `${figure(r.outlier_ratio)}×` : "–") },
      ],
      root.tensors || [],
      "Scales",
    ),
    ...(root.choices?.length ? [longTable("Other choices", "Each was run: what the worst output is then.", [{ title: "choice", text: (r) => shown(r.words), class: () => "name" }, { title: "arithmetic", text: (r) => shown(r.arithmetic ?? root.arithmetic) }, { title: "SQNR dB", number: true, text: (r) => tenths(r.sqnr_db) }, { title: "gain dB", number: true, text: (r) => tenths(r.gain_db), class: (r) => (r.gain_db > 0.5 ? "good" : "") }], root.choices, "Scales")] : []),
  ];
  view.hero = () => scalesHero(root, view.verdicts[0]?.level ?? "plain");
  view.how = [...sharedHow(root), ["Tensors", "exact values rounded to storage, then to elements with scales as the products do it"], ["Choices", "runs of the whole model against FP64"]];
  return view;
};

// ---- doctor ----

adapters.doctor = (report) => {
  const root = report.root, view = emptyView(), classes = { fine: "good", borderline: "warn" };
  view.model = root.model_path ?? "";
  view.title = "Doctor";
  view.verdicts = lineVerdicts(root.verdict, () => classes[root.grade] ?? "bad");
  view.tables = [longTable("Causes", "The most probable first.", [{ title: "reason", text: (r) => shown(r.reason) }, { title: "node", text: (r) => nodeLink(r.node, r.index), class: () => "name" }, operatorColumn, { title: "cause", text: (r) => shown(r.text), class: () => "name" }, { title: "rule", text: (r) => shown(r.rule ?? "–") }, { title: "what to do", text: (r) => shown(r.fix ?? "–"), class: () => "name" }], root.causes || [], "Causes")];
  view.hero = () => heroOf(root, classes[root.grade] ?? "bad", root.verdict, root.next && { text: root.next, note: root.remedy ? firstClause(root.remedy) + "." : "" });
  view.first = root.causes?.[0]?.index;
  view.how = [...sharedHow(root), ["Judged in", shown(root.arithmetic ?? "")], ["Result", shown(root.reason ?? "")], ["Remedy", shown(root.remedy ?? "none was searched, or none found")], ["To go on with", shown(root.next ?? "")]];
  return view;
};

// ---- fix ----

adapters.fix = (report) => {
  const root = report.root, view = emptyView();
  view.model = root.model_path ?? "";
  view.title = "Fix";
  view.verdicts = lineVerdicts(root.verdict, () => (root.met ? "good" : "bad"));
  view.tables = [longTable("Edits", "gain: dB of the worst output that are lost without the edit; change: what it changes in exact arithmetic, of an output's rms.", [{ title: "done", text: (r) => shown(r.done) }, { title: "node", text: (r) => shown(r.node), class: () => "name" }, { title: "rule", text: (r) => shown(r.rule) }, { title: "edit", text: (r) => shown(r.text), class: () => "name" }, { title: "gain", number: true, text: (r) => figure(r.gain) }, { title: "change", number: true, text: (r) => figure(r.change ?? 0) }], root.edits || [], "Edits")];
  const samples = sampleNames(root).filter((s) => /\.\w+$/.test(s)).map((s) => ` -i ${quoted(s)}`).join("");
  view.hero = () => heroOf(root, root.met ? "good" : "bad", root.verdict, root.path && { text: `ulpscope doctor ${quoted(root.path)}${samples}`, note: "Whether the new file is fine, from the beginning." });
  const states = [["as it was", root.before], ["with the edits alone", root.edited], ["as it is now", root.after]].filter(([, state], i) => state?.text && (!i || root.made_count || root.kept_count)).map(([name, state]) => ({ ...state, name }));
  view.outputs = [{ title: "Before and after", note: "The worst output. Of the error allowed: 1 is the limit.", columns: [{ title: "model", text: (r) => r.name }, { title: "output", text: (r) => shown(r.output ?? ""), class: () => "name" }, { title: "grade", text: (r) => shown(r.grade ?? ""), class: (r) => ({ fine: "good", broken: "bad" })[r.grade] ?? "" }, { title: "figure", text: (r) => shown(r.metric ?? "") }, { title: "value", number: true, text: (r) => figure(r.value) }, { title: "of the error allowed", number: true, text: (r) => figure(r.ratio), class: (r) => (r.ratio > 1 ? "bad" : "") }, { title: "what it is for", text: (r) => shown(r.text), class: () => "name" }], rows: states }];
  view.how = [...sharedHow(root), ["Judged in", shown(root.arithmetic ?? "")], ["Nodes in FP32", (root.kept || []).map(shown).join(", ") || "none"], ["File", shown(root.path ?? root.reason ?? "none")]];
  return view;
};

// ---- proof ----

adapters.proof = (report) => {
  const root = report.root, view = emptyView();
  view.model = root.model_path ?? "";
  view.title = "Proof";
  view.verdicts = lineVerdicts(root.verdict, () => (root.counts?.["not proven"] ? "warn" : "good"));
  const rows = (root.nodes || []).flatMap((node) => (node.outputs || []).map((output) => ({ ...node, output })));
  const bound = (r) => (known(r.output.bound) ? r.output.bound : Infinity);
  view.tables = [
    longTable(`Bounds for every input, in ${shown(root.arithmetic)}`, `For every input within ${(root.inputs || []).slice(0, 12).map((i) => `${shown(i.name)} in [${figure(i.low)}, ${figure(i.high)}]${i.given ? "" : " (assumed)"}`).join(", ")}. The largest bounds stand first.`, [{ title: "#", number: true, text: (r) => String(r.index) }, nodeColumn, operatorColumn, { title: "bound", number: true, text: (r) => (known(r.output.bound) ? figure(r.output.bound) : "none") }, { title: "low", number: true, text: (r) => figure(r.output.low) }, { title: "high", number: true, text: (r) => figure(r.output.high) }, { title: "verdict", text: (r) => shown(r.output.verdict), class: (r) => (r.output.verdict === "proven" ? "good" : "bad") }, { title: "reason", text: (r) => shown(r.reason ?? "") }], rows.sort((a, b) => bound(b) - bound(a) || a.index - b.index), "Proofs"),
  ];
  const proven = new Map(rows.map((r) => [r.index, 0])), verdicts = ["proven", "conditional", "not proven"];
  for (const r of rows) proven.set(r.index, Math.max(proven.get(r.index), verdicts.indexOf(r.output.verdict)));
  view.nodes = drawnNodes(root, [{ measure: classMeasure("proven", "proven", verdicts, "whether the result is shown to stay in the range for every input; grey: it depends on no input", ["good", "warn", "bad"]), at: proven }]);
  view.hero = () => heroOf(root, view.verdicts[0]?.level ?? "plain", view.verdicts[0]?.text);
  view.how = [...sharedHow(root), ["Proof", `bounds for all inputs in the ranges, by enclosures; ${figure(root.seconds)} s`]];
  return view;
};
