// What the page shows: documents (analysis/writing/document.h), which have all that is said, and beside them the reports' nodes. A view has
//   title, model, headlines [{name, level, what, why, todo, tiles}], lanes [{name, storage}], tables [{section, title, note, columns, rows}],
//   curves (curves.js), nodes (a NodeList; null: the report has none), leading (the key of the measure that colours the graph first), how [[term, text]]

const levels = {
  good: { mark: "✓", word: "met" },
  bad: { mark: "✕", word: "attention" },
  warn: { mark: "!", word: "note" },
  plain: { mark: "i", word: "result" },
};

// The nodes of a report, with figures for each arithmetic.
class NodeList {
  // lists: for each arithmetic nodes as {index, name, op, ...}, the same in each; index is the node's number in the model, which
  // the graph's links name (without one it is the place in the list); graph: {formula, inputs, histograms} by that number, or
  // null; measures: rows as below, of figures that readNode finds
  constructor({ lists, graph, measures }) {
    Object.assign(this, { lists, graph, measures: [...measures], marks: new Map() });
    this.count = lists[0].length;
    this.names = [];
    this.ops = [];
    this.numbers = [];
    this.at = new Map(); // the place in the lists of a number
    this.byName = new Map(); // the first of that name
    for (let i = 0; i < this.count; i++) {
      const node = lists[0][i];
      this.numbers.push(Number.isInteger(node.index) ? node.index : i);
      this.at.set(this.numbers[i], i);
      this.names.push(String(node.name ?? ""));
      if (!this.byName.has(this.names[i])) this.byName.set(this.names[i], i);
      this.ops.push(String(node.op ?? ""));
    }
    this.figures = lists.map(() => null);
    this.sources = [];
    this.readers = Array.from({ length: this.count }, () => []);
    for (let i = 0; i < this.count; i++) {
      const from = new Set((this.place(i).inputs || []).map((input) => this.at.get(input.node)).filter((n) => n < i));
      this.sources.push([...from]);
      for (const n of from) this.readers[n].push(i);
    }
    this.linked = this.sources.some((from) => from.length);
  }
  // at: a Map of figures by number, or one for each arithmetic
  mark(measure, at) {
    this.measures.push(measure);
    this.marks.set(measure.key, { measure, at, figures: [at].flat().map((map) => Float64Array.from(this.numbers, (number) => map.get(number) ?? NaN)) });
  }
  node(lane, i) {
    return this.lists[lane][i] || {};
  }
  place(i) {
    return this.graph?.[this.numbers[i]] || {};
  }
  title(i) {
    return this.names[i] || `node ${this.numbers[i]}`;
  }
  // Float64Array of the measure in the lane; NaN: not known
  values(lane, key) {
    const mark = this.marks.get(key);
    if (mark) return mark.figures[lane] ?? mark.figures[0];
    if (!this.figures[lane]) {
      const columns = Object.fromEntries(this.measures.map((m) => [m.key, new Float64Array(this.count).fill(NaN)]));
      for (let i = 0; i < this.count && i < this.lists[lane].length; i++) {
        const figures = readNode(this.node(lane, i));
        for (const m of this.measures) if (known(figures[m.key])) columns[m.key][i] = figures[m.key];
      }
      this.figures[lane] = columns;
    }
    return this.figures[lane][key];
  }
  // whether any node has it in any arithmetic
  has(key) {
    return this.measures.some((m) => m.key === key) && this.lists.some((_, lane) => this.values(lane, key).some((v) => !Number.isNaN(v)));
  }
}

const sum = (a, b) => a + b;

// How a measure is told and drawn. kind: "part" (of 1), "error" (over orders of magnitude), "room" (bits), "count", "class" (one of
// measure.classes [{name, colour}], told by its index)
// join: what a group of nodes has of theirs
const measure = (key, title, kind, text, join, hint) => ({ key, title, kind, text, join, hint });
// One of few, of which a group shows the last that it has; colours are those of theme.js.
const classMeasure = (key, title, names, hint, colours) => ({ ...measure(key, title, "class", (value) => names[value] ?? "–", Math.max, hint), classes: names.map((name, i) => ({ name, colour: colours?.[i] ?? i })) });

const viewNames = [
  ["introduced", "what the node's own arithmetic adds to the exact result of its inputs"],
  ["carried", "what exact arithmetic makes of the errors of its inputs"],
  ["entire", "the whole error: introduced + carried"],
  ["single", "the node by itself, on the reference's inputs"],
];
const relative = (output, view) => {
  const rms = output?.[view]?.rms, reference = output?.range?.ref_rms;
  return known(rms) && known(reference) && reference > 0 ? rms / reference : rms === 0 ? 0 : NaN;
};

// The output that errs most: what is not finite, then the largest error beside the reference's rms.
function worstOutput(outputs) {
  let worst = null, most = -1;
  for (const output of outputs || []) {
    const size = (output.entire?.nonfinite > 0 ? 1e300 : 0) + (relative(output, "entire") || 0);
    if (size > most) (worst = output), (most = size);
  }
  return worst;
}

// What a node does to the model, the worst that it is found to do.
const harms = ["none known", "within 1 bit", "10 % of the error", "hands it on", "breaks here"];

const nodeMeasures = [
  classMeasure("harm", "what breaks", harms, "breaks here: it overflows, or makes what is not finite; hands it on: its inputs were not finite; 10 % of the outputs' error, or more; within 1 bit of overflow", ["plain", "warn", "much", "passes", "bad"]),
  measure("share", "share", "part", share, sum, "the part of the outputs' error that comes from the error this node introduces"),
  measure("introduced", "introduced", "error", figure, Math.max, "rms of the error that the node adds, over the rms of the result"),
  measure("carried", "carried", "error", figure, Math.max, "rms of the error that comes with its inputs, over the rms of the result"),
  measure("entire", "whole error", "error", figure, Math.max, "rms of the node's whole error, over the rms of the result"),
  measure("ulp", "max ulp", "error", figure, Math.max, "largest error in units of the last place of the storage format"),
  measure("sqnr", "SQNR dB", "decibels", tenths, Math.min, "signal to error: 10 log10(sum ref² / sum error²)"),
  measure("headroom", "headroom", "room", tenths, Math.min, "log2 of the format's largest number over the largest magnitude; below 0 it overflows"),
  measure("largest", "largest", "error", figure, Math.max, "largest magnitude in the reference"),
  measure("tiny", "tiny", "part", share, Math.max, "part of the elements that are below the normal numbers or become zero"),
  measure("nonfinite", "not finite", "count", whole, sum, "elements that are Inf or NaN here and finite in the reference, or the reverse; of a forecast beyond the largest number"),
];

// Of an audit's node, and of a forecast's.
function readNode(node) {
  const outputs = node.outputs || [], output = worstOutput(outputs);
  const least = outputs.map((o) => o.headroom_bits ?? o.range?.headroom_bits).filter(known);
  const headroom = least.length ? Math.min(...least) : NaN, nonfinite = outputs.reduce((a, o) => a + (o.entire?.nonfinite ?? o.overflowed ?? 0), 0);
  const makes = node.born || (node.effect && node.effect !== "none") || (!node.poisoned && (nonfinite > 0 || headroom < 0));
  return {
    harm: makes ? 4 : node.poisoned || nonfinite > 0 ? 3 : Math.abs(node.share) >= 0.1 ? 2 : headroom < 1 ? 1 : outputs.length ? 0 : NaN,
    share: node.share,
    introduced: relative(output, "introduced"),
    carried: relative(output, "carried"),
    entire: relative(output, "entire"),
    ulp: output?.entire?.max_ulp,
    sqnr: output?.entire?.sqnr_db,
    headroom,
    largest: output?.range?.ref_max ?? Math.max(...outputs.map((o) => o.largest ?? NaN)),
    tiny: Math.max(...outputs.map((o) => (o.count ? (o.subnormal + o.zero) / o.count : NaN))),
    nonfinite,
  };
}

// Where in its scale a value lies, 0 to 1; values: all of the arithmetic's
function scaleOf(m, values) {
  const all = [...values].filter((v) => !Number.isNaN(v));
  const most = all.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  if (m.kind === "room") return { part: (v) => (v + 1) / 13, ends: ["0 bits: overflows", "12 bits and more"], stops: "room" };
  if (m.kind === "part") return { part: (v) => Math.sqrt(Math.abs(v) / (most || 1)), ends: ["0", share(most)], stops: "size" };
  // three orders of magnitude: what is smaller still is as pale as that
  const least = Math.max(most * 1e-3, all.reduce((a, b) => (b > 0 && b < a ? b : a), Infinity));
  if (!(most > 0) || !(least < most)) return { part: () => 0, ends: ["0", figure(most)], stops: "size" };
  const low = Math.log10(least), high = Math.log10(most);
  return { part: (v) => (v > 0 ? (Math.log10(v) - low) / (high - low) : 0), ends: [`${figure(least)} and less`, figure(most)], stops: "size" };
}

// The nodes of a report, with figures where it has arithmetics: one of them may not compute what another does, as of a branch.
function nodesOf(root) {
  const lanes = (root.lanes || []).filter((lane) => Array.isArray(lane.nodes)), graph = root.places ?? root.graph;
  if (lanes.some((lane) => lane.nodes.length)) {
    const all = new Map(lanes.flatMap((lane) => lane.nodes.map(({ index, name, op }, i) => [index ?? i, { index: index ?? i, name, op }])));
    const rows = [...all.keys()].sort((a, b) => a - b);
    const lists = lanes.map((lane) => {
      const own = new Map(lane.nodes.map((node, i) => [node.index ?? i, node]));
      return rows.map((index) => own.get(index) ?? all.get(index));
    });
    return new NodeList({ lists, graph, measures: nodeMeasures });
  }
  return graph?.length ? new NodeList({ lists: [(root.nodes && root.graph ? root.nodes : graph).map((place, index) => ({ index, name: place.name, op: place.op }))], graph, measures: [] }) : null;
}

const cellOf = (cell) => (Array.isArray(cell) ? { value: cell[0], level: cell[1], node: cell[2] } : { value: cell, level: "plain", node: -1 });
const written = { whole, figure, tenths, share };

function columnOf({ title, as }, c) {
  return {
    title,
    as,
    number: as in written,
    text: (row) => {
      const { value, node } = cellOf(row[c]);
      if (as === "node") return nodeLink(typeof value === "string" ? value : undefined, node >= 0 ? node : undefined);
      return typeof value === "number" ? (written[as] ?? figure)(value) : shown(value ?? "–");
    },
    class: as === "name" || as === "node" ? (row) => `name ${cellOf(row[c]).level}` : (row) => cellOf(row[c]).level.replace("plain", ""),
  };
}

// A mark's figures by node: numbers, or the place of a word among its words. A node that is named twice has the larger.
function markOf(rows, [, key, title, hint, words, colours], nodes) {
  const named = words === "-" ? null : words ? words.split("|") : countWords(rows.map(([, word]) => cellOf(word).value));
  const at = new Map();
  for (const [node, cell] of rows) {
    const { value } = cellOf(cell), number = typeof cellOf(node).value === "string" ? nodes.numbers[nodes.byName.get(cellOf(node).value)] : cellOf(node).value;
    const figure = named ? named.indexOf(value) : value;
    if (number !== undefined && figure !== null && !(named && figure < 0)) at.set(number, Math.max(at.get(number) ?? -Infinity, figure));
  }
  return { measure: named ? classMeasure(key, title, named, hint, colours ? colours.split("|") : undefined) : measure(key, title, "error", figure, Math.max, hint), at };
}

// The words, those that most nodes have first.
function countWords(words) {
  const counts = new Map();
  for (const word of words) if (typeof word === "string" && word && word !== "UNDEFINED") counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
}

function addMarks(view, blocks) {
  const marks = new Map();
  for (const block of blocks) marks.set(block.text[1], [...(marks.get(block.text[1]) || []), block]);
  for (const [key, list] of marks) {
    if (view.nodes.marks.has(key)) continue;
    // of several arithmetics each has its own
    const parts = (list[0].text[0] === null ? list : view.lanes.map((lane) => list.find((block) => block.text[0] === lane.name)).filter(Boolean)).map((block) => markOf(block.rows, block.text, view.nodes));
    if (!parts.length) continue;
    view.nodes.mark(parts[0].measure, parts.map((part) => part.at));
    view.leading ??= key;
  }
}

const finitePairs = (rows) => rows.map((row) => row.map((cell) => cellOf(cell).value)).filter(([x, y]) => known(x) && known(y) && y > 0);
function curveOf(block, lines) {
  const linear = lines.some((line) => line.text[0].startsWith("="));
  const drawn = lines.map((line, i) => ({ name: line.text[0].replace("=", ""), kind: i ? "node" : "output", points: finitePairs(line.rows) })).filter((line) => line.points.length > 1);
  const xs = drawn.flatMap((line) => line.points.map(([x]) => x)), low = Math.floor(Math.min(...xs)), step = Math.max(1, Math.ceil((Math.max(...xs) - low) / 16));
  const ticks = Array.from({ length: Math.ceil((Math.max(...xs) - low) / step) + 1 }, (_, i) => ({ x: low + i * step, text: String(low + i * step) }));
  return drawn.length ? [{ title: block.text[0], unit: block.text[1], note: block.text[2], linear, ticks, lines: drawn }] : [];
}

function viewOf(data) {
  const reports = data.reports, main = reports.find((report) => (report.root.lanes ?? []).some((lane) => lane.nodes?.length)) ?? reports.find((report) => report.root.places ?? report.root.graph) ?? reports[0];
  const { root } = main, blocks = reports.flatMap((report) => report.document.blocks), of = (kind) => blocks.filter((block) => block.kind === kind);
  const view = { title: reports[0].document.title, model: reports[0].document.model, lanes: [], how: [], curves: [], formats: data.formats };
  const usual = (name) => data.formats.find((format) => format.name === name.split(/[,@]/)[0]);
  view.lanes = (root.lanes ?? []).map((lane) => ({ name: lane.name, storage: lane.arithmetic?.storage ? { ...lane.arithmetic.storage, largest: lane.arithmetic.storage.max_finite } : usual(lane.name) }));
  // those of the first report, and what the steps before it say
  view.headlines = of("headline").map(({ text, level, tiles }) => ({ name: text[0], what: text[1] ?? "", why: [text[4], text[2]].filter(Boolean).join(". "), todo: text[3], level, tiles }));
  view.first = reports[0].document.blocks.filter((block) => block.kind === "headline").length;
  // the first report's come before what it is of
  view.tables = reports.flatMap((report) => report.document.blocks.filter((block) => block.kind === "table").map((block) => ({ section: block.text[0], title: block.text[1], note: block.text[2], columns: block.columns.map(columnOf), rows: block.rows, leads: report === reports[0] && report !== main })));
  blocks.forEach((block, b) => {
    if (block.kind !== "curve") return;
    const end = blocks.findIndex((other, i) => i > b && other.kind !== "line");
    view.curves.push(...curveOf(block, blocks.slice(b + 1, end < 0 ? undefined : end)));
  });
  view.nodes = linkedNodes = nodesOf(root);
  if (view.nodes) addMarks(view, of("mark"));
  const terms = new Set();
  for (const { text } of of("note")) view.how.push([text[0], text[1]]);
  for (const { text } of of("how")) if (!terms.has(text[0])) terms.add(text[0]), view.how.push([text[0], text[1]]);
  view.how.push(["Written by", `ulpscope ${data.version}`]);
  view.origin = [data.date, data.model && `SHA-256 ${data.model.sha256.slice(0, 12)}`].filter(Boolean);
  if (data.model) view.how.push(["Model file", `${whole(data.model.bytes)} bytes, SHA-256 ${data.model.sha256}`]);
  if (data.date) view.how.push(["Date", data.date]);
  return view;
}
