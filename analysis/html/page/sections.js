// The page's sections.

const rowsWhole = 400; // with more only those that are seen are there

function tablesSection(tables) {
  return tables.filter((t) => t.rows.length).map((t) => [t.title === t.section ? null : element("h3", { text: shown(t.title) }), t.note ? element("p", { class: "quiet", text: shown(t.note) }) : null, (t.rows.length > rowsWhole ? manyTable : smallTable)(t.columns, t.rows, shown(t.title))]);
}

function howSection(view) {
  return element("dl", { class: "how" }, view.how.map(([term, text]) => [element("dt", { text: shown(term) }), element("dd", {}, text.includes("\n ") ? element("pre", { text: text.split("\n").map(shown).join("\n") }) : text.split("\n").map((line) => element("p", { text: shown(line) })))]));
}
