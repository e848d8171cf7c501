
// What is in sight: the window on time and on the lanes, and the way from there to pixels.
// A bank is a lane, lanes lie one above another in a world that is 1 high; each has its own scale.

const LANE_GAP = 0.05;
const LEAST_LANE = 0.16;

// Where each bank lies in the world. In proportion to their bytes, but none too low to be seen.
const lanes = (() => {
  const banks = plan.banks, count = banks.length;
  const gap = count > 1 ? Math.min(LANE_GAP, 0.3 / count) : 0;
  const room = 1 - gap * (count - 1), least = Math.min(LEAST_LANE, 0.6 / Math.max(count, 1));
  const total = banks.reduce((sum, bank) => sum + bank.bytes, 0);
  const shares = banks.map((bank) => (count > 1 ? least : 0)
    + (1 - (count > 1 ? least * count : 0)) * (total > 0 ? bank.bytes / total : 1 / count));
  const sum = shares.reduce((a, b) => a + b, 0) || 1;
  let top = 1;
  return banks.map((bank, at) => {
    const height = (shares[at] / sum) * room, hi = top, lo = top - height;
    top = lo - gap;
    return { name: bank.name, bytes: bank.bytes, capacity: bank.capacity, bound: bank.bound, lo, hi,
      perByte: bank.bytes > 0 ? height / bank.bytes : 0 };
  });
})();

function worldY(bank, address) {
  return lanes[bank].lo + address * lanes[bank].perByte;
}

// The window, and where it is on the page in pixels of CSS.
const view = { t0: 0, t1: endOfTime, y0: 0, y1: 1 };
const frame = { width: 0, height: 0, ratio: 1, left: 74, right: 16, mapTop: 0, mapHeight: 0,
  mapWidth: 0, curveTop: 30, curveHeight: 0 };

const LEAST_POINTS = 6;

function leastWorld() {
  // So far in that 16 bytes fill the window.
  let most = 0;
  for (const lane of lanes) most = Math.max(most, lane.perByte);
  return Math.min(1, 16 * most || 1);
}

const timeX = (t) => frame.left + ((t - view.t0) / (view.t1 - view.t0)) * frame.mapWidth;
const pageY = (w) => frame.mapTop + (1 - (w - view.y0) / (view.y1 - view.y0)) * frame.mapHeight;
const xTime = (x) => view.t0 + ((x - frame.left) / frame.mapWidth) * (view.t1 - view.t0);
const yWorld = (y) => view.y0 + (1 - (y - frame.mapTop) / frame.mapHeight) * (view.y1 - view.y0);

function setFrame(width, height, ratio) {
  frame.width = width;
  frame.height = height;
  frame.ratio = ratio;
  frame.mapWidth = Math.max(50, width - frame.left - frame.right);
  frame.curveHeight = Math.max(50, Math.min(150, height * 0.19));
  frame.mapTop = frame.curveTop + frame.curveHeight + 26;
  frame.mapHeight = Math.max(50, height - frame.mapTop - 44);
}

// Moves the window to these limits, as far as there is something to see.
function look(t0, t1, y0, y1) {
  const time = Math.min(Math.max(t1 - t0, Math.min(LEAST_POINTS, endOfTime)), endOfTime);
  const world = Math.min(Math.max(y1 - y0, leastWorld()), 1);
  const middle = (t0 + t1) / 2, centre = (y0 + y1) / 2;
  view.t0 = Math.min(Math.max(middle - time / 2, 0), endOfTime - time);
  view.t1 = view.t0 + time;
  view.y0 = Math.min(Math.max(centre - world / 2, 0), 1 - world);
  view.y1 = view.y0 + world;
}

// Zooms about a point of the page, which stays where it is.
function zoomAt(x, y, timeFactor, worldFactor) {
  const time = Math.min(Math.max((view.t1 - view.t0) * timeFactor, Math.min(LEAST_POINTS, endOfTime)), endOfTime);
  const world = Math.min(Math.max((view.y1 - view.y0) * worldFactor, leastWorld()), 1);
  const t = xTime(x), w = yWorld(y);
  const t0 = t - ((t - view.t0) / (view.t1 - view.t0)) * time;
  const y0 = w - ((w - view.y0) / (view.y1 - view.y0)) * world;
  look(t0, t0 + time, y0, y0 + world);
}

function panBy(dx, dy) {
  const t = (dx / frame.mapWidth) * (view.t1 - view.t0), w = (dy / frame.mapHeight) * (view.y1 - view.y0);
  look(view.t0 + t, view.t1 + t, view.y0 - w, view.y1 - w);
}

function showAll() {
  look(0, endOfTime, 0, 1);
}

// Boxes of one kind, sorted by birth, in time and world. Blocks of them know their latest death, so
// that what is over before the window is passed by in one comparison.
const BLOCK = 256;

class Boxes {
  constructor(rows, { bank, offset, bytes, start, end }, buffer) {
    this.buffer = buffer;
    const order = Int32Array.from(rows).sort((a, b) => start[a] - start[b] || a - b);
    this.count = order.length;
    this.row = order;
    this.t0 = Float64Array.from(order, (row) => start[row]);
    this.t1 = Float64Array.from(order, (row) => end[row]);
    this.y0 = Float64Array.from(order, (row) => worldY(bank[row], offset[row]));
    this.y1 = Float64Array.from(order, (row) => worldY(bank[row], offset[row] + bytes[row]));
    this.latest = new Float64Array(Math.ceil(this.count / BLOCK));
    for (let at = 0; at < this.count; at++) {
      const block = (at / BLOCK) | 0;
      this.latest[block] = Math.max(this.latest[block], this.t1[at]);
    }
  }

  // The first box that is born at `t` or later.
  bornFrom(t) {
    let lo = 0, hi = this.count;
    while (lo < hi) {
      const middle = (lo + hi) >> 1;
      if (this.t0[middle] < t) lo = middle + 1; else hi = middle;
    }
    return lo;
  }

  // The boxes that hold a multiple of `step`, by their numbers; null for all of them. Worked out once
  // for every step, which is a power of two.
  holding(step) {
    if (step <= 1) return null;
    this.levels ??= new Map();
    let level = this.levels.get(step);
    if (level === undefined) {
      level = Int32Array.from(this.t0.keys()).filter(
        (at) => Math.ceil(this.t0[at] / step) !== Math.ceil(this.t1[at] / step));
      this.levels.set(step, level);
    }
    return level;
  }

  // The smallest box there that is in none of these buffers, of equal ones the one that is born last;
  // -1 if there is none.
  find(t, w, without) {
    let best = -1, least = Infinity;
    for (let at = 0, to = this.bornFrom(t + 1e-9); at < to; at++) {
      if (at % BLOCK === 0 && this.latest[at / BLOCK] <= t) { at += BLOCK - 1; continue; }
      if (this.t1[at] <= t || this.y0[at] > w || this.y1[at] <= w) continue;
      if (without.length > 0 && without.includes(this.buffer[this.row[at]])) continue;
      const area = (this.t1[at] - this.t0[at]) * (this.y1[at] - this.y0[at]);
      if (area <= least) { least = area; best = at; }
    }
    return best < 0 ? -1 : this.row[best];
  }
}

// Whether a buffer is one value and nothing else, so that drawing the value is enough.
function isOneValue(buffer) {
  const value = members.of(buffer)[0];
  return values.offset[value] === buffers.offset[buffer] && values.bytes[value] === buffers.bytes[buffer]
    && values.start[value] === buffers.start[buffer] && values.end[value] === buffers.end[buffer];
}

const boxes = (() => {
  const own = [], views = [], scratch = [], shared = [];
  for (const value of birthOrder) (values.root[value] < 0 ? own : views).push(value);
  for (let buffer = 0; buffer < buffers.count; buffer++) {
    if (buffers.scratch[buffer] >= 0) scratch.push(buffer);
    else if (!isOneValue(buffer)) shared.push(buffer);
  }
  const itself = Int32Array.from(buffers.bank.keys());
  return {
    buffers: new Boxes(shared, buffers, itself),
    scratch: new Boxes(scratch, buffers, itself),
    values: new Boxes(own, values, values.buffer),
    views: new Boxes(views, values, values.buffer),
    gaps: new Boxes(plan.gaps.bank.keys(), plan.gaps, plan.gaps.buffer),
  };
})();

// What lies under a point of the page: `{ value }`, `{ scratch }` (a buffer) or nothing.
function under(x, y) {
  if (x < frame.left || x > frame.left + frame.mapWidth) return null;
  if (y < frame.mapTop || y > frame.mapTop + frame.mapHeight) return null;
  const t = xTime(x), w = yWorld(y), gone = [];
  // Buffers that do not use these bytes now: others may.
  for (let gap; (gap = boxes.gaps.find(t, w, gone)) >= 0;) gone.push(plan.gaps.buffer[gap]);
  const part = boxes.views.find(t, w, gone);
  if (part >= 0) return { value: inStrip(part, y) };
  const value = boxes.values.find(t, w, gone);
  if (value >= 0) return { value };
  const scratch = boxes.scratch.find(t, w, gone);
  if (scratch >= 0) return { scratch };
  const buffer = boxes.buffers.find(t, w, gone);
  return buffer < 0 ? null : { value: members.of(buffer)[0] };
}
