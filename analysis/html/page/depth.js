// Error along the depth: what each node introduces and what comes to it, in execution order, above each node's share.

class Depth {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.tip = element("div", { class: "tip-box", hidden: true });
    host.append(this.tip);
    this.panels = app.view.lanes.map((lane, l) => {
      const figure = element("figure", { class: "depth" });
      host.append(figure);
      return { l, figure };
    });
    new ResizeObserver(() => this.draw()).observe(host);
    app.listen((change) => change.selected && this.draw());
  }

  draw() {
    const width = Math.max(280, Math.floor(this.host.clientWidth));
    for (const panel of this.panels) this.drawPanel(panel, width);
  }

  drawPanel({ l, figure: host }, width) {
    const { view, selected } = this.app, { nodes } = view;
    const introduced = nodes.values(l, "introduced"), carried = nodes.values(l, "carried"), shares = nodes.has("share") ? nodes.values(l, "share") : null;
    const left = 52, right = 10, top = 10, plot = 150, bars = shares ? 54 : 0, height = top + plot + (shares ? bars + 22 : 0) + 24;
    const sizes = [...introduced, ...carried].filter((v) => v > 0 && v < Infinity);
    const high = sizes.length ? Math.ceil(Math.log10(Math.max(...sampled(sizes, Math.max)))) : 0;
    const low = sizes.length ? Math.max(high - 12, Math.floor(Math.log10(Math.min(...sampled(sizes, Math.min))))) : -1;
    const x = (i) => left + ((i + 0.5) / nodes.count) * (width - left - right);
    const y = (v) => top + plot * (1 - (Math.log10(v) - low) / Math.max(1, high - low));
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Error of ${shown(view.lanes[l].name)} along the depth, from ${figure(10 ** low)} to ${figure(10 ** high)} of each result's rms. The table of nodes has the same figures.` });
    const gridStep = Math.max(1, Math.ceil((high - low) / 6));
    for (let e = low; e <= high; e += gridStep) {
      svg.append(drawn("line", { x1: left, x2: width - right, y1: y(10 ** e), y2: y(10 ** e), class: "grid" }), drawn("text", { x: left - 6, y: y(10 ** e) + 4, class: "tick", "text-anchor": "end", text: e === 0 ? "1" : `10${raised(e)}` }));
    }
    const inside = (v) => v > 0 && v >= 10 ** low;
    let dots = "", line = "", pen = false;
    for (let i = 0; i < nodes.count; i++) {
      if (inside(introduced[i])) dots += `M${x(i).toFixed(1)} ${y(introduced[i]).toFixed(1)}h0`;
      if (inside(carried[i])) {
        line += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(carried[i]).toFixed(1)}`;
        pen = true;
      } else if (Number.isNaN(carried[i])) pen = false;
    }
    svg.append(drawn("path", { d: line || "M0 0", class: "carried" }), drawn("path", { d: dots || "M0 0", class: "introduced", "stroke-width": nodes.count > 3000 ? 2.5 : nodes.count > 500 ? 4 : 6 }));
    if (shares) this.drawShares(svg, shares, x, top + plot + 20, bars, left, width - right);
    if (selected >= 0) svg.append(drawn("line", { x1: x(selected), x2: x(selected), y1: top, y2: height - 24, class: "here" }));
    svg.append(drawn("text", { x: left, y: height - 6, class: "tick", text: "first node" }), drawn("text", { x: width - right, y: height - 6, class: "tick", "text-anchor": "end", text: `node ${whole(nodes.numbers.at(-1))}` }));
    this.follow(svg, l, x, left, width - right);
    host.replaceChildren(
      element("figcaption", {}, element("strong", { text: shown(view.lanes[l].name) }), element("span", { class: "key introduced", text: "introduced" }), element("span", { class: "key carried", text: "carried" }), element("span", { class: "quiet", text: "rms over the rms of each result" }), shares ? element("span", { class: "key share", text: "share of the outputs' error" }) : null, shares && shares.some((v) => v < 0) ? element("span", { class: "key share less", text: "below 0: takes error away" }) : null, selected >= 0 ? element("span", { class: "key here", text: "the chosen node" }) : null),
      svg,
    );
  }

  drawShares(svg, shares, x, top, height, left, right) {
    const most = shares.reduce((a, b) => (Math.abs(b) > a ? Math.abs(b) : a), 0) || 1, width = Math.max(0.8, (right - left) / shares.length - 0.6);
    let more = "", less = "";
    shares.forEach((value, i) => {
      if (Number.isNaN(value) || Math.abs(value) < most / 400) return;
      const size = (height * Math.abs(value)) / most, bar = `M${(x(i) - width / 2).toFixed(1)} ${(top + height).toFixed(1)}v${(-size).toFixed(1)}h${width.toFixed(1)}v${size.toFixed(1)}z`;
      if (value < 0) less += bar;
      else more += bar;
    });
    svg.append(drawn("line", { x1: left, x2: right, y1: top + height + 0.5, y2: top + height + 0.5, class: "axis" }), drawn("text", { x: left - 6, y: top + 6, class: "tick", "text-anchor": "end", text: share(most) }), drawn("text", { x: left - 6, y: top + height + 2, class: "tick", "text-anchor": "end", text: "0" }));
    if (more) svg.append(drawn("path", { d: more, class: "share" }));
    if (less) svg.append(drawn("path", { d: less, class: "share less" }));
  }

  // Says which node is under the pointer; a click chooses it.
  follow(svg, l, x, left, right) {
    const { view } = this.app, { nodes } = view;
    const at = (event) => {
      const box = svg.getBoundingClientRect(), part = ((event.clientX - box.left) * (box.width ? svg.viewBox.baseVal.width / box.width : 1) - left) / (right - left);
      return Math.min(nodes.count - 1, Math.max(0, Math.floor(part * nodes.count)));
    };
    svg.addEventListener("pointermove", (event) => {
      const i = at(event), host = this.host.getBoundingClientRect();
      this.tip.replaceChildren(
        element("strong", { text: cut(nodes.names[i] || nodes.ops[i], 60) }),
        ...["introduced", "carried", "share"].filter((key) => nodes.has(key)).map((key) => element("span", { text: `${key} ${nodes.measures.find((m) => m.key === key).text(nodes.values(l, key)[i])}` })),
      );
      this.tip.hidden = false;
      const room = host.width - this.tip.offsetWidth;
      this.tip.style.left = `${Math.max(0, Math.min(room, event.clientX - host.left + 12))}px`;
      this.tip.style.top = `${event.clientY - host.top + 14}px`;
    });
    svg.addEventListener("pointerleave", () => (this.tip.hidden = true));
    svg.addEventListener("click", (event) => this.app.choose(at(event), true));
  }
}

// The largest or least of each thousand: Math.max takes no million arguments.
function sampled(values, pick) {
  const some = [];
  for (let i = 0; i < values.length; i += 1000) some.push(pick(...values.slice(i, i + 1000)));
  return some;
}
