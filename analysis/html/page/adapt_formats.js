// A plan that gives each layer a format of a list: bits of each layer, the frontier, what is left of the tolerance.

function bitsLayers(root) {
  return {
    title: "Bits of each layer",
    note: root.scaled ? "of a factor's value, with its part of its block's scale" : "of a value",
    unit: "layer, in the order of the table",
    linear: true,
    ticks: root.layers.map((layer, i) => ({ x: i + 1, text: String(i + 1) })),
    lines: [{ name: "bits", kind: "output", points: root.layers.map((layer, i) => [i + 1, layer.bits]) }],
  };
}

function bitsFrontier(root) {
  const lines = [
    { name: "bits for each layer", kind: "output", points: root.frontier.filter((p) => known(p.bits)).map((p) => [p.bits, p.allowed]) },
    { name: "one format for all", kind: "node", points: root.frontier.filter((p) => known(p.uniform_bits)).map((p) => [p.uniform_bits, p.allowed]) },
  ];
  const all = lines.flatMap((line) => line.points.map(([x]) => x));
  const low = Math.floor(Math.min(...all)), high = Math.ceil(Math.max(...all));
  return {
    title: "The frontier",
    note: "the bits that a tolerance needs; 1 is the one asked for, 10 allows ten times the error",
    unit: `mean bits, weighed by ${shown(root.cost)}`,
    ticks: Array.from({ length: high - low + 1 }, (_, i) => ({ x: low + i, text: String(low + i) })),
    lines: lines.filter((line) => line.points.length),
  };
}

adapters.formats = (report) => {
  const root = report.root, view = emptyView();
  view.model = root.model_path ?? "";
  view.title = root.scaled ? "A format for each product" : "A format for each layer";
  view.lanes = [{ name: root.arithmetic }];
  view.verdicts = lineVerdicts(root.verdict, () => (root.met && root.validated_met === root.validated.length ? "good" : "bad"));
  view.curves = [...(root.met && root.layers.length > 1 ? [bitsLayers(root)] : []), ...(root.frontier.length > 1 ? [bitsFrontier(root)] : [])];
  view.curvesTitle = "Bits";
  view.outputs = [
    longTable(
      "Samples",
      "The worst output of each sample. Of the error allowed: 1 is the limit.",
      [
        { title: "sample", text: (r) => shown(r.name), class: () => "name" },
        { title: "output", text: (r) => shown(r.output), class: () => "name" },
        { title: "figure", text: (r) => shown(r.metric) },
        { title: "value", number: true, text: (r) => figure(r.value) },
        { title: "of the error allowed", number: true, text: (r) => figure(r.ratio), class: (r) => (r.ratio > 1 ? "bad" : "") },
      ],
      root.samples.concat(root.validated),
    ),
  ];
  view.tables = [
    longTable(
      root.scaled ? "Products" : "Layers",
      `${root.scaled ? "The format of both factors" : "A layer is a node with the nodes behind it that only hand its values on"}. Share: of the error, by what each alone adds.`,
      [
        { title: "layer", text: (r) => shown(r.name), class: () => "name" },
        operatorColumn,
        { title: "format", text: (r) => shown(r.format) },
        { title: "bits", number: true, text: (r) => figure(r.bits) },
        { title: "weight", number: true, text: (r) => figure(r.weight) },
        { title: "share", number: true, text: (r) => figure(r.share) },
      ],
      root.layers,
      root.scaled ? "Products" : "Layers",
    ),
  ];
  const formats = [...new Set((root.layers || []).map((layer) => layer.format))].map((name) => (root.formats || []).find((format) => format.name === name)).filter(Boolean).sort((a, b) => a.bits - b.bits).map((format) => format.name);
  view.nodes = drawnNodes(root, [{ measure: classMeasure("format", "format", formats.map(shown), "the format of the layer's results; nodes that only hand values on are grey"), at: new Map((root.layers || []).map((layer) => [layer.index, formats.indexOf(layer.format)])) }]);
  view.hero = () => heroOf(root, view.verdicts[0]?.level ?? "plain", root.verdict);
  view.how = [
    ["Model", shown(root.model_path ?? "")],
    ["Reference", shown(root.reference ?? "")],
    ["Tolerance", root.tolerances.map(shown)],
    ["Search", `${whole(root.tried)} allocations were emulated, each with every sample until one failed, after each ${root.scaled ? "product" : "layer"} alone in each format`],
  ];
  return view;
};
