// Requests, the outbox and the stream of events. An answer counts as saved only when the server has said so.

export async function get(path) {
  const response = await fetch(path, { credentials: "same-origin" });
  if (!response.ok) throw new Error(await reason(response));
  return response;
}

export async function post(path, body) {
  const response = await fetch(path, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw Object.assign(new Error(await reason(response)), { status: response.status });
  return response.json();
}

async function reason(response) {
  const text = await response.text();
  try {
    const said = JSON.parse(text);
    return said.error || (said.detail && said.detail[0] && said.detail[0].msg) || text;
  } catch {
    return text || response.statusText;
  }
}

export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Entries that wait to be saved, in their order; they outlive a reload of the page.
const KEY = "xsdc-outbox";
const RETRY = [500, 1000, 2000, 5000, 10000];

export class Outbox {
  constructor(told) {
    this.told = told;
    this.waiting = JSON.parse(localStorage.getItem(KEY) || "[]");
    this.sending = false;
    this.single = false;  // one at a time, after several were refused together
    this.failures = 0;
    this.error = null;
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => this.flush());
    this.flush();
  }

  add(entries) {
    this.waiting.push(...entries);
    this.keep();
    this.flush();
  }

  keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify(this.waiting));
    } catch {
      // A full browser store: the entries are still sent from memory.
    }
    this.told({ waiting: this.waiting.length, error: this.error });
  }

  async flush() {
    if (this.sending || !this.waiting.length) return;
    this.sending = true;
    const batch = this.waiting.slice(0, this.single ? 1 : 50);
    try {
      const { saved } = await post("/api/answers", { entries: batch });
      const ids = new Set(saved);
      this.waiting = this.waiting.filter((entry) => !ids.has(entry.id));
      this.failures = 0;
      this.error = null;
    } catch (error) {
      this.error = error.message;
      if (error.status === 422 || error.status === 413) {  // it will never be taken: say so, and go on with the others
        if (batch.length === 1) this.waiting.shift();
        this.single = batch.length > 1;
      }
      this.failures += 1;
    }
    this.sending = false;
    this.keep();
    if (this.waiting.length) {
      const pause = this.failures ? RETRY[Math.min(this.failures - 1, RETRY.length - 1)] : 0;
      setTimeout(() => this.flush(), pause);
    }
  }
}

export function listen(handlers, connected) {
  const source = new EventSource("/api/events");
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  }
  source.addEventListener("open", () => connected(true));
  source.addEventListener("error", () => connected(false));
  return source;
}
