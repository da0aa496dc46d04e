// The page's sections, in this order.

function verdictSection(view) {
  return element(
    "ul",
    { class: "verdicts" },
    view.verdicts.map((v) => {
      const level = levels[v.level] || levels.plain;
      return element("li", { class: `verdict ${v.level}` }, element("span", { class: "mark", role: "img", "aria-label": level.word, text: level.mark }), element("p", {}, v.name ? [element("strong", { text: cut(v.name, 200) }), ": "] : null, shown(v.text ?? "")));
    }),
  );
}

const rowsWhole = 400; // with more only those that are seen are there

function tablesSection(tables) {
  return tables.filter((t) => t.rows.length).map((t) => [t.heading === false ? null : element("h3", { text: t.title }), t.note ? element("p", { class: "quiet", text: t.note }) : null, (t.rows.length > rowsWhole ? manyTable : smallTable)(t.columns, t.rows, t.title)]);
}

function howSection(view) {
  return element(
    "dl",
    { class: "how" },
    view.how.map(([term, text]) => [element("dt", { text: term }), element("dd", {}, (Array.isArray(text) ? text : [text]).map((line) => (Array.isArray(line) ? element("p", {}, element("strong", { text: line[0] }), ` ${line[1]}`) : element("p", { text: line }))))]),
  );
}
