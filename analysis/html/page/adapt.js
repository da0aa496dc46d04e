// What the sections show, whatever command a report is of. A view has
//   hero (hero.js), title, model, verdicts [{name, text, level}], lanes [{name, range, meaning}],
//   marks (of another report's nodes), leading (the key of the measure that colours the graph first), first (the node that is looked
//   at first, by number), curves (curves.js), outputs and tables [{title, note, columns, rows}], nodes (a NodeList; null: the report has none), how [[term, text or texts]]

const emptyView = () => ({ title: "", model: "", verdicts: [], lanes: [], outputs: [], tables: [], curves: [], nodes: null, how: [] });

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
  // null; measures: rows as below; read(lane, node) puts a node's figures into an object by the measures' keys; marks: measures
  // that are the same in every arithmetic, [{measure, at: a Map of figures by number}]
  constructor({ lists, graph, measures, read, marks }) {
    Object.assign(this, { lists, graph, read, measures: [...measures], marks: new Map() });
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
    for (const { measure, at } of marks ?? []) this.mark(measure, at);
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
        const figures = this.read(lane, this.node(lane, i));
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

// The nodes of a report that has a graph and no figures of arithmetics; null: it has no graph.
const drawnNodes = (root, marks) => (root.places?.length ? new NodeList({ lists: [root.places.map((place, index) => ({ index, name: place.name, op: place.op }))], graph: root.places, measures: [], read: () => ({}), marks }) : null);

// How a measure is told and drawn. kind: "part" (of 1), "error" (over orders of magnitude), "room" (bits), "count", "class" (one of
// measure.classes [{name, colour}], told by its index)
// join: what a group of nodes has of theirs
const measure = (key, title, kind, text, join, hint) => ({ key, title, kind, text, join, hint });
// One of few, of which a group shows the last that it has; colours are those of theme.js.
const classMeasure = (key, title, names, hint, colours) => ({ ...measure(key, title, "class", (value) => names[value] ?? "–", Math.max, hint), classes: names.map((name, i) => ({ name, colour: colours?.[i] ?? i })) });

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

// Tiles of the first report, and those that others have besides.
function joinHeroes(views, all) {
  const [own, ...others] = views.map(({ hero, lanes }, i) => (lane) => hero?.(views[i] === all || lane < lanes.length ? lane : 0));
  return (lane) => {
    const first = own(lane) ?? { level: views[0].verdicts[0]?.level ?? "plain", headline: firstClause(views[0].verdicts[0]?.text ?? views[0].title), tiles: [] };
    const more = others.map((hero) => hero(lane)).filter(Boolean);
    const tiles = [first, ...more].flatMap((hero) => hero.tiles).filter((t, i, list) => list.findIndex((other) => other.title === t.title) === i);
    return { ...first, tiles: tiles.slice(0, 6), command: first.command ?? more.map((hero) => hero.command).find(Boolean) };
  };
}

function viewOf(data) {
  const views = data.reports.map((report) => adapters[report.kind](report, data));
  const all = views.find((view) => view.nodes && view.lanes.length) || views.find((view) => view.nodes) || views[0];
  all.hero = joinHeroes(views, all);
  all.title = views[0].title;
  linkedNodes = all.nodes;
  if (all !== views[0]) for (const table of views[0].tables) table.leads = true;
  for (const view of views) {
    if (view === all) continue;
    for (const verdict of view.verdicts) verdict.name ||= view.title;
    all.verdicts.push(...view.verdicts);
    all.outputs[view === views[0] ? "unshift" : "push"](...view.outputs);
    all.tables.push(...view.tables);
    all.curves.push(...view.curves);
    all.curvesTitle ??= view.curvesTitle;
    for (const { measure, at } of all.nodes ? (view.marks ?? view.nodes?.marks.values() ?? []) : []) if (!all.nodes.marks.has(measure.key)) all.nodes.mark(measure, at);
    all.leading ??= view.leading;
    all.first ??= view.first;
    all.how.push(...view.how);
  }
  all.how.push(["Written by", `ulpscope ${data.version}`]);
  all.formats = data.formats;
  all.origin = [data.date, data.model && `SHA-256 ${data.model.sha256.slice(0, 12)}`].filter(Boolean);
  if (data.model) all.how.push(["Model file", `${whole(data.model.bytes)} bytes, SHA-256 ${data.model.sha256}`]);
  if (data.date) all.how.push(["Date", data.date]);
  return all;
}
const adapters = {};
