// Puts the page together.

class App {
  constructor(view) {
    this.view = view;
    this.lane = 0;
    this.selected = -1;
    this.listeners = [];
    this.choosers = [];
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
  setLane(lane) {
    this.lane = lane;
    for (const label of this.choosers) label.querySelector("select").selectedIndex = lane;
    this.tell({ lane: true });
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

async function start() {
  const view = viewOf(await readData()), app = new App(view);
  const main = document.querySelector("main"), contents = document.querySelector("nav ul");
  const file = view.model.split("/").pop();
  document.querySelector("h1").textContent = cut(file || view.title, 120);
  document.querySelector("header p").textContent = [view.title, view.nodes ? plural(view.nodes.count, "node") : "", ...view.lanes.slice(0, 6).map((lane) => cut(lane.name, 40))].filter(Boolean).join(" · ");
  const section = (id, title, ...content) => {
    const parts = content.flat(3).filter((part) => part !== null && part !== undefined);
    if (!parts.length) return null;
    const host = element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title`, text: title }), parts);
    main.append(host);
    contents.append(element("li", {}, element("a", { href: `#${id}`, text: title })));
    return host;
  };
  if (view.verdicts.length) section("verdict", "Verdict", verdictSection(view));
  if (view.curves.length) section("curves", view.curvesTitle ?? "Error over the sweep", element("div", { class: "curves" }, curvesSection(view)));
  section("outputs", "Outputs", tablesSection(view.outputs.map((t, i) => (i || t.title !== "Outputs" ? t : { ...t, heading: false }))));
  if (view.nodes?.count) {
    const graphHost = element("div", { class: "graph-side" }), detailHost = element("aside", { class: "detail", "aria-label": "The chosen node", "aria-live": "polite", tabindex: "0" });
    section("graph", "Graph", element("div", { class: "split" }, graphHost, detailHost));
    app.graph = new Graph(app, graphHost);
    new Detail(app, detailHost);
    if (view.nodes.measures.some((m) => m.key === "introduced") && view.nodes.count > 1) {
      const depthHost = element("div", { class: "depths" });
      section("depth", "Error along the depth", depthHost);
      new Depth(app, depthHost);
    }
    const tableHost = element("div");
    section("nodes", "Nodes", tableHost);
    app.table = new NodeTable(app, tableHost);
  }
  const rest = new Map();
  for (const table of view.tables) rest.set(table.section || "Overflows and schedules", [...(rest.get(table.section || "Overflows and schedules") || []), table]);
  for (const [title, tables] of rest) section(title.toLowerCase().replace(/[^a-z]+/g, "-"), title, tablesSection(tables));
  section("how", "How every number was obtained", howSection(view));
  const worst = view.nodes && app.graph?.measure ? worstNode(app) : -1;
  if (worst >= 0) app.select(worst);
  document.body.classList.add("ready");
}

// What is looked at first: the node that the verdict is about.
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
