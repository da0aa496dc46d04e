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
  const rest = new Map();
  for (const table of tables) rest.set(table.section || "Overflows and schedules", [...(rest.get(table.section || "Overflows and schedules") || []), table]);
  for (const [title, tables] of rest) addSection(host, title.toLowerCase().replace(/[^a-z]+/g, "-"), title, tablesSection(tables));
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
  addSection(main, "verdict", "Verdict", hero, view.lanes.length > 1 ? element("div", { class: "tools" }, app.laneChooser()) : null, element("details", { open: view.verdicts.length < 5 }, element("summary", { text: "The verdicts in full" }), verdictSection(view)));
  new Hero(app, hero);
  await painted();
  if (view.curves.length) addSection(main, "curves", view.curvesTitle, element("div", { class: "curves" }, curvesSection(view)));
  addSection(main, "outputs", "Outputs", tablesSection(view.outputs.map((t, i) => (i || t.title !== "Outputs" ? t : { ...t, heading: false }))));
  const drawn = view.nodes?.count > 0, figures = drawn && view.nodes.measures.some((m) => !view.nodes.marks.has(m.key));
  // a graph without figures only shows where what the tables say is
  const leads = (table) => !figures || table.leads;
  addTables(main, view.tables.filter(leads));
  const rest = drawn ? addNodes(main, app) : main;
  addTables(rest, view.tables.filter((table) => !leads(table)));
  addSection(rest, "how", "How every number was obtained", howSection(view));
  const first = view.nodes?.at.get(view.first) ?? (drawn && app.graph.measure ? worstNode(app) : -1);
  if (first >= 0) app.select(first);
  app.state.start();
  document.body.classList.add("ready");
}

// What is looked at first: the arithmetic that is judged worst
const worstLane = (view) => view.lanes.reduce((worst, _, l) => (levelOrder.indexOf(view.hero(l).level) < levelOrder.indexOf(view.hero(worst).level) ? l : worst), 0);
const levelOrder = ["bad", "warn", "plain", "good"];

// and the node that the verdict is about.
function worstNode(app) {
  const { nodes } = app.view, broken = nodes.measures.some((m) => m.key === "nonfinite") ? nodes.values(app.lane, "nonfinite") : [];
  const first = [...broken].findIndex((v) => v > 0);
  if (first >= 0) return first;
  const values = nodes.values(app.lane, app.graph.measure.key), room = app.graph.measure.kind === "room";
  let worst = -1;
  values.forEach((v, i) => {
    if (!Number.isNaN(v) && (worst < 0 || (room ? v < values[worst] : v > values[worst]))) worst = i;
  });
  return worst;
}

start();
