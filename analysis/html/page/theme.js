// Colours of figures: one scale from pale to dark over blues for sizes, one from orange over pale to blue for headroom. Both can be
// told apart without red and green, and keep their order in grey.

const scales = {
  light: {
    size: ["#eef3f8", "#c6dbef", "#7fb3d9", "#3a82bd", "#0b4f94", "#08306b"],
    room: ["#b2420a", "#e8862f", "#fbd9a6", "#e9eef3", "#a9cfe5", "#3a82bd"],
    none: "#f3f4f6",
    classes: { good: "#a9cfe5", warn: "#f3dc8c", bad: "#c2410c", plain: "#e6eaee", much: "#3a82bd", passes: "#f0a868", list: ["#c6dbef", "#e8862f", "#7a5ea8", "#8fc9a5", "#d98fb8", "#d6cf6b", "#3a82bd", "#8a5a3c"] },
  },
  dark: {
    size: ["#20303f", "#28506f", "#2f77a6", "#54a0cf", "#a6d2ee", "#f0f8ff"],
    room: ["#ff9a4d", "#d97a28", "#7d5a33", "#36424d", "#2f6d96", "#7cc0ea"],
    none: "#262c33",
    classes: { good: "#2f6d96", warn: "#8a7420", bad: "#ff9a4d", plain: "#36424d", much: "#54a0cf", passes: "#7d5a33", list: ["#28506f", "#d97a28", "#8f78c4", "#3f8560", "#b0608e", "#8f8a2e", "#54a0cf", "#a87a5c"] },
  },
};
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const printQuery = matchMedia("print");
const currentScales = () => (darkQuery.matches && !printQuery.matches ? scales.dark : scales.light);

const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

// part: 0 to 1
function colourAt(stops, part) {
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const from = channels(stops[low]), to = channels(stops[low + 1]);
  return `#${from.map((c, i) => Math.round(c + (to[i] - c) * (at - low)).toString(16).padStart(2, "0")).join("")}`;
}

const classColour = (colours, m, value) => colours.classes[m.classes[value]?.colour] ?? colours.classes.list[(m.classes[value]?.colour ?? 0) % colours.classes.list.length];

// Black or white, whichever is read more easily on the colour (WCAG 2's relative luminance).
function inkOn(colour) {
  const [r, g, b] = channels(colour).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Calls the function now and whenever the scheme changes, or the page is printed.
const themeListeners = [];
function onTheme(listener) {
  themeListeners.push(listener);
  listener();
}
for (const query of [darkQuery, printQuery]) query.addEventListener("change", () => themeListeners.forEach((listener) => listener()));
