// The report of a study: conclusions, a picture for each series over bits or lengths, tables of settings and of laws.

const studyUnits = { bits: "stored mantissa bits", length: "length of a chain of sums (log scale)", exponent: "exponent bits" };

function studyCurve(root, series) {
  const settings = series.settings.map((i) => root.settings[i]), used = root.places.map((place, p) => ({ place, p })).filter(({ p }) => settings.some((s) => s.points[p].relative > 0));
  const order = [...series.x.keys()].sort((a, b) => series.x[a] - series.x[b]);
  const kinds = ["output", "node", "group"];
  used.sort((a, b) => kinds.indexOf(a.place.kind) - kinds.indexOf(b.place.kind) || a.p - b.p);
  const fit = series.fits?.[series.worst], law = fit && fit.law !== "none" ? fit : null;
  const shownMost = 14;
  return {
    title: shown(series.name),
    note: `relative error (rms over the reference's rms)${law ? `; dashed: the fitted law, slope ${law.slope.toFixed(2)} ± ${law.slope_error.toFixed(2)}` : ""}${used.length > shownMost ? `; the first ${shownMost} of ${used.length} places` : ""}`,
    unit: studyUnits[series.axis],
    logarithmic: series.axis === "length",
    ticks: order.map((i) => ({ x: series.x[i], text: String(series.x[i]) })),
    lines: used.slice(0, shownMost).map(({ place, p }) => ({
      name: place.name,
      kind: place.kind,
      points: order.map((i) => [series.x[i], settings[i].points[p].relative]),
      fit: p === series.worst && law ? { slope: law.slope, intercept: law.intercept, from: series.x[law.first], to: series.x[law.last] } : null,
    })),
  };
}

const studyLaws = { none: "none", power: "a power", linear: "proportional to u (or n)", root: "sqrt(n)", flat: "no dependence" };

function lawTable(root, series) {
  const rows = root.places.map((place, p) => ({ place, fit: series.fits[p], first: root.settings[series.settings[0]].points[p], last: root.settings[series.settings.at(-1)].points[p] }));
  return longTable(
    `Law of ${shown(series.name)}`,
    "log2 of the error by least squares; the residual is the rms distance from the line, in bits.",
    [
      { title: "place", text: (r) => shown(r.place.name), class: () => "name" },
      { title: "kind", text: (r) => r.place.kind },
      { title: "slope", number: true, text: (r) => (known(r.fit.slope) ? r.fit.slope.toFixed(2) : "–") },
      { title: "±", number: true, text: (r) => (known(r.fit.slope_error) ? r.fit.slope_error.toFixed(2) : "–") },
      { title: "residual", number: true, text: (r) => (known(r.fit.residual) ? r.fit.residual.toFixed(2) : "–") },
      { title: "law", text: (r) => studyLaws[r.fit.law] ?? "" },
      { title: "why none", text: (r) => shown(r.fit.reason ?? ""), class: () => "name" },
      { title: "first", number: true, text: (r) => figure(r.first.relative) },
      { title: "last", number: true, text: (r) => figure(r.last.relative) },
    ],
    rows,
    "Laws",
  );
}

function studyOutput(root, place, p) {
  const rows = root.settings.map((setting) => ({ setting, point: setting.points[p], trials: setting.points[p].trials }));
  const trials = rows.some((r) => r.trials)
    ? [
        { title: "trials", number: true, text: (r) => whole(r.trials?.count) },
        { title: "significant bits", number: true, text: (r) => bits(r.trials?.bits) },
        { title: "at least", number: true, text: (r) => bits(r.trials?.bits_low) },
        { title: "bias", number: true, text: (r) => figure(r.trials?.bias) },
        { title: "±", number: true, text: (r) => figure(r.trials?.bias_width) },
      ]
    : [];
  return longTable(
    place.kind === "output" ? `Output ${shown(place.name)}` : `Node ${shown(place.name)}`,
    "",
    [
      { title: "setting", text: (r) => shown(r.setting.text), class: () => "name" },
      { title: "relative", number: true, text: (r) => figure(r.point.relative) },
      { title: "max abs", number: true, text: (r) => figure(r.point.metrics?.max_abs) },
      { title: "SQNR dB", number: true, text: (r) => decibels(r.point.metrics?.sqnr_db) },
      { title: "not finite", number: true, text: (r) => whole(r.point.nonfinite), class: (r) => (r.point.nonfinite ? "bad" : "") },
      ...trials,
      { title: "first overflow", text: (r) => shown(r.setting.overflows ?? ""), class: () => "name" },
    ],
    rows,
  );
}

adapters.study = (report) => {
  const root = report.root, view = emptyView();
  view.model = root.model_path ?? "";
  view.title = "Study";
  view.lanes = root.sweeps.map((name) => ({ name }));
  view.verdicts = root.series.flatMap((series) => lineVerdicts(series.verdict, () => (known(root.tolerance) ? (/None keeps/.test(series.verdict) ? "warn" : "good") : "plain")));
  view.curves = root.series.filter((series) => studyUnits[series.axis] && series.x.length > 1).map((series) => studyCurve(root, series));
  view.outputs = root.places.map((place, p) => (place.kind === "group" ? null : studyOutput(root, place, p))).filter(Boolean);
  view.tables = root.series.filter((series) => series.fits.length).map((series) => lawTable(root, series));
  view.how = [
    ["Model", shown(root.model_path ?? "")],
    ["Reference", shown(root.reference ?? "")],
    ["Samples", whole(root.sample_count)],
    ["Layer groups", shown(root.grouping)],
    ["Law", "log2(error) = intercept + slope · bits (or · log2 of the length) by least squares, without points that are lost, exact, not finite or on a floor; a law when the residual is at most half a bit"],
    ["Trials", `runs with seeds drawn from ${whole(root.seed)}; significant bits are −log2(σ/|μ|) of the median element; at least: with probability ${root.probability} and confidence ${root.confidence} (Sohier et al., 2021)`],
  ];
  return view;
};
