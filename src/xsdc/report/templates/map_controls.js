// What a reader does with the map: before and after, zoom and pan, asking what a point is, choosing colours.
// ---- before and after ----
let run = 0;
function moveTo(target) {
  all("[data-phase]").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.phase) === target)));
  cancelAnimationFrame(run);
  choose(-1);
  const start = phase, began = performance.now(), long = calm ? 1 : 900;
  const step = (now) => {
    const t = Math.min(1, Math.max(0, now - began) / long);
    phase = start + (target - start) * t;
    paint();
    if (t < 1) run = requestAnimationFrame(step);
  };
  run = requestAnimationFrame(step);
}

// ---- zoom and pan ----
function zoomAt(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const zoom = Math.min(40, Math.max(1, view.zoom * factor)), ratio = zoom / view.zoom;
  const dx = x - canvas.clientWidth / 2, dy = y - canvas.clientHeight / 2;
  view.x = zoom === 1 ? 0 : dx - (dx - view.x) * ratio;
  view.y = zoom === 1 ? 0 : dy - (dy - view.y) * ratio;
  view.zoom = zoom;
  // Where nothing is enlarged a finger scrolls the page, else it moves the map.
  canvas.style.touchAction = zoom > 1 ? "none" : "pan-y";
  choose(-1);
  draw();
}
const at = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
canvas.addEventListener("wheel", (event) => {
  // Readers who scroll by must not be caught: only a map that was clicked, or a pinch, takes the wheel.
  if (document.activeElement !== canvas && !event.ctrlKey) return;
  event.preventDefault();
  zoomAt(Math.exp(-Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 100) / 400), ...at(event));
}, { passive: false });

const fingers = new Map();
let moved = 0;
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, at(event));
  moved = 0;
});
canvas.addEventListener("pointermove", (event) => {
  const now = at(event), last = fingers.get(event.pointerId);
  if (!last) {
    choose(nearest(...now), now);
    return;
  }
  const other = [...fingers].find(([id]) => id !== event.pointerId);
  if (other) {
    const gap = (a, b) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
    zoomAt(gap(now, other[1]) / gap(last, other[1]), (now[0] + other[1][0]) / 2, (now[1] + other[1][1]) / 2);
  } else {
    view.x += now[0] - last[0];
    view.y += now[1] - last[1];
    draw();
  }
  moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
  fingers.set(event.pointerId, now);
  if (moved > 4) choose(-1);
});
const lift = (event) => {
  if (!fingers.delete(event.pointerId) || event.type !== "pointerup" || moved > 4) return;
  const i = nearest(...at(event));
  choose(i, at(event));
  // A finger asks what a point is, as hovering does; a click of the mouse corrects it.
  if (i >= 0 && event.pointerType === "mouse") {
    const detail = { id: data.ids[i], found: data.classes[data.codes[i]] };
    document.dispatchEvent(new CustomEvent("correct", { detail }));
  }
};
canvas.addEventListener("pointerup", lift);
canvas.addEventListener("pointercancel", lift);
canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") choose(-1); });
canvas.addEventListener("keydown", (event) => {
  const pans = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  if (pans[event.key]) { view.x += pans[event.key][0]; view.y += pans[event.key][1]; draw(); }
  else if (event.key === "+" || event.key === "=") zoomAt(1.4);
  else if (event.key === "-") zoomAt(1 / 1.4);
  else if (event.key === "0") zoomAt(0);
  else return;
  event.preventDefault();
});

// ---- what a point is ----
function nearest(x, y) {
  let best = -1, least = Math.max(14, 0.7 * markSize());
  for (let i = 0; i < n; i++) {
    if (hidden.has(data.codes[i])) continue;
    const [px, py] = place(i), gap = Math.hypot(px - x, py - y);
    if (gap <= least) { least = gap; best = i; }
  }
  return best;
}
const percent = (p) => (p === null ? "–" : (100 * p).toFixed(1) + " %");
function describe(i) {
  const facts = [["found", data.classes[data.codes[i]]], ["probability", percent(data.probability[i])]];
  facts.push(["label", data.given[i] < 0 ? "inferred" : "given: " + data.classes[data.given[i]]]);
  if (data.truth && data.truth[i] >= 0) facts.push([data.named ? "truth" : "belongs to", data.classes[data.truth[i]]]);
  return facts.concat(data.cells ? data.cells[i] : []);
}
function choose(i, where) {
  if (i !== chosen) { chosen = i; draw(); }
  tip.hidden = i < 0;
  if (i < 0) return;
  const parts = [];
  if (data.sheet) {
    const thumb = document.createElement("span"), { columns, rows } = data.sheet;
    thumb.className = "thumb";
    const x = 100 * (i % columns) / Math.max(columns - 1, 1), y = 100 * Math.floor(i / columns) / Math.max(rows - 1, 1);
    thumb.style.backgroundPosition = x + "% " + y + "%";
    parts.push(thumb);
  }
  const name = document.createElement("b"), list = document.createElement("dl");
  name.textContent = data.ids[i];
  for (const [term, value] of describe(i)) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = value;
    list.append(dt, dd);
  }
  tip.replaceChildren(...parts, name, list);
  const gap = 14, right = where[0] + gap + tip.offsetWidth > canvas.clientWidth;
  const x = right ? Math.max(4, where[0] - gap - tip.offsetWidth) : where[0] + gap;
  const y = Math.max(4, Math.min(where[1] + gap, canvas.clientHeight - tip.offsetHeight - 4));
  tip.style.transform = "translate(" + Math.round(x) + "px," + Math.round(y) + "px)";
}

// ---- controls ----
const on = (id, handler) => document.getElementById(id).addEventListener("click", handler);
function filter(change) {
  change();
  all("[data-class]").forEach((b) => b.setAttribute("aria-pressed", String(!hidden.has(Number(b.dataset.class)))));
  choose(-1);
  draw();
}
all("[data-phase]").forEach((b) => b.addEventListener("click", () => moveTo(Number(b.dataset.phase))));
all("[data-marks]").forEach((b) => b.addEventListener("click", () => {
  pictures = b.dataset.marks === "pictures";
  all("[data-marks]").forEach((other) => other.setAttribute("aria-pressed", String(other === b)));
  draw();
}));
all("[data-class]").forEach((b) => b.addEventListener("click", () => filter(() => {
  const c = Number(b.dataset.class);
  if (!hidden.delete(c)) hidden.add(c);
})));
on("show-all", () => filter(() => { hidden = new Set(); }));
on("show-none", () => filter(() => { hidden = new Set(data.classes.keys()); }));
on("zoom-in", () => zoomAt(1.5));
on("zoom-out", () => zoomAt(1 / 1.5));
on("zoom-reset", () => zoomAt(0));
document.getElementById("colour-by").addEventListener("change", (event) => { colourBy = event.target.value; recolour(); });
document.addEventListener("themechange", readTheme);
new ResizeObserver(draw).observe(canvas);
canvas.style.touchAction = "pan-y";
if (data.sheet) loadSheet();
readTheme();
