// The graph: groups that open and close, coloured by a measure.

// Widths of text as it is drawn.
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text, bold) {
  pen.font = `${bold ? 650 : 400} 12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

const boxHeight = 40, headHeight = 26, inset = 10, labelMost = 24, seenMost = 900;

class Graph {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.scale = 1;
    this.tree = makeTree(app.view.nodes);
    openSome(this.tree.root, host.clientWidth < 600 ? 30 : 60);
    const { nodes } = app.view;
    this.measures = nodes.measures.filter((m) => (["harm", "share", "introduced", "carried", "entire", "headroom"].includes(m.key) || nodes.marks.has(m.key)) && nodes.has(m.key));
    // what breaks, where anything does, else what the document leads with
    const breaks = nodes.has("harm") && nodes.values(app.lane, "harm").some((v) => v > 2);
    this.first = this.measures.find((m) => m.key === app.view.leading) ?? this.measures.find((m) => m.key === (breaks ? "harm" : "share")) ?? this.measures[0];
    this.measure = this.first;
    this.build();
    app.state.keep("colour", () => (this.measure !== this.first ? this.measure.key : ""), (key) => this.colourBy(this.measures.findIndex((m) => m.key === key)));
    app.listen((change) => {
      if (change.lane) this.paint();
      if (change.selected) this.reveal(app.selected, change.scroll);
    });
    onTheme(() => this.paint());
  }

  colourBy(i) {
    if (!this.measures[i]) return;
    this.measure = this.measures[i];
    this.colours.querySelector("select").selectedIndex = i;
    this.paint();
    this.app.state.write();
  }

  build() {
    const { view } = this.app;
    this.colours = this.measures.length ? chooser("Colour", this.measures.map((m) => m.title), this.measures.indexOf(this.measure), (i) => this.colourBy(i)) : null;
    this.status = element("p", { class: "hidden", role: "status" });
    this.legend = element("div", { class: "legend" });
    this.svg = drawn("svg", { class: "graph", role: "tree", "aria-label": "Graph of the model. Arrow keys go from node to node, Enter opens a group or chooses a node." });
    this.svg.addEventListener("click", (event) => this.press(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.canvas = element("div", { class: "canvas", tabindex: "-1" }, this.svg);
    this.drag();
    const tools = element(
      "div",
      { class: "tools" },
      view.lanes.length > 1 ? this.app.laneChooser() : null,
      this.colours,
      element("span", { class: "buttons" },
        button("Open all", { title: `Open groups while fewer than ${seenMost} boxes are seen` }, () => this.openAll(true)),
        button("Close all", {}, () => this.openAll(false)),
        button("−", { "aria-label": "Smaller" }, () => this.zoom(this.scale / 1.25)),
        button("+", { "aria-label": "Larger" }, () => this.zoom(this.scale * 1.25)),
        button("Fit", { title: "Make the graph as wide as its frame" }, () => this.fit())),
    );
    this.host.append(tools, this.legend, this.canvas, this.status);
    this.draw();
    this.fit(0.8);
  }

  // Sizes from inside out, then places.
  arrange(group) {
    for (const child of group.children) {
      if (child.node < 0 && child.open) {
        const size = this.arrange(child);
        child.width = Math.max(size.width + 2 * inset, textWidth(this.headOf(child), true) + 44);
        child.shift = (child.width - size.width) / 2;
        child.height = size.height + headHeight + inset;
      } else {
        const label = this.labels(child);
        child.width = 19 + Math.max(textWidth(label[0], true) + (child.node < 0 ? 18 : 0), textWidth(label[1], false), 44);
        child.height = boxHeight;
      }
    }
    const index = new Map(group.children.map((child, i) => [child, i]));
    group.edges = [];
    for (const [from, row] of group.links || []) for (const [to, count] of row) if (index.has(from) && index.has(to)) group.edges.push({ from: index.get(from), to: index.get(to), count });
    return layered(group.children, group.edges);
  }

  headOf(group) {
    return `${cut(group.label, labelMost)} · ${whole(group.count)}`;
  }

  labels(item) {
    if (item.node < 0) return [cut(item.label, labelMost), plural(item.count, "node")];
    return [cut(this.app.view.nodes.ops[item.node], labelMost), cut(item.label, labelMost)];
  }

  draw() {
    const size = this.arrange(this.tree.root);
    this.size = { width: size.width + 24, height: size.height + 24 };
    this.boxes = new Map();
    this.svg.replaceChildren(
      drawn("defs", {}, drawn("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, drawn("path", { d: "M0 0.8 7.5 4 0 7.2Z", class: "tip" }))),
      this.drawGroup(this.tree.root, 12, 12),
    );
    this.zoom(this.scale);
    this.paint();
  }

  drawGroup(group, x, y) {
    const content = drawn("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, role: group.parent ? "group" : null });
    for (const edge of group.edges)
      if (edge.points) content.append(drawn("path", { d: linePath(edge.points), class: edge.reversed ? "edge back" : "edge", "marker-end": "url(#tip)" }));
    for (const child of group.children) content.append(this.drawItem(child));
    return content;
  }

  drawItem(item) {
    const isGroup = item.node < 0, nodes = this.app.view.nodes;
    const full = isGroup ? `Group ${cut(item.label, 120)}, ${plural(item.count, "node")}` : `${cut(nodes.ops[item.node], 40)} ${cut(nodes.names[item.node], 160)}`;
    const box = drawn("g", {
      transform: `translate(${item.x.toFixed(1)} ${item.y.toFixed(1)})`,
      class: `item ${isGroup ? (item.open ? "open" : "group") : "node"}`,
      tabindex: "-1",
      role: "treeitem",
      "aria-label": full,
      "aria-expanded": isGroup ? String(item.open) : null,
    });
    this.boxes.set(item, box);
    box.item = item;
    const frame = drawn("rect", { width: item.width.toFixed(1), height: item.height.toFixed(1), rx: isGroup ? 8 : 5, class: "frame" });
    if (isGroup && item.open) {
      box.append(frame, drawn("text", { x: 10, y: 17, class: "head", text: this.headOf(item) }), drawn("text", { x: item.width - 16, y: 17, class: "head sign", text: "−" }), drawn("title", { text: `${full}; click to close` }));
      box.append(this.drawGroup(item, item.shift, headHeight));
      return box;
    }
    const [first, second] = this.labels(item);
    box.append(frame, drawn("text", { x: 9, y: 17, class: "first", text: first }), drawn("text", { x: 9, y: 32, class: "second", text: second }));
    if (isGroup) box.append(drawn("text", { x: item.width - 16, y: 17, class: "first sign", text: "+" }));
    box.append(drawn("title"));
    return box;
  }

  valueOf(item, values) {
    let all = NaN;
    for (const node of leavesOf(item)) if (!Number.isNaN(values[node])) all = Number.isNaN(all) ? values[node] : this.measure.join(all, values[node]);
    return all;
  }

  paint() {
    if (!this.boxes) return;
    const { view, lane } = this.app, colours = currentScales();
    const values = this.measure ? view.nodes.values(lane, this.measure.key) : [];
    const broken = view.nodes.measures.some((m) => m.key === "nonfinite") ? view.nodes.values(lane, "nonfinite") : null;
    const classes = this.measure?.classes, scale = this.measure && !classes ? scaleOf(this.measure, values) : null, stops = scale && colours[scale.stops];
    for (const [item, box] of this.boxes) {
      if (item.node < 0 && item.open) continue;
      const value = this.measure ? this.valueOf(item, values) : NaN;
      const colour = Number.isNaN(value) ? colours.none : classes ? classColour(colours, this.measure, value) : colourAt(stops, scale.part(value)), ink = inkOn(colour);
      const bad = broken && [...leavesOf(item)].some((node) => broken[node] > 0);
      box.querySelector(".frame").setAttribute("fill", colour);
      box.classList.toggle("broken", Boolean(bad));
      for (const text of box.querySelectorAll("text")) text.setAttribute("fill", ink);
      const name = item.node < 0 ? cut(item.label, 200) : cut(view.nodes.names[item.node], 400);
      box.querySelector("title").textContent = `${name}${this.measure ? `\n${this.measure.title}: ${this.measure.text(value)}` : ""}${bad ? "\nnot finite" : ""}${item.node < 0 ? "\nclick to open" : ""}`;
    }
    this.paintLegend(scale, stops, colours, broken && broken.some((v) => v > 0));
    this.mark();
  }

  paintLegend(scale, stops, colours, broken) {
    const m = this.measure, swatch = (colour, text, kind) => element("span", { class: "swatch" }, element("span", { class: kind ?? null, style: `background:${colour}` }), text);
    this.legend.replaceChildren();
    if (scale)
      this.legend.append(
        element("span", { text: scale.ends[0] }),
        element("span", { class: "ramp", style: `background:linear-gradient(to right,${stops.join(",")})`, role: "img", "aria-label": `Colours from ${scale.ends[0]} to ${scale.ends[1]}` }),
        element("span", { text: scale.ends[1] }),
      );
    if (m?.classes) this.legend.append(...m.classes.map((c, value) => swatch(classColour(colours, m, value), shown(c.name))));
    this.legend.append(swatch(colours.none, m ? "no figure" : "a node"), broken ? swatch("none", "not finite", "broken") : "", swatch("none", "chosen", "chosen"), swatch("none", "a group", "group"));
    if (m) this.legend.append(element("span", { class: "quiet", text: `${m.title}: ${m.hint}. A group has ${m.join === sum ? "the sum" : m.classes ? "the last of these that a node in it has" : "its worst"}.` }));
  }

  mark() {
    const chosen = this.app.selected >= 0 ? this.tree.leaves[this.app.selected] : null;
    for (const [item, box] of this.boxes) {
      box.classList.toggle("chosen", item === chosen);
      if (item.node >= 0) box.setAttribute("aria-selected", String(item === chosen));
    }
    const home = (chosen && this.boxes.get(chosen)) || this.boxes.get(this.tree.root.children[0]);
    for (const box of this.boxes.values()) box.setAttribute("tabindex", "-1");
    home?.setAttribute("tabindex", "0");
  }

  reveal(node, scroll) {
    const leaf = this.tree.leaves[node];
    if (!leaf) return this.mark();
    let changed = false;
    for (let at = leaf.parent; at; at = at.parent) if (!at.open) at.open = changed = true;
    if (changed) this.draw();
    this.mark();
    if (scroll || changed) this.centre(leaf);
  }

  centre(item) {
    const box = this.boxes.get(item)?.getBoundingClientRect(), frame = this.canvas.getBoundingClientRect();
    if (!box) return;
    this.canvas.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
    this.canvas.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
  }

  toggle(item) {
    const before = this.boxes.get(item).getBoundingClientRect();
    item.open = !item.open;
    this.draw();
    const box = this.boxes.get(item), after = box.getBoundingClientRect();
    this.canvas.scrollLeft += after.left + after.width / 2 - before.left - before.width / 2;
    this.canvas.scrollTop += after.top - before.top;
    box.setAttribute("tabindex", "0");
    box.focus({ preventScroll: true });
    this.status.textContent = `${cut(item.label, 80)} is ${item.open ? "open" : "closed"}`;
  }

  openAll(open) {
    for (const group of everyGroup(this.tree.root)) if (group !== this.tree.root) group.open = false;
    if (open) openSome(this.tree.root, seenMost);
    this.draw();
    const closed = [...everyGroup(this.tree.root)].filter((group) => !group.open).length;
    this.status.textContent = open ? (closed ? `${closed} groups stay closed: more than ${seenMost} boxes` : "All groups are open") : "All groups are closed";
  }

  press(event) {
    if (this.dragged) return;
    const item = event.target.closest(".item")?.item;
    if (item) this.choose(item);
  }

  choose(item) {
    if (item.node < 0) this.toggle(item);
    else this.app.choose(item.node);
  }

  // Arrow keys go to the nearest box in their direction.
  key(event) {
    const box = event.target.closest(".item");
    if (!box) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(box.item);
      return;
    }
    const direction = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (!direction) return;
    event.preventDefault();
    const here = box.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const other of this.boxes.values()) {
      if (other === box || other.contains(box)) continue;
      const there = other.getBoundingClientRect();
      const dx = there.left + there.width / 2 - here.left - here.width / 2, dy = there.top + 12 - here.top - 12;
      const along = dx * direction[0] + dy * direction[1], across = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
      if (along > 2 && along + 2 * across < least) (least = along + 2 * across), (best = other);
    }
    if (!best) return;
    box.setAttribute("tabindex", "-1");
    best.setAttribute("tabindex", "0");
    best.focus();
  }

  zoom(scale) {
    this.scale = Math.min(3, Math.max(0.15, scale));
    const { width, height } = this.size;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", Math.round(width * this.scale));
    this.svg.setAttribute("height", Math.round(height * this.scale));
  }

  // least: what can still be read at a glance
  fit(least = 0.2) {
    const room = this.canvas.clientWidth - 4;
    if (room > 50) this.zoom(Math.min(1.1, Math.max(least, room / this.size.width)));
  }

  drag() {
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = false;
      if (event.pointerType === "mouse" && event.button === 0) from = [event.clientX, event.clientY, this.canvas.scrollLeft, this.canvas.scrollTop];
    });
    window.addEventListener("pointermove", (event) => {
      if (!from) return;
      const dx = event.clientX - from[0], dy = event.clientY - from[1];
      if (!this.dragged && Math.hypot(dx, dy) < 5) return;
      this.dragged = true;
      this.canvas.scrollLeft = from[2] - dx;
      this.canvas.scrollTop = from[3] - dy;
    });
    window.addEventListener("pointerup", () => (from = null));
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoom(this.scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
      },
      { passive: false },
    );
  }
}
