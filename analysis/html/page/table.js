// The table of nodes: sorted, filtered, and only the rows that are seen are there.

const nameMost = 110, rowHeight = 30, rowsAround = 12, rowsPrinted = 300;

// Of a table with many rows of one height those that are seen; empty rows before and after them stand for the others.
class RowWindow {
  // host: the element around the table, which scrolls; make(position) makes a row
  constructor(table, columns, label, make) {
    const space = () => element("tr", { "aria-hidden": "true" }, element("td", { colspan: columns, class: "space" }));
    Object.assign(this, { columns, make, count: 0, before: space(), after: space(), body: element("tbody"), table });
    table.append(this.body);
    this.frame = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": `Table: ${label}`, onscroll: () => this.show() }, table);
    new ResizeObserver(() => this.show()).observe(this.frame);
    window.addEventListener("beforeprint", () => this.show(true, true));
    window.addEventListener("afterprint", () => this.show(true));
  }

  // other rows, from the first on
  start(count) {
    this.count = count;
    this.table.setAttribute("aria-rowcount", count + 1);
    this.frame.scrollTop = 0;
    this.show(true);
  }

  show(again, printing) {
    const seen = Math.ceil(this.frame.clientHeight / rowHeight) + 2 * rowsAround;
    const first = printing ? 0 : Math.max(0, Math.min(this.count - seen, Math.floor(this.frame.scrollTop / rowHeight) - rowsAround));
    const last = Math.min(this.count, printing ? rowsPrinted : first + seen);
    if (!again && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    this.before.firstChild.style.height = `${first * rowHeight}px`;
    this.after.firstChild.style.height = `${(printing ? 0 : this.count - last) * rowHeight}px`;
    this.body.replaceChildren(this.before, ...Array.from({ length: last - first }, (_, k) => fill(this.make(first + k), { "aria-rowindex": first + k + 2 }, [])), this.after);
    if (printing && last < this.count) this.body.append(element("tr", {}, element("td", { colspan: this.columns, text: `The first ${last} of ${this.count} rows, in this order.` })));
  }
}

// A table of any number of rows, one line each (smallTable for few); columns as there.
function manyTable(columns, rows, caption) {
  const row = (position) =>
    element(
      "tr",
      {},
      columns.map((c) => {
        const content = c.text(rows[position]), text = content instanceof Node ? content.textContent : String(content);
        const cell = element("td", { class: [c.number ? "number" : "", c.class ? c.class(rows[position]) : ""].join(" ").trim() || null, title: c.number ? null : cut(text, 2000) });
        cell.append(content instanceof Node ? content : cut(text, 400));
        return cell;
      }),
    );
  // words get three times the room of figures
  const head = element("thead", {}, element("tr", {}, columns.map((c) => element("th", { scope: "col", text: c.title, title: c.hint, class: c.number ? "number" : null, style: `width:${c.number ? 7 : c.class ? 21 : 11}em` }))));
  const total = columns.reduce((all, c) => all + (c.number ? 7 : c.class ? 21 : 11), 0);
  const seen = new RowWindow(element("table", { class: "nodes", style: `min-width:${total}em` }, element("caption", { class: "hidden", text: caption }), head), columns.length, caption, row);
  seen.start(rows.length);
  return seen.frame;
}

class NodeTable {
  constructor(app, host) {
    const { nodes } = app.view;
    this.app = app;
    const longest = nodes.names.reduce((most, name) => Math.max(most, name.length), 8);
    this.columns = [
      { title: "#", key: "index", number: true, value: (i) => nodes.numbers[i], text: (i) => String(nodes.numbers[i]), width: "3.4em" },
      { title: "node", key: "name", value: (i) => nodes.names[i], text: (i) => cut(nodes.names[i], nameMost), class: "name", width: `${Math.min(nameMost, Math.max(14, longest)) * 0.5 + 1}em` },
      { title: "operator", key: "op", value: (i) => nodes.ops[i], text: (i) => cut(nodes.ops[i], 40), width: "7em" },
      ...nodes.measures.filter((m) => nodes.has(m.key) && !["ulp", "sqnr", "largest", "tiny"].includes(m.key)).map((m) => ({ title: m.title, hint: m.hint, key: m.key, number: true, value: (i) => nodes.values(app.lane, m.key)[i], text: (i) => m.text(nodes.values(app.lane, m.key)[i]), width: m.classes ? "7em" : "5.4em", bar: m.kind === "part" ? m.key : null })),
    ];
    this.sort = { key: "index", down: false };
    this.filter = "";
    this.build(host);
    this.order();
    app.state.keep("sort", () => (this.sort.key === "index" && !this.sort.down ? "" : `${this.sort.down ? "-" : ""}${this.sort.key}`), (text) => this.sortAs(text.replace(/^-/, ""), text.startsWith("-")));
    app.state.keep("filter", () => this.filter, (text) => ((this.search.value = this.filter = text), this.order()));
    app.listen((change) => {
      if (change.lane) this.order();
      else this.seen.show(true);
    });
  }

  build(host) {
    const { app } = this;
    this.count = element("span", { class: "quiet", role: "status" });
    this.search = element("input", { type: "search", placeholder: "name, or op:Softmax", "aria-label": "Filter nodes by name, or op: and an operator", spellcheck: "false", oninput: () => ((this.filter = this.search.value), this.order(), app.state.write()) });
    this.heads = this.columns.map((c) => {
      const sorter = button(c.title, { title: c.hint }, () => this.sortBy(c));
      return element("th", { scope: "col", class: c.number ? "number" : null, style: `width:${c.width}` }, sorter);
    });
    const total = this.columns.reduce((all, c) => all + parseFloat(c.width), 0);
    const table = element("table", { class: "nodes", style: `min-width:${total}em` }, element("caption", { class: "hidden", text: "All nodes; headings sort" }), element("thead", {}, element("tr", {}, this.heads)));
    this.seen = new RowWindow(table, this.columns.length, "nodes", (position) => this.row(this.rows[position]));
    this.seen.body.addEventListener("click", (event) => this.press(event));
    host.append(element("div", { class: "tools" }, element("label", { class: "chooser" }, element("span", { text: "Filter" }), this.search), app.view.lanes.length > 1 ? app.laneChooser() : null, this.count, app.view.nodes.measures.some((m) => m.key === "nonfinite") ? element("span", { class: "quiet swatch" }, element("span", { class: "broken" }), "a node with values that are not finite") : null), this.seen.frame);
  }

  sortAs(key, down) {
    if (!this.columns.some((c) => c.key === key)) return;
    this.sort = { key, down };
    this.order();
  }

  sortBy(column) {
    // figures begin with the largest, words with the first
    const down = Boolean(column.number) && !["index", "headroom", "sqnr"].includes(column.key);
    this.sortAs(column.key, this.sort.key === column.key ? !this.sort.down : down);
    this.app.state.write();
  }

  order() {
    const { nodes } = this.app.view, column = this.columns.find((c) => c.key === this.sort.key);
    const wanted = this.filter.trim().toLowerCase(), op = wanted.startsWith("op:") ? wanted.slice(3) : null;
    this.rows = [];
    for (let i = 0; i < nodes.count; i++)
      if (!wanted || (op !== null ? nodes.ops[i].toLowerCase().startsWith(op) : nodes.names[i].toLowerCase().includes(wanted) || nodes.ops[i].toLowerCase().includes(wanted))) this.rows.push(i);
    const keys = column.key === "index" ? null : this.rows.map(column.value), at = new Map(keys ? this.rows.map((row, k) => [row, k]) : []), sign = this.sort.down ? -1 : 1;
    if (column.key === "index") this.sort.down && this.rows.reverse();
    else if (column.number)
      this.rows.sort((a, b) => {
        const x = keys[at.get(a)], y = keys[at.get(b)];
        // what is not known stands last
        return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) || a - b : sign * (x - y) || a - b;
      });
    else this.rows.sort((a, b) => sign * (keys[at.get(a)] < keys[at.get(b)] ? -1 : keys[at.get(a)] > keys[at.get(b)] ? 1 : 0) || a - b);
    this.columns.forEach((c, k) => (c.key === this.sort.key ? this.heads[k].setAttribute("aria-sort", this.sort.down ? "descending" : "ascending") : this.heads[k].removeAttribute("aria-sort")));
    this.count.textContent = this.rows.length === nodes.count ? plural(nodes.count, "node") : `${whole(this.rows.length)} of ${plural(nodes.count, "node")}`;
    this.seen.start(this.rows.length);
  }

  row(i) {
    const { nodes } = this.app.view, broken = nodes.measures.some((m) => m.key === "nonfinite") && nodes.values(this.app.lane, "nonfinite")[i] > 0;
    const row = element(
      "tr",
      { class: [i === this.app.selected ? "chosen" : "", broken ? "broken" : ""].join(" ").trim() || null },
      this.columns.map((c) => {
        const text = c.text(i);
        if (c.key === "name") return element("td", { class: "name" }, button(text || nodes.title(i), { class: "link", title: cut(nodes.names[i], 1000) }, null));
        return element("td", { class: c.number ? "number" : null, text, title: c.key === "op" ? text : null });
      }),
    );
    row.node = i;
    return row;
  }

  press(event) {
    const row = event.target.closest("tr");
    if (row && row.node >= 0) this.app.choose(row.node, true);
  }
}
