// Making elements. Text is only ever set as text, so that no name can become markup.

const svgNamespace = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "text") node.textContent = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const drawn = (tag, attributes, ...children) => fill(document.createElementNS(svgNamespace, tag), attributes, children);

// A long name, which may be broken after its slashes and dots.
const breakable = (text) => text.split(/(?<=[/.:])/).slice(0, 4000).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));

// A choice among few, as a labelled <select>; chosen is called with the option's index.
function chooser(label, options, selected, chosen) {
  const select = element(
    "select",
    { onchange: (event) => chosen(event.target.selectedIndex) },
    options.map((text, i) => element("option", { text: cut(text, 60), selected: i === selected })),
  );
  return element("label", { class: "chooser" }, element("span", { text: label }), select);
}

const button = (text, attributes, pressed) => element("button", { type: "button", text, onclick: pressed, ...attributes });

// A table of few rows. columns: {title, text(row), number, class}
function smallTable(columns, rows, caption) {
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${caption}` },
    element(
      "table",
      {},
      element("caption", { class: "hidden", text: caption }),
      element("thead", {}, element("tr", {}, columns.map((c) => element("th", { scope: "col", text: c.title, title: c.hint, class: c.number ? "number" : null })))),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            columns.map((c) => {
              const content = c.text(row);
              const cell = element("td", { class: [c.number ? "number" : "", c.class ? c.class(row) : ""].join(" ").trim() || null });
              cell.append(...(content instanceof Node ? [content] : cell.classList.contains("name") ? breakable(String(content)) : [String(content)]));
              return cell;
            }),
          ),
        ),
      ),
    ),
  );
}
