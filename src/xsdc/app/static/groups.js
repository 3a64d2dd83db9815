// Groups first: a sheet of members each; name, strike out, merge, split.
import { html, useState, useRef } from "./vendor/preact.js";
import { fail, model, remember, say, toast } from "./model.js";
import { Item, Names, Swatch, count, named, things, useModel } from "./parts.js";
import { fresh, post } from "./api.js";
import { colourOf } from "./colours.js";

export function Groups({ go }) {
  const { state, sheets } = useModel();
  if (!sheets) return html`<p class="loading">Looking for groups …</p>`;
  const open = sheets.filter((sheet) => !sheet.named);
  const done = sheets.filter((sheet) => sheet.named);
  return html`<div class="groups">
    <header class="head">
      <h1>${open.length ? "Which things are these?" : "Every group has a name"}</h1>
      ${open.length
        ? html`<p>The ${count(state.n)} ${things()} were sorted into groups of what looks alike. Give each group a name. If ${model.state.pictures ? "a picture" : "a row"} does not belong, click it first to strike it out.</p>`
        : html`<p>Go on with <a href="#questions" onClick=${() => go("questions")}>questions</a> about the ${things()} that are hardest to tell, or look at the <a href="#map" onClick=${() => go("map")}>map</a>.</p>`}
    </header>
    <${Names} id="names" state=${state} />
    ${open.map((sheet) => html`<${Sheet} key=${"g" + sheet.group + sheet.name} sheet=${sheet} open=${true} others=${open} />`)}
    ${done.length > 0 && html`<h2>Named</h2>`}
    <div class="named">${done.map((sheet) => html`<${Sheet} key=${"n" + sheet.name} sheet=${sheet} open=${false} others=${open} />`)}</div>
  </div>`;
}

function Sheet({ sheet, open, others }) {
  const { state } = useModel();
  const [struck, setStruck] = useState(new Set());
  const [more, setMore] = useState(false);
  const input = useRef(null);
  const strike = (row) => {
    const next = new Set(struck);
    if (!next.delete(row)) next.add(row);
    setStruck(next);
  };
  const accept = (name) => {
    const kept = sheet.members.filter((row) => !struck.has(row));
    if (!kept.length) return toast("Keep at least one.");
    remember(say("group", kept, name, { strays: [...struck].filter((row) => sheet.members.includes(row)) }));
    setStruck(new Set());
    toast(name === "one thing" ? "Kept as one group." : `Named ${name}.`);
  };
  const submit = (event) => {
    event.preventDefault();
    const name = input.current.value.trim();
    if (name) accept(name);
    else input.current.focus();
  };
  const split = () => {
    const gesture = fresh();
    post("/api/split", { code: sheet.code, gesture, who: model.who }).then(
      ({ moved }) => { remember(gesture); toast(`${count(moved)} ${things()} were split off.`); },
      fail,
    );
  };
  const merge = (event) => {
    const target = event.target.value;
    event.target.value = "";
    if (target.startsWith("c:")) accept(target.slice(2));
    else if (target) remember(say("merge", [], `${target}|${sheet.group}`));
  };
  const shown = open || more ? sheet.members : sheet.members.slice(0, 6);
  return html`<section class=${"sheet" + (open ? "" : " small")} style=${{ borderTopColor: colourOf(sheet.colour) }} data-group=${sheet.group}>
    <h3><${Swatch} number=${sheet.colour} /> ${open ? "Group " + (sheet.group + 1) : sheet.name} <small>${count(sheet.size)} ${things()}</small></h3>
    <ul class=${state.pictures ? "pictures" : "table"}>
      ${shown.map((row) => html`<li key=${row}><button type="button" class=${"member" + (struck.has(row) ? " struck" : "")} aria-pressed=${struck.has(row)} title=${struck.has(row) ? "Does not belong; click to put back" : "Click if it does not belong"} onClick=${() => strike(row)}><${Item} row=${row} columns=${6} /></button></li>`)}
    </ul>
    ${open
      ? html`<form class="actions" onSubmit=${submit}>
          <input ref=${input} type="text" list="names" placeholder="Name of this group" aria-label=${"Name of group " + (sheet.group + 1)} maxlength="200" autocomplete="off" />
          <button type="submit" class="primary">Name it${struck.size ? `, without ${struck.size}` : ""}</button>
          <span class="spacer"></span>
          <select aria-label="Merge with another group" onChange=${merge}>
            <option value="">Same as …</option>
            ${named(state).map((each) => html`<option key=${each.name} value=${"c:" + each.name}>${each.name}</option>`)}
            ${others.filter((other) => other.group !== sheet.group && other.group >= 0).map((other) => html`<option key=${other.group} value=${other.group}>group ${other.group + 1}</option>`)}
          </select>
          <button type="button" onClick=${split}>Split in two</button>
          <button type="button" onClick=${() => accept("one thing")} title="They belong together, but have no name">No name</button>
        </form>`
      : html`<div class="actions">
          ${struck.size > 0 && html`<button type="button" class="primary" onClick=${() => accept(sheet.name)}>Strike out ${struck.size}</button>`}
          ${sheet.members.length > 6 && html`<button type="button" class="quiet" onClick=${() => setMore(!more)}>${more ? "Fewer" : "More"}</button>`}
          <button type="button" class="quiet" onClick=${split}>Split in two</button>
        </div>`}
  </section>`;
}
