// Numbers and names as text.

// Foreign text made harmless, as the terminal shows it: control characters, line ends and characters that reverse or hide others.
function shown(text) {
  return String(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu,
    (c) => (c === "\n" ? "\\n" : c === "\t" ? "\\t" : c === "\r" ? "\\r" : `\\u{${c.codePointAt(0).toString(16)}}`),
  );
}

// Cut in its middle when it has more characters: names differ at their ends.
function cut(text, most) {
  const all = [...shown(text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text)];
  const head = Math.floor(most / 3);
  return (all.length <= most ? all : [...all.slice(0, head), "…", ...all.slice(head + 1 - most)]).join("");
}

const superscripts = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
function raised(number) {
  return String(number).replace(/./g, (c) => superscripts[c]);
}

const known = (value) => typeof value === "number" && Number.isFinite(value);

// A figure with three digits; "–" for what is not defined.
function figure(value) {
  if (!known(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [digits, power] = value.toExponential(2).split("e");
    return `${digits.replace("-", "−")}·10${raised(Number(power))}`;
  }
  return (size >= 100 ? value.toFixed(size >= 1e4 ? 0 : 1) : value.toPrecision(3)).replace("-", "−");
}

function share(value) {
  if (!known(value)) return "–";
  const percent = 100 * value;
  return `${(Math.abs(percent) >= 100 ? percent.toFixed(0) : Math.abs(percent) >= 0.095 ? percent.toFixed(1) : percent === 0 ? "0" : percent.toPrecision(1)).replace("-", "−")} %`;
}

// With one digit behind the point; what is next to 0 has no sign.
const tenths = (value) => (known(value) ? (value < 0 && value > -0.05 ? 0 : value).toFixed(1).replace("-", "−") : "–");
const whole = (value) => (known(value) ? value.toLocaleString("en-GB").replaceAll(",", " ") : "–");
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
