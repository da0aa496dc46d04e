// The first screen: how bad, why and what to do, each whole, and tiles of figures (analysis/writing/first_screen.h).

function copyBox(text) {
  const said = element("span", { class: "quiet", role: "status" }), code = element("code", { text: text, tabindex: "0" });
  const copy = button("Copy", {}, async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // a page from a file may not be allowed to: it is ready for the keyboard
      said.textContent = "Chosen: press Ctrl+C";
    }
  });
  return element("div", { class: "command" }, element("div", { class: "box" }, code, copy), said);
}

function tileElement(app, t) {
  const level = levels[t.level] || levels.plain;
  const note = t.node >= 0 ? nodeLink(t.note, t.node) : breakable(shown(t.note ?? ""));
  return element("li", { class: `tile ${t.level}` }, element("span", { class: "title", text: t.title }), element("strong", {}, t.level === "plain" ? null : element("span", { class: "mark", "aria-hidden": "true", text: level.mark }), breakable(cut(String(t.value ?? ""), 80))), t.note ? element("span", { class: "note" }, note) : null);
}

// "do" is a command to be copied, with a comment behind it, or a sentence.
const todoBlock = (todo) => [element("h3", { text: "What to do" }), todo.startsWith("ulpscope ") ? copyBox(shown(todo)) : element("p", {}, breakable(shown(todo)))];

class Hero {
  constructor(app, host) {
    Object.assign(this, { app, host });
    this.draw();
    app.listen((change) => change.lane && this.draw());
  }
  draw() {
    const { headlines, lanes, first } = this.app.view, lane = lanes[this.app.lane];
    const meant = headlines.filter((h) => !lane || h.name === null || !lanes.some((other) => other.name === h.name) || h.name === lane.name);
    const seen = meant.filter((h) => headlines.indexOf(h) < first), tiles = meant.flatMap((h) => h.tiles).filter((t, i, list) => list.findIndex((other) => other.title === t.title) === i);
    this.host.className = "heroes";
    this.host.replaceChildren(
      ...seen.map((h) => {
        const level = levels[h.level] || levels.plain;
        return element("div", { class: `hero ${h.level}` }, element("p", { class: "headline" }, element("span", { class: "mark", role: "img", "aria-label": level.word, text: level.mark }), " ", breakable(shown(h.what))), h.why ? element("p", { class: "why" }, breakable(shown(h.why))) : null, h.todo && h.todo !== "nothing" ? todoBlock(h.todo) : null);
      }),
      tiles.length ? element("ul", { class: "tiles" }, tiles.slice(0, 6).map((t) => tileElement(this.app, t))) : "",
    );
  }
}
