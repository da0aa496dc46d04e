// Errors, bits or prices as lines, on a logarithmic scale or not.
// view.curves: [{title, note, unit, linear (the values, not errors on a logarithmic scale), ticks [{x, text}], lines [{name, kind, points [[x, y]]}]}]

function curvesSection(view) {
  return view.curves.map((curve) => {
    const host = element("figure", { class: "curve" });
    const draw = () => host.replaceChildren(...curvePicture(curve, Math.max(300, Math.floor(host.clientWidth || 900))));
    new ResizeObserver(draw).observe(host);
    draw();
    return host;
  });
}

// Whole powers of ten around all errors, at most fifteen.
function decades(values) {
  const logs = values.filter((v) => v > 0 && v < Infinity).map(Math.log10);
  const high = logs.length ? Math.ceil(Math.max(...logs) - 1e-9) : 0;
  return [Math.max(high - 15, logs.length ? Math.min(high - 1, Math.floor(Math.min(...logs))) : -1), high];
}

// Places of labels that do not cover each other, nearest to where they belong, from the top down.
function spreadLabels(labels, top, bottom, gap) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => (label.at = Math.max(label.y, i ? labels[i - 1].at + gap : top)));
  for (let i = labels.length - 1, limit = bottom; i >= 0; i--, limit -= gap) if (labels[i].at > limit) labels[i].at = limit;
}

function curvePicture(curve, width) {
  const narrow = width < 620, right = narrow ? 12 : 190, left = 56, top = 12, plot = narrow ? 240 : 340, height = top + plot + 44;
  const xs = curve.ticks.map((tick) => tick.x), lowX = Math.min(...xs), highX = Math.max(...xs);
  const values = curve.lines.flatMap((line) => line.points.map(([, y]) => y));
  const [low, high] = curve.linear ? [0, Math.max(1, ...values)] : decades(values);
  const height_ = curve.linear ? (v) => v : Math.log10, power = curve.linear ? (v) => v : (e) => 10 ** e;
  const x = (value) => left + ((value - lowX) / (highX - lowX || 1)) * (width - left - right);
  const y = (value) => top + plot * (1 - (height_(value) - low) / (high - low));
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${shown(curve.title)}: ${curve.linear ? "values" : "relative error"} over ${curve.unit}. The tables have the same figures.` });
  const step = Math.max(1, Math.ceil((high - low) / 8));
  for (let e = low; e <= high; e += step)
    svg.append(drawn("line", { x1: left, x2: width - right, y1: y(power(e)), y2: y(power(e)), class: "grid" }), drawn("text", { x: left - 6, y: y(power(e)) + 4, class: "tick", "text-anchor": "end", text: curve.linear ? String(e) : e === 0 ? "1" : `10${raised(e)}` }));
  const every = Math.max(1, Math.ceil(curve.ticks.length / ((width - left - right) / 34)));
  curve.ticks.forEach((tick, i) => i % every === 0 && svg.append(drawn("text", { x: x(tick.x), y: top + plot + 17, class: "tick", "text-anchor": "middle", text: tick.text })));
  svg.append(drawn("text", { x: (left + width - right) / 2, y: height - 6, class: "tick", "text-anchor": "middle", text: curve.unit }));
  const labels = [];
  curve.lines.forEach((line, n) => {
    const inside = line.points.filter(([, v]) => v < Infinity && (curve.linear || (v > 0 && v >= 10 ** low)));
    if (!inside.length) return;
    const colour = `line colour-${n} ${line.kind}`; // two of page.css
    svg.append(
      drawn("path", { d: inside.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(""), class: colour }, drawn("title", { text: cut(line.name, 80) })),
      ...inside.map(([a, b]) => drawn("circle", { cx: x(a), cy: y(b), r: line.kind === "output" ? 3.4 : 2.2, class: `dot colour-${n}` }, drawn("title", { text: `${cut(line.name, 60)}: ${figure(b)}` }))),
    );
    labels.push({ name: line.name, kind: line.kind, colour: n, y: y(inside[inside.length - 1][1]), from: x(inside[inside.length - 1][0]) });
  });
  spreadLabels(labels, top + 4, top + plot, 15);
  if (!narrow)
    for (const label of labels)
      svg.append(
        drawn("line", { x1: label.from + 5, x2: width - right + 12, y1: label.y, y2: label.at, class: `leader colour-${label.colour}` }),
        drawn("text", { x: width - right + 16, y: label.at + 4, class: `name ${label.kind}`, text: cut(label.name, 26) }),
      );
  const keys = narrow ? labels.map((label) => element("span", { class: `key colour-${label.colour}`, text: cut(label.name, 40) })) : [];
  return [element("figcaption", {}, element("strong", { text: shown(curve.title) }), element("span", { class: "quiet", text: curve.note }), keys), svg];
}
