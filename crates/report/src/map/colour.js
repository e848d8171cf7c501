
// Colours: what each value is coloured by, and the legend of that.
// The hues are those of Okabe and Ito, which people with any colour vision tell apart; sizes go
// from pale to dark, so that they are read without hue.

const HUES = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#e5d84a"];
const RAMP = ["#fde7a9", "#f9c46b", "#ee9a5d", "#d76f66", "#b04d75", "#7d387d", "#472f76"];
const RAMP_DARK = ["#3d3a75", "#6b4591", "#9a4f95", "#c75f89", "#e87e74", "#f8aa6c", "#fde3a0"];
const CLASSES = ["temporary", "output", "input", "weight", "constant", "static", "persistent", "shared"];
const CLASS_HUES = [0, 5, 2, 4, 3, 6, 1, -1];

const colours = {
  mode: "op",
  // By value, a row of `fills`; the last row is for what has no colour of its own.
  of: new Uint8Array(values.count),
  fills: [],
  inks: [],
  red: new Float32Array(16),
  green: new Float32Array(16),
  blue: new Float32Array(16),
  legend: [],
};

const theme = {};

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "card", "ink", "soft", "line", "grid", "lane", "buffer", "accent",
    "bound", "curve", "fill", "step", "other"]) {
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  theme.isDark = matchMedia("(prefers-color-scheme: dark)").matches;
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// A little closer to the paper, so that large boxes do not shout.
function softened(hex) {
  const paper = theme.isDark ? 20 : 255, part = theme.isDark ? 0.12 : 0.2;
  const mixed = rgb(hex).map((channel) => Math.round(channel + (paper - channel) * part));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

function hues() {
  return HUES.map(softened);
}

function setPalette(list) {
  colours.fills = list;
  list.forEach((hex, row) => {
    const [r, g, b] = rgb(hex);
    colours.red[row] = r;
    colours.green[row] = g;
    colours.blue[row] = b;
    colours.inks[row] = 0.299 * r + 0.587 * g + 0.114 * b > 135 ? "#10151c" : "#ffffff";
  });
}

// The groups with most bytes get a hue each, the rest share one.
function colourByWord(wordOf, rest) {
  const sums = new Map();
  for (const value of birthOrder) {
    const word = wordOf(value), sum = sums.get(word) ?? 0;
    sums.set(word, sum + (values.root[value] < 0 ? values.bytes[value] : 0));
  }
  const words = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a) || (a < b ? -1 : 1));
  const rows = new Map(words.slice(0, HUES.length).map((word, row) => [word, row]));
  for (const value of birthOrder) colours.of[value] = rows.get(wordOf(value)) ?? HUES.length;
  setPalette([...hues(), theme.other]);
  colours.legend = [...rows].map(([word, row]) => [colours.fills[row], word]);
  const others = words.length - rows.size;
  if (others > 0) colours.legend.push([theme.other, others > 1 ? `${others} other ${rest}` : words.at(-1)]);
}

// Layers are many: hues go round in order of birth, so that neighbours differ.
function colourByLayer() {
  const rows = new Map();
  for (const value of birthOrder) {
    const layer = layerOf(value);
    if (!rows.has(layer)) rows.set(layer, rows.size);
    colours.of[value] = rows.get(layer) % HUES.length;
  }
  setPalette([...hues(), theme.other]);
  const shown = [...rows].slice(0, HUES.length);
  colours.legend = shown.map(([layer, row]) => [colours.fills[row], layer || "no layer"]);
  const others = rows.size - shown.length;
  if (others > 0) colours.legend.push([theme.card, `${others} more, hues go round`]);
}

function colourBySize() {
  let least = Infinity, most = 1;
  for (const value of birthOrder) {
    if (values.bytes[value] === 0) continue;
    least = Math.min(least, values.bytes[value]);
    most = Math.max(most, values.bytes[value]);
  }
  const ramp = theme.isDark ? RAMP_DARK : RAMP, low = Math.log(Math.min(least, most));
  const each = Math.max((Math.log(most) - low) / ramp.length, 1e-9);
  for (const value of birthOrder) {
    const row = Math.floor((Math.log(Math.max(values.bytes[value], 1)) - low) / each);
    colours.of[value] = Math.min(Math.max(row, 0), ramp.length - 1);
  }
  setPalette([...ramp, theme.other]);
  colours.legend = ramp.map((hex, row) => [hex, `≥ ${short(Math.round(Math.exp(low + row * each)))}`]);
}

function colourByClass() {
  const rows = CLASS_HUES.map((hue) => (hue < 0 ? HUES.length : hue)), seen = new Set();
  for (const value of birthOrder) {
    const at = CLASSES.indexOf(values.class[value]);
    colours.of[value] = at < 0 ? HUES.length : rows[at];
    seen.add(at);
  }
  setPalette([...hues(), theme.other]);
  const shown = CLASSES.map((word, at) => [at, colours.fills[rows[at]], word]);
  colours.legend = shown.filter(([at]) => seen.has(at)).map(([, hex, word]) => [hex, word]);
}

function setColours(mode) {
  colours.mode = mode;
  readTheme();
  if (mode === "size") colourBySize();
  else if (mode === "storage") colourByClass();
  else if (mode === "layer") colourByLayer();
  else colourByWord(opOf, "ops");
}
