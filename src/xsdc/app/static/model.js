// What the page knows: one object, and those who listen to it.
import { Outbox, fresh, get, listen } from "./api.js";

const listeners = new Set();

export const model = {
  state: null,
  points: null,
  places: null,
  sheets: null,
  questions: [],
  outbox: { waiting: 0, error: null },
  connected: true,
  who: localStorage.getItem("xsdc-who") || "",
  toast: null,
  error: null,
};

export function change(part) {
  Object.assign(model, part);
  for (const listener of listeners) listener();
}

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Questions answered here; the server may offer one again that it has not seen the answer of.
const answered = new Set();
const keyOf = (question) => question.kind + ":" + question.points.join() + (question.again ? " again" : "");

export function nextQuestion() {
  return model.questions.find((question) => !answered.has(keyOf(question))) || null;
}

export function upcoming(count) {
  return model.questions.filter((question) => !answered.has(keyOf(question))).slice(0, count);
}

const outbox = new Outbox((state) => change({ outbox: state }));

export function say(kind, points, answer, more = {}) {
  const gesture = more.gesture || fresh();
  const entry = { id: fresh(), gesture, kind, points, answer, who: model.who, ...more };
  outbox.add([entry]);
  return gesture;
}

export function answer(question, text) {
  answered.add(keyOf(question));
  const gesture = say(question.kind, question.points, text, question.audit ? { audit: true } : {});
  mine.push({ gesture, key: keyOf(question) });
  change({});
  return gesture;
}

const mine = [];  // gestures of this page, so that an undo brings the question back at once

export function undo(gesture) {
  const place = mine.findIndex((each) => each.gesture === gesture);
  if (place >= 0) answered.delete(mine.splice(place, 1)[0].key);
  say("undo", [], gesture);
  change({ toast: { text: "Taken back.", at: Date.now() } });
}

export function undoLast() {
  const last = mine.length ? mine[mine.length - 1].gesture : model.state?.gestures[0]?.gesture;
  if (last) undo(last);
}

export function remember(gesture) {
  mine.push({ gesture, key: null });
}

export function toast(text) {
  change({ toast: { text, at: Date.now() } });
}

export function fail(error) {
  change({ error: error.message || String(error) });
}

// ---- reading ----
let reading = false, again = false;
export async function read() {
  if (reading) {
    again = true;
    return;
  }
  reading = true;
  try {
    const [state, questions, points, sheets] = await Promise.all([
      get("/api/state").then((response) => response.json()),
      get("/api/questions").then((response) => response.json()),
      get("/api/points").then((response) => response.arrayBuffer()),
      get("/api/sheets").then((response) => response.json()),
    ]);
    const n = state.n;
    change({
      state,
      questions: questions.questions,
      sheets,
      points: {
        codes: new Uint16Array(points, 0, n),
        probability: new Uint8Array(points, 2 * n, n),
        known: new Uint8Array(points, 3 * n, n),
      },
      error: null,
    });
  } catch (error) {
    fail(error);
  }
  reading = false;
  if (again) {
    again = false;
    read();
  }
}

export async function readPlaces() {
  try {
    const body = await get("/api/places").then((response) => response.arrayBuffer());
    change({ places: new Float32Array(body) });
  } catch (error) {
    fail(error);
  }
}

// ---- what points are: pictures by row number, cells of rows ----
const rows = new Map();
const asked = new Set();
let asking = null;
export function rowOf(i) {
  if (!rows.has(i) && !asked.has(i)) {
    asked.add(i);
    asking = asking || setTimeout(askRows, 5);
  }
  return rows.get(i) || null;
}
async function askRows() {
  asking = null;
  const wanted = [...asked].filter((i) => !rows.has(i)).slice(0, 60);
  if (!wanted.length) return;
  try {
    const found = await get("/api/rows?" + wanted.map((i) => "at=" + i).join("&")).then((response) => response.json());
    for (const row of found) rows.set(row.row, row);
    change({});
  } catch (error) {
    fail(error);
  }
  for (const i of wanted) asked.delete(i);
  if (asked.size) asking = setTimeout(askRows, 5);
}

export function start() {
  read();
  readPlaces();
  listen(
    {
      solution: read,
      places: readPlaces,
      training: (training) => {
        if (model.state) change({ state: { ...model.state, training } });
        if (training.status === "done") read();
      },
      hello: () => {
        outbox.flush();
        if (model.state) read();
      },
    },
    (connected) => change({ connected }),
  );
}
