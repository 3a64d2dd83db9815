// How good it is, when to stop, training, what goes out and comes in, and everything that was said.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import uPlot from "./vendor/uplot.js";
import { change, fail, model, toast, undo } from "./model.js";
import { count, percent, things, useModel } from "./parts.js";
import { post } from "./api.js";

const ENOUGH = 10;  // audits, below which an interval says next to nothing

export function Results() {
  const { state } = useModel();
  return html`<div class="results">
    <${Measured} state=${state} />
    <${Train} state=${state} />
    <${Out} state=${state} />
    <${Said} state=${state} />
  </div>`;
}

function Measured({ state }) {
  const { audits } = state;
  return html`<section><h2>How good is it?</h2>
    ${audits.n
      ? html`<p class="big" data-audits=${audits.n}>${percent(audits.right / audits.n)}</p>
        <p>${audits.right} of ${audits.n} random checks agree. With a probability of 95 %, between <b>${percent(audits.interval[0])}</b> and <b>${percent(audits.interval[1])}</b> of the ${things()} without an answer are right.
        ${audits.n < ENOUGH ? " More checks come with more questions; so few say little." : " You may stop when this is good enough for you, and when the curve has become flat."}</p>`
      : html`<p>Not known yet. One question in ${audits.every} is drawn at random and only checks the result; the first comes after ${audits.every - 1} questions.</p>`}
    <${Curve} curve=${state.curve} />
  </section>`;
}

function Curve({ curve }) {
  const box = useRef(null);
  const drawn = curve.filter((point) => point[2] > 0);
  useEffect(() => {
    if (drawn.length < 2) return undefined;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim(), line = style.getPropertyValue("--line").trim();
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "12px system-ui" };
    const plot = new uPlot(
      {
        width: Math.min(box.current.clientWidth, 640),
        height: 200,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, y: { range: [0, 1] } },
        axes: [{ ...axis, label: "answers", labelFont: "12px system-ui", labelSize: 20 }, { ...axis, values: (_, ticks) => ticks.map((tick) => percent(tick)) }],
        series: [{}, { stroke: style.getPropertyValue("--accent").trim(), width: 2, points: { show: drawn.length < 30 } }],
      },
      [drawn.map((point) => point[0]), drawn.map((point) => point[1] / point[2])],
      box.current,
    );
    return () => plot.destroy();
  }, [curve.length, drawn.length]);
  if (drawn.length < 2) return null;
  return html`<div class="curve" ref=${box} role="img" aria-label="Answers against estimated accuracy"></div>`;
}

function Train({ state }) {
  const training = state.training, at = ["running", "paused", "stopping"].includes(training.status);
  const act = (action, more = {}) => post("/api/training", { action, ...more }).then((next) => change({ state: { ...model.state, training: next } }), fail);
  const done = training.total ? training.done / training.total : 0;
  return html`<section><h2>Train</h2>
    <p>After each answer all ${things()} are sorted anew within a second. Training fits the whole model again, which takes longer and makes the model, its report and the files below. You can go on answering meanwhile.</p>
    <div class="actions">
      ${!at && html`<button type="button" class="primary" onClick=${() => act("start")}>Train now</button>`}
      ${training.status === "running" && training.can_pause && html`<button type="button" onClick=${() => act("pause")}>Pause</button>`}
      ${training.status === "paused" && html`<button type="button" class="primary" onClick=${() => act("resume")}>Go on</button>`}
      ${at && html`<button type="button" onClick=${() => act("stop")}>Stop</button>`}
      <label>by itself after <input type="number" min="0" max="100000" step="10" value=${training.every} onChange=${(event) => act("every", { every: Math.max(0, Number(event.target.value) || 0) })} /> answers <small>(0: never)</small></label>
    </div>
    ${at && html`<p class="bar" data-status=${training.status}><progress value=${training.total ? done : undefined} max="1"></progress> ${training.status === "paused" ? "Paused" : training.stage || "Starting"}${training.total ? `, step ${training.done} of ${training.total}` : ""}. The former result stays until this one is there.</p>`}
    ${training.status === "done" && html`<p data-status="done">Done. The new result is in place.</p>`}
    ${training.status === "stopped" && html`<p>Stopped; the former result stays.</p>`}
    ${training.status === "failed" && html`<p class="error">Training failed: ${training.error}</p>`}
  </section>`;
}

function Out({ state }) {
  const file = useRef(null);
  const take = async () => {
    const chosen = file.current.files[0];
    if (!chosen) return;
    try {
      const { taken } = await post("/api/in", { text: await chosen.text(), who: model.who });
      toast(`${count(taken)} answers were taken in.`);
    } catch (error) {
      fail(error);
    }
    file.current.value = "";
  };
  const link = (name, text) => html`<li><a href=${"/api/out/" + name} download=${name}>${name}</a> <span>${text}</span></li>`;
  return html`<section><h2>Out and in</h2>
    <ul class="files">
      ${link("labels.csv", `the class of all ${count(state.n)} ${things()} as they are now`)}
      ${link("answers.csv", "what you have said; xsdc fit --corrections takes it")}
      ${link("audits.csv", "the random checks, which the model does not see")}
      ${link("label-studio.json", "tasks for Label Studio, with answers and predictions")}
      ${state.training.finished && link("model.xsdc", "the trained model")}
      ${state.training.finished && link("report.html", "the report")}
    </ul>
    <p><label class="button">Take answers from a file … <input ref=${file} type="file" accept=".csv,.json" onChange=${take} /></label> <small>CSV, or Label Studio's JSON</small></p>
    ${state.training.finished && html`<details><summary>The same model in Python</summary><pre>${state.python}</pre></details>`}
    <p><label>Your name, kept with each answer: <input type="text" maxlength="80" value=${model.who} onChange=${(event) => { localStorage.setItem("xsdc-who", event.target.value); change({ who: event.target.value }); }} /></label></p>
  </section>`;
}

function Said({ state }) {
  return html`<section><h2>What you have said</h2>
    ${state.gestures.length ? html`<ol class="said">${state.gestures.map((each) => html`<li key=${each.gesture}><span>${each.text}</span> <button type="button" class="quiet" onClick=${() => undo(each.gesture)}>Undo</button></li>`)}</ol>` : html`<p>Nothing yet.</p>`}
  </section>`;
}
