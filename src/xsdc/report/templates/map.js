// The map: points on a canvas. This file knows their places, colours and pictures; map_controls.js listens.
const data = JSON.parse(document.getElementById("map-data").textContent);
const canvas = document.getElementById("map-canvas");
const tip = document.getElementById("tip");
const key = document.getElementById("key");
const context = canvas.getContext("2d");
const n = data.ids.length;
const all = (selector) => [...document.querySelectorAll(selector)];
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

const view = { zoom: 1, x: 0, y: 0 };  // pan in pixels from the middle
let phase = 1;                         // 0 before training, 1 after
let colourBy = "found";
let pictures = data.sheet !== null;
let hidden = new Set();
let colours = [];
let theme = {};
let chosen = -1;                       // the point that is shown in the tip
let sheet = null, tinted = null;       // thumbnails as loaded, and with their ink in the colour of each point
let pending = 0;

// ---- colours ----
const names = ["ink", "panel", "unknown", "doubt", "right", "miss"];
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  theme = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  theme.classes = data.classes.map((_, c) => style.getPropertyValue("--c" + c).trim());
  recolour();
}
function mix(from, to, share) {
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return "rgb(" + [0, 1, 2].map((i) => Math.round(part(from, i) + share * (part(to, i) - part(from, i)))).join(",") + ")";
}
function colourOf(i) {
  if (colourBy === "given") return data.given[i] < 0 ? theme.unknown : theme.classes[data.given[i]];
  if (colourBy === "doubt") return mix(theme.unknown, theme.doubt, Math.min(1, 1.6 * (1 - (data.probability[i] ?? 0))));
  if (colourBy === "right") {
    if (data.truth[i] < 0) return theme.unknown;
    return data.truth[i] === data.codes[i] ? theme.right : theme.miss;
  }
  return theme.classes[data.codes[i]];
}
// What matters most is drawn last, on top: labels given, doubt, errors.
function weight(i) {
  if (colourBy === "doubt") return 1 - (data.probability[i] ?? 0);
  if (colourBy === "right") return data.truth[i] < 0 ? 0 : data.truth[i] === data.codes[i] ? 1 : 2;
  return data.given[i] < 0 ? 0 : 1;
}
let order = [];
function recolour() {
  colours = data.ids.map((_, i) => colourOf(i));
  order = data.ids.map((_, i) => i).sort((a, b) => weight(a) - weight(b));
  tint();
  writeKey();
  draw();
}
function writeKey() {
  const entry = (colour, text) => {
    const line = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = colour;
    line.append(dot, text);
    return line;
  };
  const lines = {
    found: [],
    given: [entry(theme.unknown, "no label given")],
    doubt: [entry(theme.unknown, "sure"), entry(theme.doubt, "in doubt")],
    right: [entry(theme.right, "right"), entry(theme.miss, "wrong"), entry(theme.unknown, "truth not known")],
  };
  key.replaceChildren(...lines[colourBy]);
}

// ---- thumbnails ----
function loadSheet() {
  // The sheet stands once in the page, as the background of .thumb.
  const probe = document.createElement("span");
  probe.className = "thumb";
  probe.hidden = true;
  document.body.append(probe);
  const image = new Image();
  image.onload = () => { sheet = image; tint(); draw(); };
  image.src = getComputedStyle(probe).backgroundImage.replace(/^url\("?|"?\)$/g, "");
  probe.remove();
}
function tile(i) {
  const { columns, width, height } = data.sheet;
  return [(i % columns) * width, Math.floor(i / columns) * height, width, height];
}
// Drawings in ink: the ink becomes opaque, the ground clear, and each tile gets the colour of its point.
function tint() {
  if (!sheet || !data.sheet.ink) return;
  tinted = tinted || Object.assign(document.createElement("canvas"), { width: sheet.width, height: sheet.height });
  const brush = tinted.getContext("2d", { willReadFrequently: true });
  brush.globalCompositeOperation = "copy";
  brush.drawImage(sheet, 0, 0);
  const pixels = brush.getImageData(0, 0, sheet.width, sheet.height);
  for (let p = 0; p < pixels.data.length; p += 4) {
    pixels.data[p + 3] = data.sheet.ink === "light" ? pixels.data[p] : 255 - pixels.data[p];
  }
  brush.putImageData(pixels, 0, 0);
  brush.globalCompositeOperation = "source-atop";
  for (let i = 0; i < n; i++) {
    brush.fillStyle = colours[i];
    brush.fillRect(...tile(i));
  }
}

// ---- drawing ----
const ease = (t) => t * t * (3 - 2 * t);
function place(i) {
  const t = ease(phase), side = Math.min(canvas.clientWidth, canvas.clientHeight) * 0.9 * view.zoom;
  const x = data.before[i][0] * (1 - t) + data.after[i][0] * t - 0.5;
  const y = data.before[i][1] * (1 - t) + data.after[i][1] * t - 0.5;
  return [canvas.clientWidth / 2 + view.x + x * side, canvas.clientHeight / 2 + view.y - y * side];
}
// Pictures keep their size: zooming in makes room for more of them instead of enlarging a scribble.
const PICTURE = 30;
function markSize() {
  if (pictures) return PICTURE;
  const room = Math.min(canvas.clientWidth, canvas.clientHeight) / Math.sqrt(Math.max(n, 1));
  return Math.min(22, Math.max(5, 0.45 * room) * Math.pow(view.zoom, 0.375));
}
function draw() {
  if (!pending) pending = requestAnimationFrame(() => { pending = 0; paint(); });
}
function paint() {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const size = markSize();
  context.imageSmoothingEnabled = !data.sheet || size * scale < 4 * data.sheet.width;  // then show the pixels
  const seen = [];
  for (const i of order) {
    if (hidden.has(data.codes[i])) continue;
    const [x, y] = place(i);
    if (x < -size || y < -size || x > width + size || y > height + size) continue;
    seen.push([i, x, y]);
  }
  const shown = pictures && sheet ? apart(seen, size) : new Set();
  for (const [i, x, y] of seen) if (!shown.has(i)) drawDot(i, x, y, pictures ? 5 : size);
  for (const [i, x, y] of seen) if (shown.has(i)) drawPicture(i, x, y, size);
  drawNames();
  if (chosen >= 0) ring(...place(chosen), 0.62 * size + 3, theme.ink, 2.5);
}
// Of pictures that would overlap one is drawn, the most important; the others are dots.
function apart(seen, size) {
  const taken = new Map(), shown = new Set(), key = (a, b) => a * 100003 + b;
  for (let s = seen.length - 1; s >= 0; s--) {
    const [i, x, y] = seen[s], a = Math.floor(x / size), b = Math.floor(y / size);
    let free = true;
    for (let u = a - 1; u <= a + 1 && free; u++) {
      for (let v = b - 1; v <= b + 1 && free; v++) {
        for (const [ox, oy] of taken.get(key(u, v)) || []) {
          if (Math.abs(ox - x) < size && Math.abs(oy - y) < size) free = false;
        }
      }
    }
    if (!free) continue;
    taken.set(key(a, b), [...(taken.get(key(a, b)) || []), [x, y]]);
    shown.add(i);
  }
  return shown;
}
function drawPicture(i, x, y, size) {
  const [sx, sy, sw, sh] = tile(i), h = size * Math.min(1, sh / sw), w = size * Math.min(1, sw / sh);
  if (tinted) {
    context.drawImage(tinted, sx, sy, sw, sh, x - w / 2, y - h / 2, w, h);
  } else {
    context.fillStyle = colours[i];
    context.fillRect(x - w / 2 - 2, y - h / 2 - 2, w + 4, h + 4);
    context.drawImage(sheet, sx, sy, sw, sh, x - w / 2, y - h / 2, w, h);
  }
  if (data.given[i] >= 0) ring(x, y, 0.62 * size + 1, theme.ink, 1.5);
}
function drawDot(i, x, y, size) {
  context.beginPath();
  context.arc(x, y, size / 2, 0, 2 * Math.PI);
  context.fillStyle = colours[i];
  context.fill();
  context.strokeStyle = theme.panel;
  context.lineWidth = 0.75;
  context.stroke();
  if (data.given[i] >= 0) ring(x, y, size / 2 + 1.5, theme.ink, 1);
}
function ring(x, y, radius, colour, width) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}
// The member of a class in whose neighborhood most of the class is: a name there is never in empty space.
const centres = new Map();
function central(c) {
  if (centres.has(c)) return centres.get(c);
  const mine = data.codes.map((code, i) => (code === c ? i : -1)).filter((i) => i >= 0);
  const near = Math.min(Math.max(12, Math.round(0.35 * mine.length)), mine.length - 1);
  let best = mine[0], least = Infinity;
  for (const i of mine.filter((_, place) => mine.length < 400 || place % 3 === 0)) {
    const gaps = mine.map((j) => (data.after[i][0] - data.after[j][0]) ** 2 + (data.after[i][1] - data.after[j][1]) ** 2);
    const gap = gaps.sort((a, b) => a - b)[near];
    if (gap < least) { least = gap; best = i; }
  }
  centres.set(c, best);
  return best;
}
// Names stand above their classes, so that nobody depends on colour. Where two would overlap the larger class has
// its name; zooming in makes room for the other.
function drawNames() {
  context.font = "600 " + (data.classes.length > 12 ? 11 : 13) + "px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const members = data.classes.map(() => []);
  data.codes.forEach((c, i) => { if (!hidden.has(c)) members[c].push(place(i)); });
  const taken = [];
  const largest = members.map((_, c) => c).sort((a, b) => members[b].length - members[a].length);
  for (const c of largest) {
    if (!members[c].length) continue;
    const middle = place(central(c));
    if (middle[0] < 0 || middle[1] < 0 || middle[0] > canvas.clientWidth || middle[1] > canvas.clientHeight) continue;
    const name = data.classes[c], text = name.length > 18 ? name.slice(0, 17) + "…" : name;
    const half = context.measureText(text).width / 2 + 7;
    const x = Math.min(canvas.clientWidth - half - 3, Math.max(half + 3, middle[0])), y = Math.max(13, middle[1] - (pictures ? 0.5 * PICTURE : 0) - 14);
    if (taken.some((box) => Math.abs(box.x - x) < box.half + half + 2 && Math.abs(box.y - y) < 24)) continue;
    taken.push({ x, y, half });
    drawName(text, x, y, half, theme.classes[c]);
  }
}
function drawName(text, x, y, half, colour) {
  context.beginPath();
  context.roundRect(x - half, y - 11, 2 * half, 22, 6);
  context.fillStyle = theme.panel;
  context.fill();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.stroke();
  context.fillStyle = theme.ink;
  context.fillText(text, x, y + 1);
}
