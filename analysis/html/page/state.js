// What is looked at stands in the page's address, behind the section: "#graph?node=5&lane=fp16". So a link shows what its writer saw.

function readState() {
  const [section, query] = decodeURI(location.hash.slice(1)).split("?");
  return { section, wanted: new URLSearchParams(query ?? "") };
}

const nodeAddress = (number) => `#graph?node=${number}`;

// The page's nodes, whichever report has them: what tables' links go to. Set when the page is put together.
let linkedNodes = null;

// A node's name, as a link to it where the page has the node; number: in the model, without one it is looked up by name.
function nodeLink(name, number) {
  const at = linkedNodes && (Number.isInteger(number) ? linkedNodes.at.get(number) : linkedNodes.byName.get(name));
  const text = breakable(shown(name ?? "–"));
  return at === undefined || at === null ? element("span", {}, text) : element("a", { href: nodeAddress(linkedNodes.numbers[at]) }, text);
}

class State {
  constructor(app) {
    this.app = app;
    this.parts = new Map(); // key: {read, write}, of those who have something to keep
  }
  // once all are there
  start() {
    this.started = true;
    addEventListener("hashchange", () => this.apply(true));
    for (const link of document.querySelectorAll("nav a"))
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.section = link.hash.slice(1);
        document.getElementById(this.section).scrollIntoView();
        this.write(true);
      });
    this.apply();
  }
  keep(key, read, write) {
    this.parts.set(key, { read, write });
  }
  write(again) {
    if (!this.started) return;
    const kept = [...this.parts].map(([key, part]) => [key, part.read()]).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const address = `#${this.section ?? ""}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
    if (address !== location.hash) history[again ? "pushState" : "replaceState"](null, "", address === "#" ? location.pathname : address);
  }
  // also of an address that someone else wrote: what it does not name, or names wrongly, stays as it is
  apply(went) {
    const { section, wanted } = readState();
    this.section = document.getElementById(section)?.tagName === "SECTION" ? section : undefined;
    for (const [key, part] of this.parts) if (wanted.has(key)) part.write(wanted.get(key));
    if (this.section && (went || wanted.size)) document.getElementById(this.section).scrollIntoView();
    this.write();
  }
}
