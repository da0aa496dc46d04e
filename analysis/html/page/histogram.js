// How a value's magnitudes lie, above the ranges of formats: bars by binary exponent, and for each format where its normal and its
// subnormal numbers are.

// The formats that a picture shows: the arithmetics' own first, then those that are usual.
function formatsShown(view) {
  const names = new Set(), rows = [];
  const usual = ["fp16", "bf16", "fp8-e4m3", "fp8-e5m2"].map((name) => view.formats.find((f) => f.name === name));
  for (const format of [...view.lanes.map((lane) => lane.storage), ...usual])
    if (format?.name && known(format.largest) && !names.has(format.name) && rows.length < 6) {
      names.add(format.name);
      rows.push(format);
    }
  return rows;
}

function histogramTotals(histogram) {
  return histogram.counts.reduce(sum, 0) + histogram.zeros + histogram.nonfinite;
}

// Parts of the elements that lie below the format's normal numbers, and beyond its largest. A bar that holds the largest number is
// counted as inside.
function outsideOf(histogram, format) {
  let tiny = 0, lost = 0, beyond = 0;
  histogram.counts.forEach((count, i) => {
    const exponent = histogram.first + i;
    if (exponent < format.emin - format.precision) lost += count;
    else if (exponent < format.emin) tiny += count;
    if (exponent > Math.log2(format.largest)) beyond += count;
  });
  const all = histogramTotals(histogram) || 1;
  return { tiny: tiny / all, lost: lost / all, beyond: beyond / all };
}

function percent(part) {
  return part === 0 ? "0" : part < 0.0005 ? "<0.05 %" : `${(100 * part).toFixed(1)} %`;
}

function histogramPicture(histogram, formats, name) {
  const counts = histogram.counts, last = histogram.first + counts.length - 1;
  const low = Math.max(-150, Math.min(-26, counts.length ? histogram.first - 1 : 0)), high = Math.min(140, Math.max(18, counts.length ? last + 2 : 0));
  const width = 380, barTop = 8, barHeight = 92, rowHeight = 19, left = 68, right = 66;
  const axis = barTop + barHeight, height = axis + 22 + formats.length * rowHeight + 4;
  const x = (exponent) => left + ((Math.min(high, Math.max(low, exponent)) - low) / (high - low)) * (width - left - right);
  const most = Math.max(1, ...counts);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "histogram", role: "img", "aria-label": `Magnitudes of ${cut(name, 80)} by power of two, above the ranges of ${formats.map((f) => f.name).join(", ")}` });
  counts.forEach((count, i) => {
    if (!count) return;
    const from = x(histogram.first + i), to = x(histogram.first + i + 1), size = Math.max(1, (barHeight * Math.sqrt(count)) / Math.sqrt(most));
    svg.append(
      drawn("rect", { x: from, y: axis - size, width: Math.max(0.6, to - from - 0.6), height: size, class: "bar" }, drawn("title", { text: `${whole(count)} elements from 2${raised(histogram.first + i)} to 2${raised(histogram.first + i + 1)}` })),
    );
  });
  svg.append(drawn("line", { x1: left, x2: width - right, y1: axis + 0.5, y2: axis + 0.5, class: "axis" }));
  const step = high - low > 120 ? 40 : high - low > 60 ? 20 : 10;
  for (let e = Math.ceil(low / step) * step; e <= high; e += step) {
    svg.append(drawn("line", { x1: x(e), x2: x(e), y1: axis, y2: axis + 4, class: "axis" }));
    svg.append(drawn("text", { x: x(e), y: axis + 15, class: "tick", "text-anchor": "middle", text: `2${raised(e)}` }));
  }
  formats.forEach((format, row) => {
    const y = axis + 24 + row * rowHeight, smallest = format.emin - format.precision + 1, outside = outsideOf(histogram, format);
    const bad = outside.beyond > 0;
    svg.append(drawn("text", { x: left - 6, y: y + 10, class: bad ? "format bad" : "format", "text-anchor": "end", text: format.name }));
    svg.append(drawn("rect", { x: x(smallest), y: y + 2, width: Math.max(0, x(format.emin) - x(smallest)), height: 9, class: "subnormal" }, drawn("title", { text: `${format.name}: subnormal numbers from 2${raised(smallest)} to 2${raised(format.emin)}; ${percent(outside.tiny)} of the elements` })));
    svg.append(drawn("rect", { x: x(format.emin), y: y + 2, width: Math.max(0, x(Math.log2(format.largest)) - x(format.emin)), height: 9, class: bad ? "normal bad" : "normal" }, drawn("title", { text: `${format.name}: normal numbers from 2${raised(format.emin)} to ${figure(format.largest)}` })));
    const word = bad ? "overflows" : outside.lost + outside.tiny >= 0.0005 ? `${percent(outside.lost + outside.tiny)} tiny` : "holds all";
    svg.append(drawn("text", { x: width - right + 6, y: y + 10, class: bad ? "format bad" : "tick", text: word }));
  });
  return svg;
}

// The picture, and the same in words.
function histogramBlock(histogram, view, name) {
  const formats = formatsShown(view), all = histogramTotals(histogram);
  return element(
    "figure",
    {},
    histogramPicture(histogram, formats, name),
    element("figcaption", {}, `${plural(all, "element")} in the reference over all samples: ${percent(histogram.zeros / (all || 1))} zero${histogram.nonfinite ? `, ${whole(histogram.nonfinite)} not finite` : ""}. Bars are by power of two (root scale); below them each format's normal numbers and, pale, its subnormal ones. `,
      formats.map((f) => {
        const o = outsideOf(histogram, f);
        return o.beyond || o.lost || o.tiny ? `${f.name}: ${[o.beyond && `${percent(o.beyond)} beyond the largest`, o.tiny && `${percent(o.tiny)} subnormal`, o.lost && `${percent(o.lost)} become zero`].filter(Boolean).join(", ")}. ` : "";
      }).join(""),
    ),
  );
}
