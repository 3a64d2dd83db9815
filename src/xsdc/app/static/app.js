// The page: its head, its four views, and what is told in each of them.
import { html, render, useEffect, useState } from "./vendor/preact.js";
import { change, model, start, undo, undoLast } from "./model.js";
import { count, percent, things, useModel, Item } from "./parts.js";
import { Groups } from "./groups.js";
import { Questions } from "./questions.js";
import { MapView } from "./map.js";
import { Results } from "./results.js";

const VIEWS = { groups: ["Groups", Groups], questions: ["Questions", Questions], map: ["Map", MapView], results: ["Results", Results] };
const here = () => (location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "groups");
const TOLD = 4000;  // milliseconds that a short message stays

function App() {
  const { state, error } = useModel();
  const [view, setView] = useState(here());
  useEffect(() => {
    const changed = () => setView(here());
    addEventListener("hashchange", changed);
    const press = (event) => {
      if (event.key.toLowerCase() !== "u" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (here() === "questions" || event.target.matches("input, textarea, select")) return;
      undoLast();
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => { removeEventListener("hashchange", changed); removeEventListener("keydown", press); };
  }, []);
  const go = (name) => { location.hash = name; };
  if (!state) return html`<p class="loading">${error || "Opening …"}</p>`;
  const Shown = VIEWS[view][1];
  const open = state.classes.filter((each) => !each.named).length;
  return html`
    <div class="top">
      <b class="name" title=${state.name}>${state.name}</b>
      <nav>${Object.entries(VIEWS).map(([key, [title]]) => html`<a key=${key} href=${"#" + key} class=${view === key ? "here" : ""} aria-current=${view === key ? "page" : undefined}>${title}${key === "groups" && open ? html`<span class="badge">${open}</span>` : null}</a>`)}</nav>
      <${Status} />
    </div>
    <${Clashes} state=${state} />
    ${error && html`<p class="error banner" role="alert">${error} <button type="button" class="quiet" onClick=${() => change({ error: null })}>Close</button></p>`}
    <main><${Shown} go=${go} /></main>
    <${Toast} />`;
}

function Status() {
  const { state, outbox, connected } = useModel();
  const training = state.training.status === "running";
  return html`<div class="status">
    ${training && html`<a href="#results" class="pill busy">training …</a>`}
    ${outbox.error
      ? html`<span class="pill bad" title=${outbox.error}>${outbox.waiting} not saved yet</span>`
      : outbox.waiting
        ? html`<span class="pill">saving …</span>`
        : html`<span class=${"pill" + (connected ? " good" : "")} data-saved="true">${connected ? `${count(state.answers + state.audits.n)} answers saved` : "connecting …"}</span>`}
    <button type="button" class="undo" title="Undo (u)" disabled=${!state.gestures.length} onClick=${undoLast}>Undo</button>
  </div>`;
}

function Clashes({ state }) {
  if (!state.clashes.length) return null;
  return html`<div class="clashes" role="alert">${state.clashes.map((clash, place) => html`<div key=${place} class="clash">
    <h2>These answers contradict each other</h2>
    <p>The last of them counts for nothing until one is taken back.</p>
    <ol>${clash.entries.map((each) => html`<li key=${each.gesture}>
      ${state.pictures && html`<span class="thumbs">${each.points.map((row) => html`<${Item} key=${row} row=${row} />`)}</span>`}
      <span>${each.text}</span> <button type="button" onClick=${() => undo(each.gesture)}>Undo this</button></li>`)}</ol>
  </div>`)}</div>`;
}

function Toast() {
  const { toast } = useModel();
  const [, again] = useState(0);
  useEffect(() => {
    if (!toast) return undefined;
    const timer = setTimeout(() => again((value) => value + 1), TOLD + 50);
    return () => clearTimeout(timer);
  }, [toast]);
  const shown = toast && Date.now() - toast.at < TOLD;
  return html`<div class=${"toast" + (shown ? " up" : "")} role="status" aria-live="polite">${shown ? toast.text : ""}</div>`;
}

start();
render(html`<${App} />`, document.getElementById("app"));
