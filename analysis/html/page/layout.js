// Layered drawings (Sugiyama, Tagawa and Toda 1981) of one group's children: ranks by longest paths, an order in each rank by
// medians, places by least squares. Groups are small (groups.js), so this is done when a group is opened, and the sizes of what is
// open inside are known then.

const layerGap = 26, boxGap = 14, dummyWidth = 10;

// items: [{width, height}] in execution order; edges: [{from, to}] by index. Sets x and y of the items' top left corners and the
// points of each edge; returns the size of all.
function layered(items, edges) {
  if (!items.length) return { width: 0, height: 0 };
  const rows = items.map((item) => ({ item, width: item.width, height: item.height, ups: [], downs: [], rank: 0, x: 0 }));
  // what goes back in execution order is drawn the other way round
  const forward = edges.filter((e) => e.from !== e.to).map((edge) => ({ edge, low: Math.min(edge.from, edge.to), high: Math.max(edge.from, edge.to) }));
  const below = rows.map(() => []), above = rows.map(() => []);
  for (const e of forward) below[e.low].push(e.high), above[e.high].push(e.low);
  for (let i = 0; i < rows.length; i++) for (const k of below[i]) rows[k].rank = Math.max(rows[k].rank, rows[i].rank + 1);
  // what nothing leads to stands just before its first reader
  for (let i = rows.length - 1; i >= 0; i--) if (!above[i].length && below[i].length) rows[i].rank = Math.min(...below[i].map((k) => rows[k].rank)) - 1;
  wrapAlone(rows, above, below);
  const layers = [];
  const put = (row) => (layers[row.rank] ??= []).push(row);
  rows.forEach(put);
  for (const e of forward) {
    let from = rows[e.low];
    e.path = [from];
    for (let rank = from.rank + 1; rank < rows[e.high].rank; rank++) {
      const dummy = { width: dummyWidth, height: 0, ups: [from], downs: [], rank, x: 0, order: e.low };
      from.downs.push(dummy);
      put(dummy);
      e.path.push(dummy);
      from = dummy;
    }
    from.downs.push(rows[e.high]);
    rows[e.high].ups.push(from);
    e.path.push(rows[e.high]);
  }
  orderLayers(layers);
  placeLayers(layers);
  return finish(rows, layers, forward);
}

// Items without edges are put side by side in ranks of their own, as many as look square.
function wrapAlone(rows, above, below) {
  const alone = rows.filter((_, i) => !above[i].length && !below[i].length);
  if (alone.length < 2) return;
  const across = Math.max(1, Math.min(8, Math.ceil(Math.sqrt(alone.length / 2))));
  const linked = rows.filter((row) => !alone.includes(row));
  const start = linked.length ? Math.max(...linked.map((row) => row.rank)) + 1 : 0;
  alone.forEach((row, i) => (row.rank = start + Math.floor(i / across)));
}

function orderLayers(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((row, i) => (row.order = i)));
  const median = (near, otherwise) => {
    if (!near.length) return otherwise;
    const orders = near.map((row) => row.order).sort((a, b) => a - b), middle = orders.length >> 1;
    return orders.length % 2 ? orders[middle] : (orders[middle - 1] + orders[middle]) / 2;
  };
  number();
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers.slice(1) : layers.slice(0, -1).reverse()) {
      const keys = new Map(layer.map((row) => [row, median(down ? row.ups : row.downs, row.order)]));
      layer.sort((a, b) => keys.get(a) - keys.get(b) || a.order - b.order);
      layer.forEach((row, i) => (row.order = i));
    }
  }
}

// The centres nearest to those wanted, by weighted least squares, that keep their order and distances: neighbours that would
// overlap move as one block (isotonic regression).
function separate(layer, wanted) {
  const blocks = [];
  let offset = 0;
  layer.forEach((row, i) => {
    if (i) offset += (layer[i - 1].width + row.width) / 2 + boxGap;
    const weight = row.item ? 1 : 4; // long edges are kept straight
    blocks.push({ sum: weight * (wanted[i] - offset), weight, rows: [[row, offset]] });
    while (blocks.length > 1) {
      const b = blocks[blocks.length - 1], a = blocks[blocks.length - 2];
      if (a.sum / a.weight <= b.sum / b.weight) break;
      blocks.pop();
      a.sum += b.sum, a.weight += b.weight, a.rows.push(...b.rows);
    }
  });
  for (const block of blocks) for (const [row, at] of block.rows) row.x = block.sum / block.weight + at;
}

function placeLayers(layers) {
  const mean = (near, otherwise) => (near.length ? near.reduce((total, row) => total + row.x, 0) / near.length : otherwise);
  for (const layer of layers) separate(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < 16; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse())
      separate(
        layer,
        layer.map((row) => {
          const near = sweep > 11 ? [...row.ups, ...row.downs] : down ? row.ups : row.downs;
          return mean(near, row.x);
        }),
      );
  }
}

function finish(rows, layers, forward) {
  const tops = [], heights = [];
  let y = 0;
  for (const layer of layers) {
    heights.push(Math.max(0, ...layer.map((row) => row.height)));
    tops.push(y);
    y += heights[heights.length - 1] + layerGap;
  }
  const all = layers.flat();
  const left = Math.min(...all.map((row) => row.x - row.width / 2));
  for (const row of rows) {
    row.item.x = row.x - row.width / 2 - left;
    row.item.y = tops[row.rank] + (heights[row.rank] - row.height) / 2;
  }
  for (const e of forward) {
    const points = e.path.map((row, i) => {
      const x = row.x - left, top = tops[row.rank], height = heights[row.rank];
      if (i === 0) return [x, row.item.y + row.height];
      if (i === e.path.length - 1) return [x, row.item.y];
      return [x, top, top + height];
    });
    e.edge.points = points;
    e.edge.reversed = e.edge.from > e.edge.to;
  }
  return { width: Math.max(...all.map((row) => row.x + row.width / 2)) - left, height: y - layerGap };
}

// A smooth line: vertical where it enters and leaves a rank.
function linePath(points) {
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`, [x, y] = points[0];
  for (const [nextX, top, bottom] of points.slice(1)) {
    const bend = Math.max(8, (top - y) / 2);
    path += `C${x.toFixed(1)} ${(y + bend).toFixed(1)} ${nextX.toFixed(1)} ${(top - bend).toFixed(1)} ${nextX.toFixed(1)} ${top.toFixed(1)}`;
    if (bottom > top) path += `V${bottom.toFixed(1)}`;
    x = nextX;
    y = bottom ?? top;
  }
  return path;
}
