
// Boxes that are too small to be drawn one by one. Each adds to the cells of a grid as much colour
// as it covers of them, so that a thousand boxes in one pixel are the mean of their colours and
// nothing flickers when the window moves. The cost is the boxes plus the cells that they cover,
// which do not overlap: never more than the boxes plus the cells of the map.

const MOST_CELLS = 300_000;

const raster = {
  canvas: document.createElement("canvas"),
  columns: 0,
  rows: 0,
  scale: 1,
  // Red, green, blue and coverage of each cell.
  sums: new Float32Array(0),
  // The rows that hold something.
  first: 0,
  last: -1,
};

function resizeRaster() {
  const { mapWidth, mapHeight } = frame;
  raster.scale = Math.min(1, Math.sqrt(MOST_CELLS / (mapWidth * mapHeight)));
  const columns = Math.max(1, Math.ceil(mapWidth * raster.scale));
  const rows = Math.max(1, Math.ceil(mapHeight * raster.scale));
  if (columns === raster.columns && rows === raster.rows) return;
  Object.assign(raster, { columns, rows, first: rows, last: -1 });
  raster.sums = new Float32Array(4 * columns * rows);
  raster.canvas.width = columns;
  raster.canvas.height = rows;
  raster.context = raster.canvas.getContext("2d", { willReadFrequently: true });
  raster.image = raster.context.createImageData(columns, rows);
  // Red is the lowest byte, on every machine that browsers run on.
  raster.pixels = new Uint32Array(raster.image.data.buffer);
}

function clearRaster() {
  const { columns, first, last } = raster;
  if (last >= first) raster.sums.fill(0, 4 * columns * first, 4 * columns * (last + 1));
  raster.first = raster.rows;
  raster.last = -1;
}

// Adds a box, in cells, of a colour of 0 to 255.
function addToRaster(x0, y0, x1, y1, red, green, blue) {
  const { columns, rows, sums } = raster;
  if (x0 < 0) x0 = 0;
  if (y0 < 0) y0 = 0;
  if (x1 > columns) x1 = columns;
  if (y1 > rows) y1 = rows;
  const left = x0 | 0, top = y0 | 0;
  if (x1 <= x0 || y1 <= y0) return;
  if (top < raster.first) raster.first = top;
  for (let y = top; y < y1; y++) {
    const height = (y1 < y + 1 ? y1 : y + 1) - (y0 > y ? y0 : y);
    for (let x = left, at = 4 * (y * columns + left); x < x1; x++, at += 4) {
      const part = ((x1 < x + 1 ? x1 : x + 1) - (x0 > x ? x0 : x)) * height;
      sums[at] += part * red;
      sums[at + 1] += part * green;
      sums[at + 2] += part * blue;
      sums[at + 3] += part;
    }
    if (y > raster.last) raster.last = y;
  }
}

// Turns the sums into a picture, and puts that where the map is.
function paintRaster(context) {
  const { columns, first, last, sums } = raster;
  if (last < first) return;
  const { pixels } = raster;
  for (let cell = columns * first, at = 4 * cell, to = columns * (last + 1); cell < to; cell++, at += 4) {
    const cover = sums[at + 3];
    if (cover === 0) { pixels[cell] = 0; continue; }
    const each = 1 / cover, alpha = cover > 1 ? 255 : cover * 255;
    pixels[cell] = (alpha << 24) | ((sums[at + 2] * each) << 16) | ((sums[at + 1] * each) << 8) | (sums[at] * each);
  }
  raster.context.putImageData(raster.image, 0, 0, 0, first, columns, last + 1 - first);
  const { left, mapTop } = frame, height = last + 1 - first;
  context.imageSmoothingEnabled = raster.scale < 1;
  context.drawImage(raster.canvas, 0, first, columns, height,
    left, mapTop + first / raster.scale, columns / raster.scale, height / raster.scale);
}
