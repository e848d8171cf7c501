
// The text beside the map: facts, legend, what is selected, and the table of values. Whatever comes
// from the plan is put into the page as text, never as markup.

const ROWS = 200;
const MOST_LINKS = 12;

const part = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function writeFacts() {
  const { arena_bytes: arena, bound_bytes: bound, unshared_bytes: unshared, weights_bytes: weights, total_bytes: total } = plan;
  const gap = arena === bound ? "none" : `${(((arena - bound) / Math.max(bound, 1)) * 100).toFixed(1)} %`;
  const saved = unshared > arena ? `${(((unshared - arena) / unshared) * 100).toFixed(1)} %` : "nothing";
  const facts = [["arena", short(arena)], ["lower bound", short(bound)],
    ["gap", plan.optimal && arena !== bound ? `${gap}, optimal` : gap],
    ["weights", short(weights)], ["total", short(total)],
    ["unshared", short(unshared), "extra"], ["saved", saved], ["steps", grouped3(steps.count), "extra"],
    ["values", grouped3(values.count), "extra"], ["buffers", grouped3(buffers.count), "extra"]];
  part("facts").replaceChildren(...facts.map(([what, much, className]) => {
    const fact = element("div", undefined, className);
    fact.append(element("dt", what), element("dd", much));
    return fact;
  }));
  part("title").textContent = plan.title || "Plimsoll map";
  part("title").title = plan.title;
  if (plan.title) document.title = `${plan.title} – Plimsoll map`;
}

function writeLegend() {
  part("legend").replaceChildren(...colours.legend.map(([hex, word]) => {
    const entry = element("li"), swatch = element("i");
    swatch.style.background = hex;
    entry.append(swatch, element("span", word));
    entry.title = word;
    return entry;
  }));
}

function link(text, go) {
  const button = element("button", text, "link");
  button.type = "button";
  button.addEventListener("click", go);
  return button;
}

function valueLink(value) {
  return link(values.name[value], () => selectValue(value, true));
}

function stepLink(step) {
  return link(stepTitle(step), () => selectStep(step, true));
}

// A list of values as links, one a line, cut where it becomes long.
function valueLinks(list) {
  const lines = [...list.slice(0, MOST_LINKS)].map((value) => {
    const line = element("div");
    line.append(valueLink(value));
    return line;
  });
  if (list.length > MOST_LINKS) lines.push(element("div", `and ${list.length - MOST_LINKS} more`, "soft"));
  return lines;
}

function writeDetails(title, rows) {
  const list = element("dl");
  for (const [what, ...told] of rows) {
    const cell = element("dd");
    cell.append(...told);
    list.append(element("dt", what), cell);
  }
  part("details").replaceChildren(element("h2", title), list);
}

function placeOf(value) {
  const bank = values.bank[value];
  if (bank < 0) return values.class[value] === "elided" ? "nowhere: it is folded away" : "in the caller's memory";
  const first = values.offset[value], last = first + values.bytes[value];
  const name = plan.banks.length > 1 ? `${plan.banks[bank].name}, ` : "";
  return `${name}offset ${grouped3(first)} up to ${grouped3(last)}`;
}

function showValue(value) {
  const rows = [], add = (what, ...told) => rows.push([what, ...told]);
  const type = plan.types[values.type[value]], step = values.madeBy[value];
  add("op", opOf(value));
  if (step >= 0) add("made by", stepLink(step), element("span", `, step ${step + 1}`, "soft"));
  if (step >= 0 && partOf(step)) add("part of", partOf(step));
  if (type) add("type", type);
  add("bytes", `${values.isLimit.has(value) ? "at most " : ""}${long(values.bytes[value])}`);
  if (values.bank[value] >= 0) {
    const first = Math.floor(values.start[value] / 2), last = Math.floor((values.end[value] - 1) / 2);
    const number = last < steps.count ? last + 1 : "the end";
    add("life", stepLink(first), " to ", stepLink(last),
      element("span", `, steps ${first + 1} to ${number}`, "soft"));
  }
  add("place", placeOf(value));
  add("storage", values.class[value]);
  if (layerOf(value)) add("layer", layerOf(value));
  if (values.root[value] >= 0) add("view of", valueLink(values.root[value]));
  if (values.inPlaceOf[value] >= 0) add("in place of", valueLink(values.inPlaceOf[value]));
  const buffer = values.buffer[value];
  const others = buffer < 0 ? [] : [...members.of(buffer)].filter((other) => other !== value);
  if (others.length > 0) add("same buffer", ...valueLinks(others));
  const had = before.of(value), has = [...after.of(value)];
  if (birthRank[value] >= 0 && values.root[value] < 0) {
    add("before it", ...(had.length > 0 ? valueLinks(had) : [element("span", "nobody had these bytes", "soft")]));
    add("after it", ...(has.length > 0 ? valueLinks(has) : [element("span", "nobody has these bytes", "soft")]));
  }
  writeDetails(values.name[value], rows);
}

function showStep(step) {
  const alive = aliveAt(step), rows = [];
  if (step < steps.count) rows.push(["op", plan.ops[steps.op[step]] || "unknown"], ["step", `${step + 1} of ${steps.count}`]);
  if (step < steps.count && partOf(step)) rows.push(["part of", partOf(step)]);
  const made = birthOrder.filter((value) => values.madeBy[value] === step);
  if (made.length > 0) rows.push(["makes", ...valueLinks([...made])]);
  rows.push(["live bytes", long(liveBytesAt(step))], ["values alive", String(alive.length)]);
  const own = scratchOf(step);
  if (own >= 0) rows.push(["scratch", long(buffers.bytes[own])]);
  writeDetails(stepTitle(step), rows);
}

// Which step of which flow or parts, in a model that was rewritten.
function partOf(step) {
  return plan.steps.part_of && plan.steps.part_of[step];
}

function scratchOf(step) {
  return step < steps.count ? buffers.scratch.indexOf(step) : -1;
}

function showNothing() {
  const hint = "Click a box for its story, the curve for a step. Press ? for the keys.";
  part("details").replaceChildren(element("h2", "Nothing selected"), element("p", hint));
}

// The table.

const table = { list: [], shown: 0 };

function fillTable(title, list) {
  part("table-title").textContent = title;
  table.list = list;
  table.shown = 0;
  part("rows").replaceChildren();
  addRows();
}

function addRows() {
  const to = Math.min(table.shown + ROWS, table.list.length), rows = [];
  for (let at = table.shown; at < to; at++) rows.push(tableRow(table.list[at]));
  part("rows").append(...rows);
  table.shown = to;
  const rest = table.list.length - to;
  part("more").hidden = rest === 0;
  part("rest").textContent = table.list.length === 0 ? "None." : rest > 0 ? `${grouped3(rest)} more.` : "";
}

function tableRow(value) {
  const row = element("tr"), first = element("td"), isPlaced = values.bank[value] >= 0;
  first.append(valueLink(value), element("span", opOf(value), "op"));
  row.append(first, element("td", grouped3(values.bytes[value]), "number"),
    element("td", isPlaced ? grouped3(values.offset[value]) : "–", "number"),
    element("td", isPlaced ? lifeInSteps(values.start[value], values.end[value]) : "–", "number"));
  row.dataset.value = value;
  row.classList.toggle("chosen", value === selection.value);
  return row;
}

function markRow() {
  for (const row of part("rows").children) {
    row.classList.toggle("chosen", Number(row.dataset.value) === selection.value);
  }
}

function writeTable() {
  const text = part("search").value;
  hits.length = 0;
  if (text !== "") {
    const found = search(text);
    for (const value of found) if (birthRank[value] >= 0) hits.push(value);
    fillTable(`${grouped3(found.length)} found`, found);
  } else if (part("table-of").value === "all") {
    fillTable("All values", bySize([...values.name.keys()]));
  } else if (selection.step >= 0) {
    const step = selection.step >= steps.count ? "at the end" : `at step ${selection.step + 1}`;
    fillTable(`Alive ${step}`, aliveAt(selection.step));
  } else if (peak !== null) {
    fillTable("Alive at the peak", aliveAt(peak.step));
  } else {
    fillTable("Alive", []);
  }
}

function say(text) {
  part("said").textContent = text;
}

// The tip at the mouse.

function showTip(pointed, x, y) {
  const tip = part("tip");
  tip.hidden = pointed === null;
  if (pointed === null) return;
  const name = element("b"), lines = [];
  if (pointed.value >= 0) {
    const value = pointed.value, type = plan.types[values.type[value]];
    name.textContent = values.name[value];
    lines.push(`${opOf(value)}${type ? ` · ${type}` : ""}`, `${long(values.bytes[value])} at ${grouped3(values.offset[value])}`,
      `steps ${lifeInSteps(values.start[value], values.end[value])}`);
    if (values.root[value] >= 0) lines.push(`view of ${values.name[values.root[value]]}`);
    if (values.inPlaceOf[value] >= 0) lines.push(`in place of ${values.name[values.inPlaceOf[value]]}`);
    for (const [when, others] of [["before", before.of(value)], ["after", after.of(value)]]) {
      const more = others.length > 1 ? ` and ${others.length - 1} more` : "";
      if (others.length > 0) lines.push(`${when} it: ${values.name[others[0]]}${more}`);
    }
  } else if (pointed.scratch >= 0) {
    name.textContent = `scratch of ${steps.name[buffers.scratch[pointed.scratch]]}`;
    lines.push(`${long(buffers.bytes[pointed.scratch])} at ${grouped3(buffers.offset[pointed.scratch])}`);
  } else {
    name.textContent = stepTitle(pointed.step);
    lines.push(`step ${Math.min(pointed.step + 1, steps.count)} of ${steps.count}`, `${long(liveBytesAt(pointed.step))} alive`);
  }
  tip.replaceChildren(name, ...lines.map((line) => element("span", line)));
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > frame.width ? x - 12 - width : x + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, frame.height - height - 4))}px`;
}
