// The map: all points; zoom, move, hover, and a lasso to label many at once.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { model, remember, say, toast } from "./model.js";
import { Item, Names, Swatch, count, named, percent, things, useModel } from "./parts.js";
import { colourOf, rgb } from "./colours.js";
import { Plot } from "./plot.js";

export const flat = () => new URLSearchParams(location.search).has("canvas");

export function MapView() {
  const { state, points, places } = useModel();
  const canvas = useRef(null), plot = useRef(null), drag = useRef(null);
  const [lasso, setLasso] = useState(false);
  const [line, setLine] = useState(null);
  const [picked, setPicked] = useState([]);
  const [tip, setTip] = useState(null);
  const [hidden, setHidden] = useState(new Set());
  const field = useRef(null);

  useEffect(() => {
    try {
      plot.current = new Plot(canvas.current, { webgl: !flat() });
      if (!plot.current.gl && !plot.current.flat) throw new Error("no context");
    } catch {
      plot.current = new Plot(canvas.current, { webgl: false });
    }
    canvas.current.dataset.kind = plot.current.kind;
    window.xsdcPlot = plot.current;  // for measuring
    const observer = new ResizeObserver(() => plot.current.draw());
    observer.observe(canvas.current);
    const wheel = (event) => {
      event.preventDefault();
      plot.current.zoomAt(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    };
    canvas.current.addEventListener("wheel", wheel, { passive: false });
    return () => observer.disconnect();
  }, []);
  useEffect(() => { if (places && plot.current && places.length === 2 * state.n) plot.current.setPlaces(places); }, [places]);
  useEffect(() => {
    if (!points || !plot.current) return;
    plot.current.setColours(...paint(state, points, hidden, new Set(picked)));
  }, [points, state, hidden, picked]);

  const where = (event) => {
    const box = canvas.current.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const down = (event) => {
    canvas.current.setPointerCapture(event.pointerId);
    drag.current = { last: where(event), lasso: lasso || event.shiftKey, line: [where(event)] };
    setTip(null);
  };
  const move = (event) => {
    const here = where(event);
    if (!drag.current) {
      const found = plot.current.at(...here);
      setTip(found < 0 || hidden.has(points?.codes[found]) ? null : { row: found, x: here[0], y: here[1] });
      return;
    }
    if (drag.current.lasso) {
      drag.current.line.push(here);
      setLine([...drag.current.line]);
    } else plot.current.pan(here[0] - drag.current.last[0], here[1] - drag.current.last[1]);
    drag.current.last = here;
  };
  const up = () => {
    const ended = drag.current;
    drag.current = null;
    setLine(null);
    if (ended?.lasso && ended.line.length > 2) {
      const found = plot.current.within(ended.line).filter((i) => !hidden.has(points.codes[i]));
      setPicked(found);
      if (!found.length) toast("Nothing is inside.");
    }
  };
  const label = (name) => {
    if (!name) return;
    remember(say("group", picked, name, { lasso: true }));
    toast(`${count(picked.length)} ${things()} labelled ${name}.`);
    setPicked([]);
  };
  const keys = (event) => {
    const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (steps[event.key]) plot.current.pan(...steps[event.key]);
    else if (event.key === "+" || event.key === "=") plot.current.zoomAt(1.4);
    else if (event.key === "-") plot.current.zoomAt(1 / 1.4);
    else if (event.key === "Escape") setPicked([]);
    else return;
    event.preventDefault();
  };
  const toggle = (code) => {
    const next = new Set(hidden);
    if (!next.delete(code)) next.add(code);
    setHidden(next);
  };
  return html`<div class="mapview">
    <div class="stage">
      <canvas ref=${canvas} class=${lasso ? "lasso" : ""} tabindex="0" role="img" aria-label=${`Map of ${count(state.n)} ${things()}. Arrow keys move it, plus and minus zoom.`}
        onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up} onPointerLeave=${() => setTip(null)} onKeyDown=${keys}></canvas>
      ${line && html`<svg class="line"><polygon points=${line.map((point) => point.join()).join(" ")} /></svg>`}
      ${tip && points && html`<div class="tip" style=${tipPlace(tip, canvas.current)}><${Item} row=${tip.row} columns=${8} /><p><${Swatch} number=${state.classes[points.codes[tip.row]].colour} /> ${state.classes[points.codes[tip.row]].name} · ${points.known[tip.row] ? "answered" : percent(points.probability[tip.row] / 255)}</p></div>`}
      <div class="tools">
        <button type="button" aria-pressed=${lasso} class=${lasso ? "on" : ""} onClick=${() => setLasso(!lasso)}>Lasso</button>
        <button type="button" aria-label="Zoom in" onClick=${() => plot.current.zoomAt(1.5)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => plot.current.zoomAt(1 / 1.5)}>−</button>
        <button type="button" onClick=${() => plot.current.reset()}>Show all</button>
      </div>
      ${picked.length > 0 && html`<div class="picked" role="dialog" aria-label="Label what is chosen">
        <p><b>${count(picked.length)}</b> ${things()} chosen. They are:</p>
        <div class="choices">${named(state).map((each) => html`<button type="button" class="choice" key=${each.name} onClick=${() => label(each.name)}><${Swatch} number=${each.colour} />${each.name}</button>`)}</div>
        <form onSubmit=${(event) => { event.preventDefault(); label(field.current.value.trim()); }}>
          <${Names} id="map-names" state=${state} />
          <input ref=${field} type="text" list="map-names" placeholder="another name" aria-label="Name for what is chosen" maxlength="200" autocomplete="off" /><button type="submit" class="primary">Label</button>
          <button type="button" onClick=${() => setPicked([])}>Cancel</button>
        </form>
      </div>`}
    </div>
    <aside>
      <ul>${state.classes.map((each, code) => html`<li key=${each.name}><button type="button" aria-pressed=${!hidden.has(code)} class=${hidden.has(code) ? "off" : ""} onClick=${() => toggle(code)}><${Swatch} number=${each.colour} /><span>${each.name}</span><small>${count(each.size)}</small></button></li>`)}</ul>
      <p class="hint">What is alike stands together. Faint ones are in doubt; large ones with a ring were answered. Drag to move, scroll to zoom, draw a line around some with the lasso (or <kbd>shift</kbd>) to label them at once.</p>
    </aside>
  </div>`;
}

function paint(state, points, hidden, picked) {
  const n = state.n, colours = new Uint8Array(4 * n), sizes = new Float32Array(n);
  const inks = state.classes.map((each) => rgb(colourOf(each.colour)));
  for (let i = 0; i < n; i++) {
    const code = points.codes[i], ink = inks[code] || [128, 128, 128];
    colours[4 * i] = ink[0];
    colours[4 * i + 1] = ink[1];
    colours[4 * i + 2] = ink[2];
    const sure = points.probability[i] / 255;
    let opaque = points.known[i] ? 1 : 0.25 + 0.65 * sure;
    if (picked.size) opaque = picked.has(i) ? 1 : 0.12;
    if (hidden.has(code)) opaque = 0;
    colours[4 * i + 3] = Math.round(255 * opaque);
    sizes[i] = points.known[i] ? 1.8 : 1;
  }
  return [colours, sizes];
}

function tipPlace(tip, canvas) {
  const right = tip.x > canvas.clientWidth * 0.6, low = tip.y > canvas.clientHeight * 0.6;
  return {
    left: right ? "auto" : tip.x + 14 + "px",
    right: right ? canvas.clientWidth - tip.x + 14 + "px" : "auto",
    top: low ? "auto" : tip.y + 14 + "px",
    bottom: low ? canvas.clientHeight - tip.y + 14 + "px" : "auto",
  };
}
