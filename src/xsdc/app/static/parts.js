// Small parts that several views use.
import { html, useState, useEffect } from "./vendor/preact.js";
import { model, rowOf, subscribe } from "./model.js";
import { colourOf } from "./colours.js";

export function useModel() {
  const [, again] = useState(0);
  useEffect(() => subscribe(() => again((count) => count + 1)), []);
  return model;
}

const FEW_PIXELS = 32;  // on a side, below which a picture is shown as squares

export const count = (value) => value.toLocaleString("en");
export const percent = (value, digits = 0) => (100 * value).toFixed(digits) + " %";
export const things = () => (model.state?.pictures ? "pictures" : model.state?.kind === "table" ? "rows" : "points");
export const thing = () => things().slice(0, -1);

// One point: its picture, or the cells of its row.
export function Item({ row, large = false, columns = 24 }) {
  const { state } = useModel();
  if (state.pictures) {
    return html`<img class=${"picture" + (large ? " large" : "") + (state.pictures < FEW_PIXELS ? " pixels" : "")} src=${"/media/" + row} alt=${thing() + " " + row} draggable=${false} />`;
  }
  const found = rowOf(row);
  if (!found) return html`<div class="cells wait"></div>`;
  return html`<div class=${large ? "cells large" : "cells"}>
    <b>${found.id}</b>
    <dl>${found.cells.slice(0, columns).map(([name, value]) => html`<div key=${name}><dt title=${name}>${name}</dt><dd title=${value}>${value}</dd></div>`)}</dl>
  </div>`;
}

export function Swatch({ number }) {
  return html`<i class="swatch" style=${{ background: colourOf(number) }}></i>`;
}

// Classes with a name, in the order of the keys: that in which they came up, so that keys stay; numbers by value.
export function named(state) {
  const classes = state.classes.filter((each) => each.named);
  const numbers = classes.every((each) => /^\d+$/.test(each.name));
  return classes.sort((a, b) => (numbers ? a.name - b.name : a.order - b.order));
}

export function Names({ id, state }) {
  return html`<datalist id=${id}>${named(state).map((each) => html`<option key=${each.name} value=${each.name} />`)}</datalist>`;
}
