// The first screen: one sentence, tiles of figures (analysis/writing/first_screen.h), and the command to go on with. A view's hero(lane) is
//   {level, headline, tiles [{title, value, note, level, node}], command {text, note}}

// A verdict up to where it goes on with more.
const firstClause = (text) => String(text ?? "").split("\n")[0].split(/; |\. (?=[A-Z])/)[0].replace(/[.;:]$/, "");

// part: the report, or what it has of one arithmetic; text: where it has no headline
const heroOf = (part, level, text, command) => ({ level, headline: shown(firstClause(part?.headline ?? text)), tiles: Array.isArray(part?.tiles) ? part.tiles : [], command });

// As a shell takes it.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// "ulpscope audit MODEL -i SAMPLE"
// The command with what is to be kept, as the verdict has it whole.
const goingOn = (verdict) => {
  const text = /ulpscope audit .*?--keep '[^']*'(?: --keep '[^']*')*/.exec(verdict ?? "")?.[0];
  return text && { text };
};
const commandOf = (name, root) => (root.arguments ? `ulpscope ${name} ${root.arguments}` : null);

// Nodes by number, as --keep takes them: those that follow each other as one range.
function keepOptions(nodes) {
  const options = [], sorted = [...nodes].sort((a, b) => a.index - b.index);
  for (let i = 0, from = 0; i < sorted.length; i++) {
    if (sorted[i + 1]?.index === sorted[i].index + 1 && sorted[i + 1].format === sorted[i].format) continue;
    options.push(`--keep '#${sorted[from].index}${i > from ? `-${sorted[i].index}` : ""}=${sorted[i].format}'`);
    from = i + 1;
  }
  return options.join(" ");
}

function copyBox(command) {
  const said = element("span", { class: "quiet", role: "status" }), code = element("code", { text: command.text, tabindex: "0" });
  const copy = button("Copy", {}, async () => {
    try {
      await navigator.clipboard.writeText(command.text);
      said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // a page from a file may not be allowed to: it is ready for the keyboard
      said.textContent = "Chosen: press Ctrl+C";
    }
  });
  return element("div", { class: "command" }, element("h3", { text: "To go on with" }), element("div", { class: "box" }, code, copy), element("p", { class: "quiet" }, command.note ? `${shown(command.note)} ` : null, said));
}

function tileElement(app, t) {
  const level = levels[t.level] || levels.plain;
  const note = t.node >= 0 ? nodeLink(t.note, t.node) : breakable(shown(t.note ?? ""));
  return element("li", { class: `tile ${t.level}` }, element("span", { class: "title", text: t.title }), element("strong", {}, t.level === "plain" ? null : element("span", { class: "mark", "aria-hidden": "true", text: level.mark }), breakable(cut(String(t.value ?? ""), 80))), t.note ? element("span", { class: "note" }, note) : null);
}

class Hero {
  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.draw();
    app.listen((change) => change.lane && this.draw());
  }
  draw() {
    const { view, lane } = this.app, hero = view.hero(lane);
    this.host.className = `hero ${hero.level}`;
    this.host.replaceChildren(
      ...[
        element("p", { class: "headline" }, breakable(cut(hero.headline, 400)), "."),
        hero.tiles.length ? element("ul", { class: "tiles" }, hero.tiles.map((t) => tileElement(this.app, t))) : null,
        hero.command ? copyBox(hero.command) : null,
      ].filter(Boolean),
    );
  }
}
