
// The selection, the address of the page, mouse and keys; and the start of it all.

const stage = part("stage");
const selection = { value: -1, step: -1 };
let pointed = null;
let isMapStale = true, isOverlayStale = true, isScheduled = false;

function redraw(all) {
  isMapStale ||= all;
  isOverlayStale = true;
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(drawStale);
}

function drawStale() {
  isScheduled = false;
  if (isMapStale) addressSoon();
  if (isMapStale) drawMap();
  if (isOverlayStale) drawOverlay(selection, pointed);
  isMapStale = isOverlayStale = false;
}

// The selection.

function selectValue(value, reveals) {
  selection.value = value;
  if (reveals) reveal(value);
  showValue(value);
  markRow();
  const bytes = short(values.bytes[value]);
  say(`${values.name[value]}, ${opOf(value)}, ${bytes}, ${placeOf(value)}`);
  changed();
}

function selectStep(step, reveals) {
  selection.step = Math.min(Math.max(step, 0), steps.count);
  selection.value = -1;
  if (reveals) revealTime(2 * selection.step, 2 * selection.step + 2);
  showStep(selection.step);
  writeTable();
  say(`step ${selection.step + 1}, ${stepTitle(selection.step)}: ${short(liveBytesAt(selection.step))} alive`);
  changed();
}

function selectNothing() {
  selection.value = selection.step = -1;
  showNothing();
  writeTable();
  say("nothing selected");
  changed();
}

function changed() {
  writeAddress();
  redraw(false);
}

function writeAddress() {
  const wanted = fragment();
  // Inside of another page, as in a notebook, there is no address to write.
  if (location.protocol === "about:") return;
  if (location.hash !== wanted) history.replaceState(null, "", wanted || location.pathname + location.search);
}

// While the window moves, the address waits: browsers take only so many a second.
const PAUSE = 200;
let isStarted = false, pause = 0;

function addressSoon() {
  if (!isStarted) return;
  clearTimeout(pause);
  pause = setTimeout(writeAddress, PAUSE);
}

// Moves the window, without zooming, to where the value is.
function reveal(value) {
  if (birthRank[value] < 0) return;
  revealTime(values.start[value], values.end[value]);
  const low = worldY(values.bank[value], values.offset[value]);
  const high = worldY(values.bank[value], values.offset[value] + values.bytes[value]);
  if (high <= view.y0 || low >= view.y1) {
    const half = (view.y1 - view.y0) / 2, middle = (low + high) / 2;
    look(view.t0, view.t1, middle - half, middle + half);
    redraw(true);
  }
}

function revealTime(from, to) {
  if (to > view.t0 && from < view.t1) return;
  const half = (view.t1 - view.t0) / 2, middle = (from + to) / 2;
  look(middle - half, middle + half, view.y0, view.y1);
  redraw(true);
}

function zoomToSelection() {
  const value = selection.value;
  if (value >= 0 && birthRank[value] >= 0) {
    const low = worldY(values.bank[value], values.offset[value]);
    const high = worldY(values.bank[value], values.offset[value] + values.bytes[value]);
    const time = values.end[value] - values.start[value], world = high - low;
    look(values.start[value] - time, values.end[value] + time, low - world, high + world);
  } else if (selection.step >= 0) {
    look(2 * selection.step - 10, 2 * selection.step + 12, view.y0, view.y1);
  }
  redraw(true);
}

// The address: `#value=NAME`, `#step=NUMBER` counted from 1, and beside them `colour=…` by the name in
// the list, `find=…` and, unless all is in sight, the window as `view=FROM,TO,LOW,HIGH`. A name that several
// values have is told by the number of the value.

function fragment() {
  const parts = [], { value, step } = selection;
  if (step >= 0) parts.push(`step=${step + 1}`);
  if (value >= 0 && byName.get(values.name[value]) === value) parts.push(`value=${encode(values.name[value])}`);
  else if (value >= 0) parts.push(`value-number=${value}`);
  if (colours.mode !== "op") parts.push(`colour=${colours.mode}`);
  if (part("search").value !== "") parts.push(`find=${encode(part("search").value)}`);
  const seen = [view.t0, view.t1, view.y0, view.y1].map((at) => Number(at.toPrecision(7)));
  if (!isAllInSight()) parts.push(`view=${seen.join(",")}`);
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

// Names may hold halves of characters, which an address cannot.
function encode(name) {
  return encodeURIComponent(name.toWellFormed ? name.toWellFormed() : name);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readFragment() {
  const told = new Map();
  for (const pair of location.hash.slice(1).split("&")) {
    const at = pair.indexOf("=");
    if (at > 0) told.set(pair.slice(0, at), decode(pair.slice(at + 1)));
  }
  // What is called storage was called class.
  const mode = told.get("colour") === "class" ? "storage" : told.get("colour");
  if (MODES.includes(mode)) chooseColours(mode);
  if (told.has("find") && told.get("find") !== part("search").value) {
    part("search").value = told.get("find");
    writeTable();
  }
  const step = Number(told.get("step") ?? NaN), number = Number(told.get("value-number") ?? NaN);
  const value = byName.get(told.get("value")) ?? (number in values.name ? number : -1);
  const hasStep = Number.isInteger(step) && step >= 1 && step <= steps.count + 1;
  if (hasStep && step - 1 !== selection.step) selectStep(step - 1, true);
  if (value >= 0 && value !== selection.value) selectValue(value, true);
  const seen = (told.get("view") ?? "").split(",").map(Number);
  if (seen.length === 4 && seen.every(Number.isFinite) && seen[0] < seen[1] && seen[2] < seen[3]) {
    look(...seen);
    redraw(true);
  }
}

function isAllInSight() {
  return view.t0 <= 0 && view.t1 >= endOfTime && view.y0 <= 0 && view.y1 >= 1;
}

const MODES = ["op", "size", "storage", "layer"];

function chooseColours(mode) {
  part("colour").value = mode;
  setColours(mode);
  writeLegend();
  redraw(true);
}

// The mouse.

const drag = { isDown: false, hasMoved: false, x: 0, y: 0 };

function place(event) {
  const { left, top } = stage.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

// The step below a point of the curve or of the axis of time; -1 elsewhere.
function stepUnder(x, y) {
  const isOut = y >= frame.mapTop - 4 && y <= frame.mapTop + frame.mapHeight;
  if (isOut || x < frame.left || x > frame.left + frame.mapWidth) return -1;
  return Math.min(Math.max(Math.floor(xTime(x) / 2), 0), steps.count);
}

function pointAt(x, y) {
  const step = stepUnder(x, y);
  return step >= 0 ? { step } : under(x, y);
}

stage.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  Object.assign(drag, { isDown: true, hasMoved: false }, place(event));
  stage.setPointerCapture(event.pointerId);
});

stage.addEventListener("pointermove", (event) => {
  const { x, y } = place(event);
  if (drag.isDown) {
    const dx = drag.x - x, dy = drag.y - y;
    if (!drag.hasMoved && Math.hypot(dx, dy) < 4) return;
    drag.hasMoved = true;
    stage.classList.add("dragging");
    panBy(dx, dy);
    Object.assign(drag, { x, y });
    pointed = null;
    showTip(null);
    redraw(true);
    return;
  }
  pointed = pointAt(x, y);
  showTip(pointed, x, y);
  redraw(false);
});

stage.addEventListener("pointerup", (event) => {
  if (!drag.isDown) return;
  drag.isDown = false;
  stage.classList.remove("dragging");
  if (drag.hasMoved) return;
  const { x, y } = place(event), found = pointAt(x, y);
  if (found?.value >= 0) selectValue(found.value, false);
  else if (found?.scratch >= 0) selectStep(buffers.scratch[found.scratch], false);
  else if (found?.step >= 0) selectStep(found.step, false);
  else selectNothing();
});

stage.addEventListener("pointercancel", () => {
  drag.isDown = false;
  stage.classList.remove("dragging");
});

// The tip belongs to what is below the mouse: it goes with the mouse, and where that may have changed.
function forgetPointed() {
  if (pointed === null) return;
  pointed = null;
  showTip(null);
  redraw(false);
}

stage.addEventListener("pointerleave", forgetPointed);
document.addEventListener("pointerleave", forgetPointed);
document.addEventListener("visibilitychange", forgetPointed);
window.addEventListener("blur", forgetPointed);
window.addEventListener("scroll", forgetPointed, true);

stage.addEventListener("dblclick", zoomToSelection);

stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { x, y } = place(event), lines = event.deltaMode === 1 ? 24 : 1;
  // With Shift some browsers turn the wheel sideways.
  const turned = event.shiftKey && event.deltaY === 0 ? event.deltaX : event.deltaY;
  const factor = Math.exp(Math.min(Math.max(turned * lines * 0.0022, -0.7), 0.7));
  zoomAt(x, y, event.altKey ? 1 : factor, event.shiftKey ? 1 : factor);
  if (!event.shiftKey && event.deltaX !== 0) panBy(event.deltaX * lines, 0);
  pointed = null;
  showTip(null);
  redraw(true);
}, { passive: false });

// The keys.

const STRIDE = 80;

function zoomBy(timeFactor, worldFactor) {
  zoomAt(frame.left + frame.mapWidth / 2, frame.mapTop + frame.mapHeight / 2, timeFactor, worldFactor);
  redraw(true);
}

function pan(dx, dy) {
  panBy(dx, dy);
  redraw(true);
}

function nextValue(by) {
  if (birthOrder.length === 0) return;
  const rank = selection.value < 0 ? -1 : birthRank[selection.value];
  const start = rank >= 0 ? rank + by : by > 0 ? firstInSight() : birthOrder.length - 1;
  selectValue(birthOrder[Math.min(Math.max(start, 0), birthOrder.length - 1)], true);
}

function firstInSight() {
  for (let rank = 0; rank < birthOrder.length; rank++) {
    if (values.end[birthOrder[rank]] > view.t0) return rank;
  }
  return 0;
}

function nextStep(by) {
  const from = selection.step >= 0 ? selection.step + by : peak ? peak.step : 0;
  selectStep(from, true);
}

function nextColours() {
  chooseColours(MODES[(MODES.indexOf(colours.mode) + 1) % MODES.length]);
  changed();
}

function toPeak() {
  if (peak !== null) selectStep(peak.step, true);
}

function fit() {
  showAll();
  redraw(true);
}

function focusSearch() {
  part("search").focus();
  part("search").select();
}

const KEYS = new Map(Object.entries({
  ArrowLeft: () => pan(-STRIDE, 0),
  ArrowRight: () => pan(STRIDE, 0),
  ArrowUp: () => pan(0, -STRIDE),
  ArrowDown: () => pan(0, STRIDE),
  "+": () => zoomBy(1 / 1.4, 1 / 1.4),
  "=": () => zoomBy(1 / 1.4, 1 / 1.4),
  "-": () => zoomBy(1.4, 1.4),
  "−": () => zoomBy(1.4, 1.4),
  x: () => zoomBy(1 / 1.4, 1),
  X: () => zoomBy(1.4, 1),
  y: () => zoomBy(1, 1 / 1.4),
  Y: () => zoomBy(1, 1.4),
  j: () => nextValue(1),
  k: () => nextValue(-1),
  "]": () => nextStep(1),
  "[": () => nextStep(-1),
  m: toPeak,
  c: nextColours,
  0: fit,
  Home: fit,
  Enter: zoomToSelection,
  "/": focusSearch,
  "?": () => part("help").showModal(),
  Escape: selectNothing,
}));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || part("help").open) return;
  const at = event.target;
  // Fields and buttons have keys of their own.
  if (at instanceof HTMLInputElement || at instanceof HTMLSelectElement) return;
  if (at instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " ")) return;
  const act = KEYS.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  forgetPointed();
  act();
});

part("search").addEventListener("input", () => {
  forgetPointed();
  writeTable();
  changed();
});
part("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && table.list.length > 0 && part("search").value !== "") {
    selectValue(table.list[0], true);
  } else if (event.key === "Escape") {
    part("search").value = "";
    writeTable();
    changed();
    stage.focus();
  }
});
part("table-of").addEventListener("change", writeTable);
part("more").addEventListener("click", addRows);
part("colour").addEventListener("change", () => {
  chooseColours(part("colour").value);
  changed();
});
part("to-peak").addEventListener("click", toPeak);
part("zoom-in").addEventListener("click", () => zoomBy(1 / 1.4, 1 / 1.4));
part("zoom-out").addEventListener("click", () => zoomBy(1.4, 1.4));
part("fit").addEventListener("click", fit);
part("help-button").addEventListener("click", () => part("help").showModal());
window.addEventListener("hashchange", readFragment);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chooseColours(colours.mode));
new ResizeObserver(() => {
  forgetPointed();
  resizeCanvases(stage);
  redraw(true);
}).observe(stage);

// The start.

writeFacts();
resizeCanvases(stage);
chooseColours("op");
part("empty").hidden = birthOrder.length > 0 || boxes.scratch.count > 0;
showNothing();
writeTable();
readFragment();
drawStale();
isStarted = true;

// For scripts and tests: what is shown, and where it is on the page.
window.plimsollMap = {
  counts: { values: values.count, placed: birthOrder.length, buffers: buffers.count, steps: steps.count,
    views: boxes.views.count, scratch: boxes.scratch.count, banks: lanes.length },
  selection, view, drawn, table, hits, fragment, drawMap, look, fit, zoomAt, panBy, redraw,
  number: (name) => byName.get(name) ?? -1,
  aliveAt: (step) => aliveAt(step).map((value) => values.name[value]),
  lanes: lanes.map((lane) => ({ name: lane.name, lo: lane.lo, hi: lane.hi })),
  // The middle of a value's box, from the corner of the window.
  middleOf(name) {
    const { x, y, width, height } = rectOf(values, byName.get(name));
    const { left, top } = stage.getBoundingClientRect();
    return { x: left + x + width / 2, y: top + y + height / 2 };
  },
  middleOfStep(step) {
    const { left, top } = stage.getBoundingClientRect();
    return { x: left + timeX(2 * step + 1), y: top + frame.curveTop + frame.curveHeight / 2 };
  },
};
