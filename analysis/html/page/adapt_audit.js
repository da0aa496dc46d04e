// An audit's report (doc/report.md).

const viewNames = [
  ["introduced", "what the node's own arithmetic adds to the exact result of its inputs"],
  ["carried", "what exact arithmetic makes of the errors of its inputs"],
  ["entire", "the whole error: introduced + carried"],
  ["single", "the node by itself, on the reference's inputs"],
];
const relative = (output, view) => {
  const rms = output?.[view]?.rms, reference = output?.range?.ref_rms;
  return known(rms) && known(reference) && reference > 0 ? rms / reference : rms === 0 ? 0 : NaN;
};

// The output that errs most: what is not finite, then the largest error beside the reference's rms.
function worstOutput(outputs) {
  let worst = null, most = -1;
  for (const output of outputs || []) {
    const size = (output.entire?.nonfinite > 0 ? 1e300 : 0) + (relative(output, "entire") || 0);
    if (size > most) (worst = output), (most = size);
  }
  return worst;
}

const auditMeasures = [
  measure("share", "share", "part", share, sum, "the part of the outputs' error that comes from the error this node introduces"),
  measure("introduced", "introduced", "error", figure, Math.max, "rms of the error that the node adds, over the rms of the result"),
  measure("carried", "carried", "error", figure, Math.max, "rms of the error that comes with its inputs, over the rms of the result"),
  measure("entire", "whole error", "error", figure, Math.max, "rms of the node's whole error, over the rms of the result"),
  measure("ulp", "max ulp", "error", figure, Math.max, "largest error in units of the last place of the storage format"),
  measure("sqnr", "SQNR dB", "decibels", tenths, Math.min, "signal to error: 10 log10(sum ref² / sum error²)"),
  measure("headroom", "headroom", "room", tenths, Math.min, "log2 of the format's largest number over the largest magnitude; below 0 it overflows"),
  measure("largest", "largest", "error", figure, Math.max, "largest magnitude in the reference"),
  measure("nonfinite", "not finite", "count", whole, sum, "elements that are Inf or NaN here and finite in the reference, or the reverse"),
];

function readAuditNode(lane, node) {
  const output = worstOutput(node.outputs);
  const least = (node.outputs || []).map((o) => o.range?.headroom_bits).filter(known);
  return {
    share: node.share,
    introduced: relative(output, "introduced"),
    carried: relative(output, "carried"),
    entire: relative(output, "entire"),
    ulp: output?.entire?.max_ulp,
    sqnr: output?.entire?.sqnr_db,
    headroom: least.length ? Math.min(...least) : NaN,
    largest: output?.range?.ref_max,
    nonfinite: (node.outputs || []).reduce((a, o) => a + (o.entire?.nonfinite || 0), 0),
  };
}

function auditLevel(lane, root) {
  const limits = (root.limits || []).filter((limit) => !limit.arithmetic || limit.arithmetic === lane.name);
  const grades = (lane.outputs || []).map((o) => o.judged?.grade);
  const bad = grades.includes("broken") || (lane.outputs || []).some((o) => o.entire?.nonfinite > 0) || (lane.overflows || []).some((o) => o.fate === "reaches output" || o.fate === "spoils");
  if (limits.some((limit) => limit.crossings.some((c) => c.arithmetic === lane.name))) return "bad";
  return bad ? "bad" : lane.first_decided || grades.some((grade) => grade && grade !== "fine") ? "warn" : limits.length || grades.includes("fine") ? "good" : "plain";
}

// The limits that the output does not meet.
const crossedBy = (root, lane, output) => (root.limits || []).filter((limit) => (limit.crossings || []).some((c) => c.arithmetic === lane.name && c.output === output.name)).map((limit) => limit.limit);

const outputColumns = [
  { title: "output", text: (r) => shown(r.output.name), class: () => "name" },
  { title: "arithmetic", text: (r) => shown(r.lane) },
  { title: "rms error / rms", number: true, text: (r) => figure(relative(r.output, "entire")) },
  { title: "SQNR dB", number: true, text: (r) => (r.output.entire?.exact ? "exact" : tenths(r.output.entire?.sqnr_db)) },
  { title: "max abs", number: true, text: (r) => figure(r.output.entire?.max_abs) },
  { title: "max rel", number: true, text: (r) => figure(r.output.entire?.max_rel) },
  { title: "max ulp", number: true, text: (r) => figure(r.output.entire?.max_ulp) },
  { title: "not finite", number: true, text: (r) => whole(r.output.entire?.nonfinite), class: (r) => (r.output.entire?.nonfinite ? "bad" : "") },
  { title: "remark", text: (r) => (r.output.entire?.diverged ? "diverged" : r.output.unpaired ? "not in the reference model" : r.crossed.length ? `crosses ${r.crossed.map(shown).join(", ")}` : ""), class: (r) => (r.crossed.length ? "bad" : "") },
];

const schedulesColumns = [
  { title: "node", text: (r) => nodeLink(r.name, r.index), class: () => "name" },
  { title: "operator", text: (r) => shown(r.op) },
  { title: "width rms / rms", number: true, text: (r) => figure(r.width_rms / r.ref_rms), hint: "largest minus smallest result over the schedules" },
  { title: "width max ulp", number: true, text: (r) => figure(r.width_max_ulp) },
  { title: "elements that differ", number: true, text: (r) => share(r.differing) },
  { title: "error rms / rms", number: true, text: (r) => figure(r.error_rms / r.ref_rms), hint: "of the first schedule, against the reference" },
  { title: "other GPU rms / rms", number: true, text: (r) => figure(r.gpu_rms / r.ref_rms) },
];

function scheduleTable(entry) {
  const rows = [...(entry.items || [])].sort((a, b) => (b.width_rms / b.ref_rms || 0) - (a.width_rms / a.ref_rms || 0));
  const depend = rows.filter((r) => r.width_max_abs > 0).length;
  return {
    title: `Schedules of ${shown(entry.base)}`,
    note: `${depend} of ${plural(rows.length, "contraction")} depend on which of ${entry.schedules.length} schedules a library picks: ${entry.schedules.map(shown).join(", ")}. Those that depend most stand first.`,
    columns: schedulesColumns,
    rows,
  };
}

function overflowTable(lane) {
  return {
    title: `Overflows in ${shown(lane.name)}`,
    note: "Where values beyond the storage begin, and what becomes of them.",
    columns: [
      { title: "node", text: (r) => nodeLink(r.node), class: () => "name" },
      { title: "from constant", text: (r) => shown(r.constant ?? "–") },
      { title: "fate", text: (r) => shown(r.fate), class: (r) => (r.fate === "reaches output" || r.fate === "spoils" ? "bad" : "") },
      { title: "absorbed by", text: (r) => nodeLink(r.absorbed_by), class: () => "name" },
      { title: "spoils", text: (r) => nodeLink(r.spoils), class: () => "name" },
    ],
    rows: lane.overflows.filter((r) => r.joins === undefined).map((r) => ({ ...r, constant: lane.constants[r.constant]?.name })),
  };
}

// "  storage     Every ..." and lines indented further that go on with it; the first line is the name.
function meaningLines(lines) {
  const parts = [];
  for (const line of lines.map(shown)) {
    const found = /^ {2}(\S+) +(.*)$/.exec(line);
    if (found) parts.push([found[1], found[2]]);
    else if (/^ {3,}/.test(line) && parts.length) parts[parts.length - 1][1] += ` ${line.trim()}`;
    else if (line.startsWith(" ")) parts.push(["", line.trim()]);
  }
  return parts;
}

function auditHow(root, nodes) {
  const certificate = root.certificate;
  const how = [["Model", `${shown(root.model_path)} (opset ${root.opset}, IR ${root.ir_version})`]];
  how.push(["Reference", `${shown(root.reference)}: every step in this arithmetic; differences from it are formed exactly and rounded once`]);
  how.push([
    "Digits of the reference",
    certificate
      ? `${certificate.output_digits?.toFixed(1)} decimal digits of every output and ${certificate.node_digits?.toFixed(1)} of every node agree with one of more bits (worst: ${shown(certificate.node)})`
      : "not certified: ulpscope audit --certify compares it with one of more bits",
  ]);
  if (root.reference_model) how.push(["Truth", `the values of ${shown(root.reference_model)}: ${root.paired_count} paired by name, ${root.unpaired_count} not`]);
  for (const lane of root.lanes) {
    how.push([shown(lane.name), meaningLines(lane.arithmetic?.meaning || [])]);
    const shares = lane.attribution;
    if (lane.no_attribution) how.push([`Shares of ${shown(lane.name)}`, `none: ${shown(lane.no_attribution)}`]);
    else if (shares) how.push([`Shares of ${shown(lane.name)}`, `add up to ${share(shares.sum)} of the error of ${shares.output ? shown(shares.output) : "the outputs"}${shares.sample_count > 1 ? `, means over ${shares.sample_count} samples` : ""}; what is missing is no first-order effect`]);
    for (const of of shares?.outputs || []) {
      const most = [...of.nodes].sort((a, b) => b.share - a.share).slice(0, 3).filter((s) => s.share > 0);
      how.push([`Error of ${shown(of.output)} in ${shown(lane.name)}`, most.map((s) => `${share(s.share)} from node ${s.index} ${shown(nodes.names[nodes.at.get(s.index)] ?? "")}`)]);
    }
  }
  how.push(["Samples", root.sample_names.slice(0, 20).map(shown).concat(root.sample_names.length > 20 ? [`and ${root.sample_names.length - 20} more`] : [])]);
  how.push(["Time and memory", `${figure(root.seconds)} s (${root.costs.map((of) => `${shown(of.name)} ${figure(of.seconds)}`).join(", ")}), ${figure(root.peak_bytes / 2 ** 20)} MiB of tensors`]);
  return how;
}

const crossingText = (limit) => (limit.crossings.length ? limit.crossings.map((c) => shown(c.text)).join("; ") : "met");

function auditHero(root, view, l) {
  const lane = root.lanes[l] ?? {};
  return heroOf(lane, view.verdicts[l]?.level ?? "plain", `${lane.name}: ${lane.verdict}`, goingOn(lane.verdict));
}

adapters.audit = (report) => {
  const root = report.root, view = emptyView();
  view.model = root.model_path ?? "";
  view.title = "Audit";
  view.verdicts = root.lanes.map((lane) => ({ name: lane.name, text: lane.verdict, level: auditLevel(lane, root) }));
  view.lanes = root.lanes.map((lane) => ({ name: lane.name, storage: lane.arithmetic?.storage && { ...lane.arithmetic.storage, largest: lane.arithmetic.storage.max_finite } }));
  view.outputs = [
    {
      title: "Outputs",
      columns: outputColumns,
      rows: root.lanes.flatMap((lane) => (lane.outputs || []).map((output) => ({ lane: lane.name, output, crossed: crossedBy(root, lane, output) }))),
    },
  ];
  if (root.limits?.length)
    view.outputs.push({
      title: "Limits",
      columns: [
        { title: "limit", text: (r) => shown(r.limit), class: () => "name" },
        { title: "result", text: crossingText, class: (r) => (r.crossings.length ? "bad" : "good") },
      ],
      rows: root.limits,
    });
  view.tables = root.lanes.filter((lane) => lane.overflows?.length).map(overflowTable).concat((root.spreads || []).map(scheduleTable));
  view.nodes = new NodeList({
    lists: root.lanes.map((lane) => lane.nodes || []),
    graph: root.places,
    measures: auditMeasures,
    read: readAuditNode,
  });
  view.how = auditHow(root, view.nodes);
  view.hero = (lane) => auditHero(root, view, lane);
  return view;
};
