"use strict";

// What the page knows of the plan. Columns are typed arrays by value, step or buffer; -1 is none.
// Nothing here touches the page, but for reading the data out of it.

const plan = JSON.parse(document.getElementById("plan").textContent);

const steps = {
  count: plan.steps.name.length,
  name: plan.steps.name,
  op: Int32Array.from(plan.steps.op),
};

const values = {
  count: plan.values.name.length,
  name: plan.values.name,
  bytes: Float64Array.from(plan.values.bytes),
  bank: Int32Array.from(plan.values.bank),
  offset: Float64Array.from(plan.values.offset),
  start: Float64Array.from(plan.values.start),
  end: Float64Array.from(plan.values.end),
  buffer: Int32Array.from(plan.values.buffer),
  madeBy: Int32Array.from(plan.values.made_by),
  op: Int32Array.from(plan.values.op),
  type: Int32Array.from(plan.values.type),
  class: plan.values.class.map((row) => plan.classes[row]),
  root: Int32Array.from(plan.values.root),
  inPlaceOf: Int32Array.from(plan.values.in_place_of),
  isLimit: new Set(plan.values.limits),
};

const buffers = {
  count: plan.buffers.bank.length,
  bank: Int32Array.from(plan.buffers.bank),
  offset: Float64Array.from(plan.buffers.offset),
  bytes: Float64Array.from(plan.buffers.bytes),
  start: Float64Array.from(plan.buffers.start),
  end: Float64Array.from(plan.buffers.end),
  scratch: Int32Array.from(plan.buffers.scratch),
};

// Rows of rows: those of `key` are `items[first[key]]` up to `items[first[key + 1]]`.
function grouped(count, keys, items) {
  const first = new Int32Array(count + 1);
  for (const key of keys) first[key + 1]++;
  for (let key = 0; key < count; key++) first[key + 1] += first[key];
  const next = first.slice(), sorted = new Int32Array(keys.length);
  for (let at = 0; at < keys.length; at++) sorted[next[keys[at]]++] = items[at];
  return { of: (key) => sorted.subarray(first[key], first[key + 1]) };
}

// Who had a value's bytes right before it, and who has them next.
const before = {
  of: (value) => plan.values.follows.slice(plan.values.first[value], plan.values.first[value + 1]),
};
const after = (() => {
  const keys = Int32Array.from(plan.values.follows), items = new Int32Array(keys.length);
  for (let value = 0; value < values.count; value++) {
    items.fill(value, plan.values.first[value], plan.values.first[value + 1]);
  }
  return grouped(values.count, keys, items);
})();

// The values of each buffer, in order of birth.
const placed = [];
for (let value = 0; value < values.count; value++) {
  if (values.bank[value] >= 0) placed.push(value);
}
placed.sort((a, b) => values.start[a] - values.start[b] || values.bank[a] - values.bank[b]
  || values.offset[a] - values.offset[b] || a - b);
const birthOrder = Int32Array.from(placed);
const birthRank = new Int32Array(values.count).fill(-1);
birthOrder.forEach((value, rank) => { birthRank[value] = rank; });
const members = (() => {
  const packed = birthOrder.filter((value) => values.buffer[value] >= 0);
  return grouped(buffers.count, packed.map((value) => values.buffer[value]), packed);
})();

// Time goes from 0 to the first moment after the run: two points a step, and one for the outputs.
const endOfTime = 2 * steps.count + 1;

// The live bytes, the most of them, and when that is first so.
const curve = { times: Float64Array.from(plan.curve.times), bytes: Float64Array.from(plan.curve.bytes) };
const peak = (() => {
  let at = 0;
  for (let k = 1; k < curve.bytes.length; k++) if (curve.bytes[k] > curve.bytes[at]) at = k;
  if (curve.bytes.length === 0) return null;
  return { bytes: curve.bytes[at], point: curve.times[at], step: Math.floor(curve.times[at] / 2) };
})();

function opOf(value) {
  return plan.ops[values.op[value]] || values.class[value];
}

// The name up to its last slash or dot: the part of the model that it belongs to.
function layerOf(value) {
  const name = values.name[value];
  return name.slice(0, Math.max(name.lastIndexOf("/"), name.lastIndexOf("."), 0));
}

function isAlive(value, step) {
  return values.bank[value] >= 0 && values.start[value] < 2 * step + 2 && values.end[value] > 2 * step;
}

// The values that are alive while a step runs, the largest first. The step behind the last is the
// end of the run.
function aliveAt(step) {
  const alive = [];
  for (let value = 0; value < values.count; value++) if (isAlive(value, step)) alive.push(value);
  return bySize(alive);
}

function bySize(list) {
  return list.sort((a, b) => values.bytes[b] - values.bytes[a] || a - b);
}

// The most live bytes while a step runs.
function liveBytesAt(step) {
  let most = 0;
  for (let k = 0; k < curve.bytes.length; k++) {
    const meets = curve.times[k] < 2 * step + 2 && curve.times[k + 1] > 2 * step;
    if (meets && curve.bytes[k] > most) most = curve.bytes[k];
  }
  return most;
}

let lowered = null;

// The values whose names hold the text in any case: equal names first, then by where it stands.
function search(text) {
  const wanted = text.toLowerCase();
  lowered ??= values.name.map((name) => name.toLowerCase());
  const found = [];
  for (let value = 0; value < values.count; value++) {
    const at = lowered[value].indexOf(wanted);
    if (at >= 0) found.push({ value, rank: lowered[value] === wanted ? -1 : at });
  }
  found.sort((a, b) => a.rank - b.rank || a.value - b.value);
  return found.map((one) => one.value);
}

const byName = new Map();
for (let value = values.count - 1; value >= 0; value--) byName.set(values.name[value], value);

// Words and numbers.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

function short(bytes) {
  let unit = 0, size = bytes;
  while (size >= 1024 && unit < UNITS.length - 1) { size /= 1024; unit++; }
  const text = Number.isInteger(size) ? String(size) : size.toFixed(1);
  return `${text} ${unit === 0 && size === 1 ? "byte" : UNITS[unit]}`;
}

function long(bytes) {
  return bytes < 1024 ? short(bytes) : `${grouped3(bytes)} bytes (${short(bytes)})`;
}

function grouped3(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function stepTitle(step) {
  return step >= steps.count ? "end of the run" : steps.name[step];
}

// The steps of a life, counted from 1.
function lifeInSteps(start, end) {
  const first = Math.floor(start / 2) + 1, last = Math.floor((end - 1) / 2) + 1;
  const name = (step) => (step > steps.count ? "end" : String(step));
  return first === last ? name(first) : `${name(first)}–${name(last)}`;
}
