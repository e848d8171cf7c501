
// The picture: the curve of live bytes above, the map below it, and over both, on a canvas of its
// own, what is selected and pointed at. Boxes below `smallest` square pixels go into the raster;
// since buffers do not overlap, no more than MOST_BOXES of them and of their values are above it.

const MOST_BOXES = 4000;
const MOST_NAMES = 350;
const NAME_FONT = "11px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const BOLD_FONT = `600 ${NAME_FONT}`;

const canvas = document.getElementById("map");
const overlay = document.getElementById("overlay");
const context = canvas.getContext("2d");
const above = overlay.getContext("2d");

const drawn = { boxes: 0, small: 0, names: 0, milliseconds: 0 };
const nameWidths = new Float32Array(values.count);

// Gaps and, behind them, values that are no views, in one list: whatever lies in a gap of another
// is born after the gap, so in order of birth it is drawn on top of that.
const gapCount = plan.gaps.bank.length;
const painted = (() => {
  const column = (name) => Float64Array.from([...plan.gaps[name], ...values[name]]);
  const names = ["bank", "offset", "bytes", "start", "end"];
  const columns = Object.fromEntries(names.map((name) => [name, column(name)]));
  // A step reads what it overwrites: the box ends where that begins.
  for (let value = 0; value < values.count; value++) {
    const taken = values.inPlaceOf[value] + gapCount;
    if (taken >= gapCount) columns.end[taken] = Math.min(columns.end[taken], values.start[value]);
  }
  const rows = [...plan.gaps.bank.keys()];
  for (const value of birthOrder) if (values.root[value] < 0) rows.push(value + gapCount);
  const made = new Boxes(rows, columns, []);
  made.colourRow = (row) => (row < gapCount ? -1 : colours.of[row - gapCount]);
  boxes.scratch.colourRow = () => HUES.length;
  return made;
})();

function paintValueOrGap(row, x0, top, x1, low) {
  if (row < gapCount) paintGap(x0, top, x1, low);
  else paintValue(row - gapCount, x0, top, x1, low);
}

function resizeCanvases(stage) {
  const { width, height } = stage.getBoundingClientRect();
  setFrame(width, height, window.devicePixelRatio || 1);
  for (const one of [canvas, overlay]) {
    one.width = Math.max(1, Math.round(width * frame.ratio));
    one.height = Math.max(1, Math.round(height * frame.ratio));
  }
  resizeRaster();
}

// To the nearest pixel of the screen.
function crisp(at) {
  return Math.round(at * frame.ratio) / frame.ratio;
}

function drawMap() {
  const began = performance.now();
  context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
  context.clearRect(0, 0, frame.width, frame.height);
  context.font = NAME_FONT;
  context.textBaseline = "middle";
  drawLanes();
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.mapTop, frame.mapWidth, frame.mapHeight);
  context.clip();
  drawn.boxes = drawn.small = drawn.names = 0;
  clearRaster();
  paintLarge(boxes.buffers, sift(boxes.buffers, false), paintBuffer);
  paintLarge(boxes.scratch, sift(boxes.scratch, true), paintScratch);
  const found = sift(painted, true);
  paintRaster(context);
  paintLarge(painted, found, paintValueOrGap);
  paintLarge(boxes.views, sift(boxes.views, false), paintView);
  drawLaneBounds();
  context.restore();
  if (lanes.length > 1) lanes.forEach(drawLaneName);
  drawTimeAxis();
  drawCurve();
  drawn.milliseconds = performance.now() - began;
}

// Where there are few boxes, each is drawn by itself, however small.
function smallest() {
  if (birthOrder.length <= MOST_BOXES) return 0;
  return Math.max(30, (frame.mapWidth * frame.mapHeight) / MOST_BOXES);
}

// What is thinner than a cell would cost as many cells as it is long: its edges are moved to a grid
// of SAMPLES lines a cell, which is fixed in the plan so that nothing flickers. Most such boxes
// vanish between two lines; those that stay stand for them.
const SAMPLES = 8;

// The boxes that are large enough to be drawn, by their numbers in their list; grows as needed.
let large = new Int32Array(2 * MOST_BOXES);

// Finds the large boxes in sight and returns how many; the small ones go into the raster, if asked.
function sift(kind, intoRaster) {
  const { t0, t1, y0, y1, latest } = kind, least = smallest(), { scale } = raster;
  const kx = frame.mapWidth / (view.t1 - view.t0), ky = frame.mapHeight / (view.y1 - view.y0);
  const time = 2 ** Math.floor(Math.log2(1 / (kx * scale * SAMPLES)));
  const world = 2 ** Math.floor(Math.log2(1 / (ky * scale * SAMPLES)));
  // Those that would vanish are not even looked at.
  const level = least > 0 ? kind.holding(time) : null, to = level === null ? kind.bornFrom(view.t1) : level.length;
  let found = 0;
  for (let n = 0; n < to; n++) {
    if (level === null && n % BLOCK === 0 && latest[n / BLOCK] <= view.t0) { n += BLOCK - 1; continue; }
    const at = level === null ? n : level[n];
    if (t0[at] >= view.t1) break;
    let left = t0[at], right = t1[at], low = y0[at], high = y1[at];
    if (right <= view.t0 || low >= view.y1 || high <= view.y0) continue;
    const width = (Math.min(right, view.t1) - Math.max(left, view.t0)) * kx;
    const height = (Math.min(high, view.y1) - Math.max(low, view.y0)) * ky;
    if (width * height >= least) {
      if (found === large.length) large = grown(large);
      large[found++] = at;
      continue;
    }
    if (!intoRaster) continue;
    if (width * scale < 1) {
      left = Math.ceil(left / time) * time;
      right = Math.ceil(right / time) * time;
      if (left === right) continue;
    } else if (height * scale < 1 && width * scale > 2) {
      low = Math.ceil(low / world) * world;
      high = Math.ceil(high / world) * world;
      if (low === high) continue;
    }
    const row = kind.colourRow(kind.row[at]);
    if (row < 0) continue;
    drawn.small++;
    addToRaster((left - view.t0) * kx * scale, (view.y1 - high) * ky * scale, (right - view.t0) * kx * scale,
      (view.y1 - low) * ky * scale, colours.red[row], colours.green[row], colours.blue[row]);
  }
  return found;
}

function grown(array) {
  const longer = new Int32Array(2 * array.length);
  longer.set(array);
  return longer;
}

// Calls `paint` with each of the large boxes, and where it is on the page.
function paintLarge(kind, found, paint) {
  const kx = frame.mapWidth / (view.t1 - view.t0), ky = frame.mapHeight / (view.y1 - view.y0);
  const right = frame.left + frame.mapWidth + 2, bottom = frame.mapTop + frame.mapHeight;
  drawn.boxes += found;
  for (let n = 0; n < found; n++) {
    const at = large[n];
    paint(kind.row[at], Math.max(frame.left + (kind.t0[at] - view.t0) * kx, frame.left - 2),
      Math.max(bottom - (kind.y1[at] - view.y0) * ky, frame.mapTop - 2),
      Math.min(frame.left + (kind.t1[at] - view.t0) * kx, right),
      Math.min(bottom - (kind.y0[at] - view.y0) * ky, bottom + 2));
  }
}

function paintBuffer(_buffer, x0, top, x1, low) {
  context.fillStyle = theme.buffer;
  const left = crisp(x0), high = crisp(top);
  context.fillRect(left, high, crisp(x1) - left, crisp(low) - high);
}

function paintScratch(buffer, x0, top, x1, low) {
  context.fillStyle = theme.other;
  fillBox(x0, top, x1, low);
  hatch(x0, top, x1, low, theme.card);
  const step = buffers.scratch[buffer];
  context.fillStyle = theme.ink;
  if (x1 - x0 > 70 && low - top > 14) writeIn(`scratch of ${steps.name[step]}`, -1, x0, top, x1, low);
}

function paintValue(value, x0, top, x1, low) {
  const row = colours.of[value];
  context.fillStyle = colours.fills[row];
  fillBox(x0, top, x1, low);
  if (values.inPlaceOf[value] >= 0 && x1 - x0 > 8 && low - top > 6) {
    // It was born in the bytes of another: a notch where it took over.
    context.fillStyle = colours.inks[row];
    context.globalAlpha = 0.55;
    context.beginPath();
    const size = Math.min(4, (low - top) / 2), x = crisp(x0) + 1, y = top + Math.min((low - top) / 2, 9);
    context.moveTo(x, y - size);
    context.lineTo(x + size, y);
    context.lineTo(x, y + size);
    context.fill();
    context.globalAlpha = 1;
  }
  if (x1 - x0 > 13 && low - top > 13) {
    context.fillStyle = colours.inks[row];
    const isFolder = depths[value] === -2 && x1 - x0 > 44 && low - top > 40;
    writeIn(values.name[value], value, x0, top, x1, isFolder ? Math.max(top, frame.mapTop) + STRIP : low);
  }
}

// How many views of the same bytes are older, by view; -1 for a value without views, -2 for one with.
const depths = (() => {
  const seen = new Map(), depths = new Int32Array(values.count).fill(-1);
  for (const value of birthOrder) {
    const root = values.root[value];
    if (root < 0) continue;
    const key = `${root} ${values.offset[value]} ${values.bytes[value]}`;
    depths[value] = seen.get(key) ?? 0;
    seen.set(key, depths[value] + 1);
    depths[root] = -2;
  }
  return depths;
})();

const STRIP = 16;

// How many strips with names are above the view's own.
function stripsAbove(value) {
  const root = values.root[value], end = values.offset[value] + values.bytes[value];
  return depths[value] + (end === values.offset[root] + values.bytes[root] ? 1 : 0);
}

// What a point shows on which a view was found: its root, where that has its name there.
function inStrip(value, y) {
  const { y: top, width, height } = rectOf(values, value), down = stripsAbove(value) * STRIP + 1.5;
  const isRoot = stripsAbove(value) > depths[value] && width > 44 && height > down + 22 && y < top + STRIP;
  return isRoot ? values.root[value] : value;
}

// A view lies in its root, below the strip with the root's name; views of the same bytes lie in each
// other. Where there is no room for that, its outline has to do.
function paintView(value, x0, top, x1, low) {
  if (x1 - x0 < 6 || low - top < 6) return;
  const row = colours.of[value], inner = 2.5 + 2 * depths[value];
  const down = stripsAbove(value) * STRIP + 1.5, hasRoom = x1 - x0 > 44 && low - top > down + 22;
  const x = crisp(x0) + inner, y = crisp(top) + (hasRoom ? down : inner);
  const width = crisp(x1) - x - inner, height = crisp(low) - y - inner;
  if (width < 2 || height < 2) return;
  context.fillStyle = colours.fills[row];
  if (hasRoom) context.fillRect(x, y, width, height);
  context.strokeStyle = hasRoom ? colours.inks[row] : theme.ink;
  context.setLineDash([3, 2]);
  context.lineWidth = 1;
  context.strokeRect(x, y, width, height);
  context.setLineDash([]);
  if (hasRoom) {
    context.fillStyle = colours.inks[row];
    writeIn(values.name[value], value, x, y, x + width, Math.min(y + height, y + STRIP + 1));
  }
}

function paintGap(x0, top, x1, low) {
  context.fillStyle = theme.lane;
  fillBox(x0, top, x1, low);
  hatch(x0, top, x1, low, theme.line);
}

// Boxes that are large enough leave a line to their neighbours; none is too small to be seen.
function fillBox(x0, top, x1, low) {
  const left = crisp(x0), line = 1 / frame.ratio, width = crisp(x1) - left;
  const height = Math.max(crisp(low) - crisp(top), 1), high = crisp(low) - height;
  context.fillRect(left, high, width > 4 ? width - line : Math.max(width, 1), height > 4 ? height - line : height);
}

function hatch(x0, top, x1, low, colour) {
  context.save();
  context.beginPath();
  context.rect(x0, top, x1 - x0, low - top);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  const high = Math.max(top, frame.mapTop), bottom = Math.min(low, frame.mapTop + frame.mapHeight);
  for (let x = x0 - (bottom - high); x < x1; x += 7) {
    context.moveTo(x, bottom);
    context.lineTo(x + bottom - high, high);
  }
  context.stroke();
  context.restore();
}

// Writes a name and, where there is room, op and size into a box; upwards where the box is tall and
// narrow.
function writeIn(name, value, x0, top, x1, low) {
  if (drawn.names >= MOST_NAMES) return;
  const left = Math.max(x0, frame.left), right = Math.min(x1, frame.left + frame.mapWidth);
  const high = Math.max(top, frame.mapTop), bottom = Math.min(low, frame.mapTop + frame.mapHeight);
  const width = right - left, height = bottom - high;
  let needed = value < 0 ? 0 : nameWidths[value];
  if (needed === 0) needed = context.measureText(label(name)).width;
  if (value >= 0) nameWidths[value] = needed;
  const isUpright = needed > width - 12 && height > width;
  const along = (isUpright ? height : width) - 12, across = isUpright ? width : height;
  const text = shortened(label(name), needed, along);
  if (text === "" || across < 13) return;
  drawn.names++;
  const hasTwo = value >= 0 && across >= 32;
  context.textAlign = "left";
  if (isUpright) {
    context.save();
    context.translate((left + right) / 2, bottom - 6);
    context.rotate(-Math.PI / 2);
    writeLines(text, value, hasTwo, 0, 0, along);
    context.restore();
  } else {
    writeLines(text, value, hasTwo, left + 7, (high + bottom) / 2, along);
  }
}

function writeLines(text, value, hasTwo, x, y, room) {
  context.fillText(text, x, hasTwo ? y - 7 : y + 0.5);
  if (!hasTwo) return;
  const more = `${opOf(value)} · ${short(values.bytes[value])}`;
  if (context.measureText(more).width > room) return;
  context.globalAlpha = 0.75;
  context.fillText(more, x, y + 7);
  context.globalAlpha = 1;
}

// What exporters put behind every name says nothing in a box.
function label(name) {
  return name.endsWith("_output_0") ? name.slice(0, -9) : name;
}

// The end of a text that fits, since names that belong together begin alike; nothing if that is
// too little to be of use.
function shortened(text, width, room) {
  if (width <= room) return text;
  let keep = Math.floor((text.length * room) / width) - 1;
  while (keep >= 8) {
    const end = `…${text.slice(-keep).replace(/^[./_:]+/, "")}`;
    if (context.measureText(end).width <= room) return end;
    keep--;
  }
  return "";
}

// Axes.

const MOST_TICKS = 400;

function drawLanes() {
  const { left, mapTop, mapWidth, mapHeight } = frame, bottom = mapTop + mapHeight;
  for (const lane of lanes) {
    const top = Math.max(pageY(lane.hi), mapTop), low = Math.min(pageY(lane.lo), bottom);
    if (low <= mapTop || top >= bottom) continue;
    context.fillStyle = theme.lane;
    context.fillRect(left, top, mapWidth, low - top);
    drawAddresses(lane, top, low);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, crisp(top) + 0.5, mapWidth - 1, crisp(low) - crisp(top) - 1);
  }
}

function drawAddresses(lane, top, low) {
  const perPixel = (view.y1 - view.y0) / frame.mapHeight / (lane.perByte || 1);
  if (lane.bytes === 0) return;
  let each = 1;
  while (each / perPixel < 44) each *= 2;
  const from = Math.max(0, (yWorld(low) - lane.lo) / lane.perByte);
  const to = Math.min(lane.bytes, (yWorld(top) - lane.lo) / lane.perByte);
  context.textAlign = "right";
  for (let address = Math.ceil(from / each - 1e-6) * each, n = 0; address <= to && n < MOST_TICKS; address += each, n++) {
    const y = pageY(worldOf(lane, address));
    context.fillStyle = theme.grid;
    context.fillRect(frame.left, crisp(y), frame.mapWidth, 1 / frame.ratio);
    context.fillStyle = theme.soft;
    // The end of the lane has its own label.
    if (Math.abs(y - pageY(lane.hi)) > 13) context.fillText(short(address), frame.left - 8, y);
  }
  if (lane.hi <= view.y1 + 1e-12) {
    context.fillStyle = theme.ink;
    context.fillText(short(lane.bytes), frame.left - 8, pageY(lane.hi) + 1);
  }
}

function worldOf(lane, address) {
  return lane.lo + address * lane.perByte;
}

// The lower bound of each lane, where that is below its bytes.
function drawLaneBounds() {
  for (const lane of lanes) {
    if (lane.bound > 0 && lane.bound < lane.bytes) {
      context.strokeStyle = theme.bound;
      context.lineWidth = 1.25;
      context.setLineDash([6, 4]);
      context.beginPath();
      const y = crisp(pageY(worldOf(lane, lane.bound))) + 0.5;
      context.moveTo(frame.left, y);
      context.lineTo(frame.left + frame.mapWidth, y);
      context.stroke();
      context.setLineDash([]);
    }
  }
}

// Above the lane, or in it where that is out of sight; away from the word on the peak.
function drawLaneName(lane) {
  const top = pageY(lane.hi), high = Math.max(top, frame.mapTop), right = frame.left + frame.mapWidth;
  if (high > Math.min(pageY(lane.lo), frame.mapTop + frame.mapHeight) - 16) return;
  const of = lane.capacity === null ? "" : ` of ${short(lane.capacity)}`;
  const atLeft = peak !== null && timeX(peak.point) > right - 300;
  tag(context, `${lane.name}: ${short(lane.bytes)}${of}`, atLeft ? frame.left : right,
    top < frame.mapTop - 1 ? high + 13 : high - 11, atLeft ? "left" : "right", theme.ink);
}

// Text on a patch of paper, to be read on anything.
function tag(on, text, x, y, align, colour) {
  on.font = BOLD_FONT;
  on.textBaseline = "middle";
  const width = on.measureText(text).width + 10;
  const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  on.fillStyle = theme.card;
  on.globalAlpha = 0.88;
  on.beginPath();
  on.roundRect(left, y - 9, width, 18, 4);
  on.fill();
  on.globalAlpha = 1;
  on.fillStyle = colour;
  on.textAlign = "left";
  on.fillText(text, left + 5, y + 0.5);
  on.font = NAME_FONT;
}

// A step is two points wide; its number stands below its middle.
function drawTimeAxis() {
  const perStep = (2 * frame.mapWidth) / (view.t1 - view.t0);
  const y = frame.mapTop + frame.mapHeight + 14, named = perStep > 64;
  let each = 1;
  for (let n = 0; each * perStep < 46 && !named; n++) each *= n % 3 === 1 ? 2.5 : 2;
  const right = frame.left + frame.mapWidth;
  context.textAlign = "center";
  const first = Math.max(0, Math.floor(view.t0 / 2)), last = Math.min(steps.count - 1, Math.ceil(view.t1 / 2));
  for (let step = Math.max(Math.floor(first / each) * each - 1, 0); step <= last; step = nextTick(step, each)) {
    const x = timeX(2 * step + 1);
    if (x < frame.left || x > right) continue;
    context.fillStyle = theme.line;
    context.fillRect(crisp(x), y - 13, 1 / frame.ratio, 4);
    context.fillStyle = theme.soft;
    const text = grouped3(step + 1), half = 3.5 * text.length;
    context.fillText(text, Math.min(x, frame.width - half - 2), y);
    if (named) {
      const name = steps.name[step], room = perStep - 8;
      const shown = shortened(name, context.measureText(name).width, room);
      context.fillText(shown, x, y + 14);
    }
  }
  if (!named) {
    context.textAlign = "right";
    context.fillText("step", right, y + 15);
  }
}

// Steps that are multiples of `each`, counted from 1, and the first.
function nextTick(step, each) {
  return (Math.floor((step + 1) / each) + 1) * each - 1;
}

// The curve.

const curveTopBytes = Math.max(plan.arena_bytes, plan.bound_bytes, peak ? peak.bytes : 0) * 1.04 || 1;

function curveY(bytes) {
  return frame.curveTop + frame.curveHeight * (1 - bytes / curveTopBytes);
}

function drawCurve() {
  const { left, mapWidth, curveTop, curveHeight } = frame, bottom = curveTop + curveHeight;
  context.fillStyle = theme.lane;
  context.fillRect(left, curveTop, mapWidth, curveHeight);
  context.save();
  context.beginPath();
  context.rect(left, curveTop - 4, mapWidth, curveHeight + 4);
  context.clip();
  traceCurve(bottom);
  context.restore();
  context.fillStyle = theme.soft;
  context.textAlign = "right";
  context.fillText("live bytes", left - 8, bottom - 7);
  drawLevels();
}

// The highest of every block of sections.
const curveBlocks = new Float64Array(Math.ceil(curve.bytes.length / BLOCK));
curve.bytes.forEach((bytes, k) => {
  const block = (k / BLOCK) | 0;
  curveBlocks[block] = Math.max(curveBlocks[block], bytes);
});

// The highest of each column of pixels, so that no peak is lost.
function traceCurve(bottom) {
  const { times, bytes } = curve, count = bytes.length;
  if (count === 0) return;
  const kx = frame.mapWidth / (view.t1 - view.t0);
  // A line with a corner in every pixel is no line.
  const isDense = (count / endOfTime) > 2 * kx;
  let lo = 0, hi = count;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (times[middle + 1] <= view.t0) lo = middle + 1; else hi = middle;
  }
  context.beginPath();
  let x = frame.left;
  for (let k = lo; k < count && times[k] < view.t1; k++) {
    const from = Math.max(frame.left, frame.left + (times[k] - view.t0) * kx);
    let end = frame.left + (times[k + 1] - view.t0) * kx, most = bytes[k];
    // Sections that end within the same pixel are one; whole blocks of them are known.
    while (k + 1 < count && end - from < 1) {
      const block = (k + 1) / BLOCK, behind = frame.left + (times[k + 1 + BLOCK] - view.t0) * kx;
      if (Number.isInteger(block) && behind - from < 1) {
        if (curveBlocks[block] > most) most = curveBlocks[block];
        k += BLOCK;
        end = behind;
        continue;
      }
      k++;
      if (bytes[k] > most) most = bytes[k];
      end = frame.left + (times[k + 1] - view.t0) * kx;
    }
    const y = curveY(most);
    if (k === lo || x === frame.left) context.lineTo(from, bottom);
    context.lineTo(from, y);
    context.lineTo(end, y);
    x = end;
  }
  context.lineTo(x, bottom);
  context.fillStyle = isDense ? theme.curve : theme.fill;
  context.globalAlpha = isDense ? 0.6 : 1;
  context.fill();
  context.globalAlpha = 1;
  if (isDense) return;
  context.strokeStyle = theme.curve;
  context.lineWidth = 1.5;
  context.stroke();
}

function drawLevels() {
  const right = frame.left + frame.mapWidth;
  const arena = plan.arena_bytes, bound = plan.bound_bytes;
  context.lineWidth = 1.5;
  context.strokeStyle = theme.ink;
  level(curveY(arena));
  context.strokeStyle = theme.bound;
  context.setLineDash([6, 4]);
  level(curveY(bound));
  context.setLineDash([]);
  // Above the curve, where nothing is in the way.
  context.font = BOLD_FONT;
  context.textAlign = "right";
  context.fillStyle = theme.bound;
  const told = `lower bound ${short(bound)}`;
  context.fillText(told, right, 14);
  const width = context.measureText(told).width;
  context.fillStyle = theme.ink;
  context.fillText(arena === bound ? `arena ${short(arena)}  =` : `arena ${short(arena)}  ·`, right - width - 8, 14);
  context.font = NAME_FONT;
  if (peak === null) return;
  const x = timeX(peak.point + 0.5);
  if (x < frame.left || x > right) return;
  context.strokeStyle = theme.bound;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(crisp(x) + 0.5, frame.curveTop);
  context.lineTo(crisp(x) + 0.5, frame.mapTop + frame.mapHeight);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = theme.bound;
  context.beginPath();
  context.arc(x, curveY(peak.bytes), 4, 0, 2 * Math.PI);
  context.fill();
  const load = peak.bytes === bound ? "" : ` ${short(peak.bytes)}`;
  const text = `peak${load}: step ${Math.min(peak.step + 1, steps.count)}`;
  context.font = BOLD_FONT;
  const half = context.measureText(text).width / 2 + 5;
  tag(context, text, Math.min(Math.max(x, frame.left + half), right - half), frame.mapTop - 13, "center", theme.bound);
}

function level(y) {
  context.beginPath();
  context.moveTo(frame.left, crisp(y) + 0.5);
  context.lineTo(frame.left + frame.mapWidth, crisp(y) + 0.5);
  context.stroke();
}

// What is selected and pointed at.

function drawOverlay(selection, pointed) {
  above.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
  above.clearRect(0, 0, frame.width, frame.height);
  markHits();
  if (selection.step >= 0) markStep(selection.step);
  above.save();
  above.beginPath();
  above.rect(frame.left - 3, frame.mapTop - 3, frame.mapWidth + 6, frame.mapHeight + 6);
  above.clip();
  if (selection.value >= 0 && birthRank[selection.value] >= 0) {
    const buffer = values.buffer[selection.value];
    if (buffer >= 0) outline(buffers, buffer, theme.ink, 1, [2, 2]);
    for (const value of before.of(selection.value)) outline(values, value, theme.accent, 1.5, [5, 3]);
    for (const value of after.of(selection.value)) outline(values, value, theme.accent, 1.5, [5, 3]);
    outline(values, selection.value, theme.accent, 2.5, []);
    pin(selection.value);
  }
  if (pointed?.value >= 0) outline(values, pointed.value, theme.ink, 1.5, []);
  if (pointed?.scratch >= 0) outline(buffers, pointed.scratch, theme.ink, 1.5, []);
  above.restore();
}

// The values in the map that the search has found. So many are marked, the best first.
const hits = [];
const MOST_HITS = 3000;

// Paper lies over all that was not found; what was has an outline, and is never too small to be seen.
function markHits() {
  if (hits.length === 0) return;
  above.save();
  above.beginPath();
  above.rect(frame.left, frame.mapTop, frame.mapWidth, frame.mapHeight);
  above.clip();
  above.globalAlpha = 0.72;
  above.fillStyle = theme.card;
  above.fillRect(frame.left, frame.mapTop, frame.mapWidth, frame.mapHeight);
  above.globalAlpha = 1;
  const marked = hits.slice(0, MOST_HITS).map((value) => ({ value, ...rectOf(values, value) }));
  for (const { x, y, width, height } of marked) above.clearRect(x, y, Math.max(width, 2), Math.max(height, 2));
  for (const { value } of marked) outline(values, value, theme.bound, 2, []);
  above.restore();
}

function markStep(step) {
  const x0 = Math.max(timeX(2 * step), frame.left);
  const x1 = Math.min(timeX(2 * step + 2), frame.left + frame.mapWidth);
  if (x1 <= frame.left || x0 >= frame.left + frame.mapWidth) return;
  above.fillStyle = theme.step;
  above.fillRect(x0, frame.curveTop, x1 - x0, frame.mapTop + frame.mapHeight - frame.curveTop);
  above.fillStyle = theme.accent;
  above.fillRect(crisp(x0), frame.curveTop, Math.max(crisp(x1) - crisp(x0), 1), 2);
  above.fillRect(crisp(x0), frame.mapTop + frame.mapHeight - 1, Math.max(crisp(x1) - crisp(x0), 1), 2);
}

// Where a value or a buffer is on the page.
function rectOf(rows, row) {
  const bank = rows.bank[row], x = timeX(rows.start[row]);
  const y = pageY(worldY(bank, rows.offset[row] + rows.bytes[row]));
  return { x, y, width: timeX(rows.end[row]) - x, height: pageY(worldY(bank, rows.offset[row])) - y };
}

function outline(rows, row, colour, line, dashes) {
  const { x, y, width, height } = rectOf(rows, row);
  above.strokeStyle = colour;
  above.lineWidth = line;
  above.setLineDash(dashes);
  above.strokeRect(x, y, Math.max(width, 1), Math.max(height, 1));
  above.setLineDash([]);
}

// A ring around a selected box that is too small to be seen.
function pin(value) {
  const { x, y, width, height } = rectOf(values, value);
  if (width > 14 || height > 14) return;
  above.strokeStyle = theme.accent;
  above.lineWidth = 2;
  above.beginPath();
  above.arc(x + width / 2, y + height / 2, 11, 0, 2 * Math.PI);
  above.stroke();
}
