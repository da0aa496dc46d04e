// Puts the page together.

class App {
  constructor(view) {
    this.view = view;
    this.first = this.lane = worstLane(view);
    this.selected = -1;
    this.listeners = [];
    this.choosers = [];
    this.state = new State(this);
    this.state.keep("lane", () => (this.lane !== this.first ? view.lanes[this.lane].name : ""), (name) => this.setLane(Math.max(0, view.lanes.findIndex((lane) => lane.name === name))));
    this.state.keep("node", () => (this.selected >= 0 && this.chosen ? view.nodes.numbers[this.selected] : ""), (number) => this.choose(view.nodes?.at.get(Number(number))));
  }
  listen(listener) {
    this.listeners.push(listener);
  }
  tell(change) {
    for (const listener of this.listeners) listener(change);
  }
  select(node, scroll) {
    this.selected = node;
    this.tell({ selected: true, scroll });
  }
  // of who looks at the page, which its address then says
  choose(node, scroll) {
    if (node === undefined) return;
    this.chosen = true;
    this.select(node, scroll);
    this.state.write();
  }
  setLane(lane) {
    this.lane = lane;
    for (const label of this.choosers) label.querySelector("select").selectedIndex = lane;
    this.tell({ lane: true });
    this.state.write();
  }
  laneChooser() {
    const label = chooser("Arithmetic", this.view.lanes.map((lane) => lane.name), this.lane, (lane) => this.setLane(lane));
    this.choosers.push(label);
    return label;
  }
}

// JSON, deflated, in base64.
function readData() {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

// What was made so far is seen before more is made; a page in the background is not painted.
const painted = () => new Promise((done) => (requestAnimationFrame(() => setTimeout(done)), setTimeout(done, 200)));

// A section, which the list of contents has: null without content.
function addSection(host, id, title, ...content) {
  const parts = content.flat(3).filter((part) => part !== null && part !== undefined);
  if (!parts.length) return null;
  const section = element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title`, text: title }), parts);
  host.append(section);
  document.querySelector("nav ul").append(element("li", {}, element("a", { href: `#${id}`, text: title })));
  return section;
}

function addTables(host, tables) {
  const sections = new Map();
  for (const table of tables) sections.set(table.section, [...(sections.get(table.section) || []), table]);
  for (const [title, tables] of sections) addSection(host, title.toLowerCase().replace(/[^a-z]+/g, "-"), title, tablesSection(tables));
}

// The graph, the errors along the depth and the table beside the panel of the chosen node, which stays in sight.
function addNodes(main, app) {
  const { nodes } = app.view, sections = element("div", { class: "sections" }), graph = element("div"), depth = element("div", { class: "depths" }), table = element("div");
  const detail = element("aside", { class: "detail", "aria-label": "The chosen node", tabindex: "0" });
  main.append(element("div", { class: "work" }, sections, detail));
  addSection(sections, "graph", "Graph", graph);
  app.graph = new Graph(app, graph);
  new Detail(app, detail);
  if (nodes.measures.some((m) => m.key === "introduced") && nodes.count > 1) {
    addSection(sections, "depth", "Error along the depth", depth);
    new Depth(app, depth);
  }
  addSection(sections, "nodes", "Nodes", table);
  app.table = new NodeTable(app, table);
  return sections;
}

async function start() {
  const view = viewOf(await readData()), app = new App(view), main = document.querySelector("main");
  const file = view.model.split("/").pop();
  document.querySelector("h1").textContent = cut(file || view.title, 120);
  document.querySelector("header p").textContent = [view.title, view.nodes ? plural(view.nodes.count, "node") : "", ...view.lanes.slice(0, 6).map((lane) => cut(lane.name, 40)), ...view.origin].filter(Boolean).join(" · ");
  const hero = element("div");
  addSection(main, "verdict", "Verdict", view.lanes.length > 1 ? element("div", { class: "tools" }, app.laneChooser()) : null, hero);
  new Hero(app, hero);
  addSection(main, "steps", "What its steps say", view.headlines.slice(view.first).map((h) => element("div", { class: `hero small ${h.level}` }, element("p", {}, breakable(shown(h.what))), h.why ? element("p", { class: "quiet" }, breakable(shown(h.why))) : null)));
  await painted();
  addSection(main, "curves", "Price", view.curves.length ? element("div", { class: "curves" }, curvesSection(view)) : null);
  const drawn = view.nodes?.count > 0, figures = drawn && view.nodes.measures.some((m) => !view.nodes.marks.has(m.key));
  // a graph without figures only shows where what the tables say is
  const leads = (table) => !figures || table.leads || table.section === "Outputs";
  addTables(main, view.tables.filter(leads));
  const rest = drawn ? addNodes(main, app) : main;
  addTables(rest, view.tables.filter((table) => !leads(table)));
  addSection(rest, "how", "How every number was obtained", howSection(view));
  const first = drawn && app.graph.measure ? worstNode(app) : -1;
  if (first >= 0) app.select(first);
  app.state.start();
  document.body.classList.add("ready");
}

// What is looked at first: the arithmetic that is judged worst
const levelOrder = ["bad", "warn", "plain", "good"];
const worstLane = (view) => view.lanes.map((lane) => levelOrder.indexOf(view.headlines.find((h) => h.name === lane.name)?.level ?? "plain")).reduce((worst, level, l, all) => (level < all[worst] ? l : worst), 0);

// and the first node that breaks there, else the one that the graph's colour shows as worst.
function worstNode(app) {
  const { nodes } = app.view, { measure } = app.graph, values = nodes.values(app.lane, measure.key), better = measure.kind === "room" ? (a, b) => a < b : (a, b) => a > b;
  const broken = nodes.has("harm") ? nodes.values(app.lane, "harm") : [], first = [...broken].findIndex((v) => v === 4);
  if (first >= 0) return first;
  let worst = -1;
  values.forEach((v, i) => !Number.isNaN(v) && (worst < 0 || better(v, values[worst])) && (worst = i));
  return worst;
}

start();
