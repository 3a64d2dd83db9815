// Questions: one key each, and on to the next. The model's guess is shown only after the answer.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { answer, nextQuestion, toast, undoLast, upcoming } from "./model.js";
import { Item, Names, Swatch, named, percent, useModel } from "./parts.js";

const ASK = {
  label: () => "What is this?",
  set: () => "Which of these could it be?",
  pair: () => "Are these two the same kind of thing?",
};

export function Questions() {
  const { state } = useModel();
  const question = nextQuestion();
  const field = useRef(null);
  const [chosen, setChosen] = useState([]);
  const choices = question ? choicesOf(question, state) : [];

  const give = (text) => {
    if (!question || !text) return;
    answer(question, text);
    setChosen([]);
    if (field.current) field.current.value = "";
    toast(comment(question, text));
  };
  const toggle = (name) => setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);

  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = event.target.matches("input, textarea, select");
      if (typing) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const key = event.key.toLowerCase();
      const pressed = choices.find((choice) => choice.key === (event.code?.match(/^(?:Digit|Numpad)(\d)$/)?.[1] ?? key));
      if (key === "u") undoLast();
      else if (!question) return;
      else if (key === "s") give("skip");
      else if (key === "n") give("unsure");
      else if (key === "t" || key === "/") field.current?.focus();
      else if (pressed) {
        if (question.kind === "set" && event.shiftKey) toggle(pressed.name);
        else give(pressed.answer);
      } else if (key === "enter" && chosen.length) give(chosen.join("|"));
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });

  if (!question) {
    return html`<div class="ask"><h1>No question at the moment</h1><p>${state.answers ? "The next ones are being chosen." : "Name a group first."}</p></div>`;
  }
  const submit = (event) => {
    event.preventDefault();
    give(field.current.value.trim());
  };
  return html`<div class="ask" data-kind=${question.kind} data-points=${question.points.join(",")}>
    <h1>${ASK[question.kind]()}</h1>
    <div class=${"shown" + (question.points.length > 1 ? " two" : "")}>
      ${question.points.slice(0, 2).map((row) => html`<figure key=${row}><${Item} row=${row} large=${true} /></figure>`)}
    </div>
    <div class="choices">
      ${choices.map((choice) => html`<button type="button" key=${choice.answer} class=${"choice" + (chosen.includes(choice.answer) ? " chosen" : "")} onClick=${() => give(choice.answer)}>
        ${choice.key && html`<kbd>${choice.key}</kbd>`}${choice.colour !== undefined && html`<${Swatch} number=${choice.colour} />`}<span>${choice.text}</span></button>`)}
    </div>
    ${question.kind === "set" && html`<p class="hint">Both possible? Choose with <kbd>shift</kbd> and the numbers, then <kbd>Enter</kbd>.
      ${chosen.length > 0 && html` <button type="button" onClick=${() => give(chosen.join("|"))}>One of ${chosen.join(", ")}</button>`}</p>`}
    ${question.kind !== "pair" && html`<form class="other" onSubmit=${submit}>
      <${Names} id="all-names" state=${state} />
      <input ref=${field} type="text" list="all-names" placeholder=${choices.length ? "or type a name" : "Type its name"} aria-label="Name" maxlength="200" autocomplete="off" />
      <button type="submit">Answer</button>
    </form>`}
    <div class="way">
      <button type="button" onClick=${() => give("unsure")}><kbd>n</kbd> Not sure</button>
      <button type="button" onClick=${() => give("skip")}><kbd>s</kbd> Skip</button>
      <button type="button" onClick=${undoLast}><kbd>u</kbd> Undo</button>
    </div>
    <p class="legend"><span><kbd>1</kbd>–<kbd>0</kbd> answer</span> ${question.kind !== "pair" && html`<span><kbd>t</kbd> type a name</span>`} <span><kbd>n</kbd> not sure</span> <span><kbd>s</kbd> skip</span> <span><kbd>u</kbd> undo</span></p>
    ${question.audit && html`<p class="hint">Drawn at random: one question in ${state.audits.every} only measures how good the answer is.${question.again ? " This one is asked a second time." : ""}</p>`}
    <div class="next" aria-hidden="true">${upcoming(4).slice(1).flatMap((each) => each.points.slice(0, 2)).map((row) => html`<${Item} key=${row} row=${row} columns=${1} />`)}</div>
  </div>`;
}

function choicesOf(question, state) {
  if (question.kind === "pair") {
    return [{ answer: "same", text: "The same", key: "1" }, { answer: "different", text: "Different", key: "2" }];
  }
  const classes = named(state);
  const names = question.kind === "set" ? question.choices : classes.map((each) => each.name);
  const digits = names.every((name) => /^\d$/.test(name));  // a class called 4 has the key 4
  return names.map((name, place) => ({
    answer: name,
    name,
    text: name,
    key: digits ? name : place < 10 ? String((place + 1) % 10) : null,
    colour: classes.find((each) => each.name === name)?.colour,
  }));
}

function comment(question, text) {
  if (text === "skip" || text === "unsure") return "Counts as nothing.";
  const [first, second] = question.guess;
  if (question.kind === "pair") {
    const same = first.name === second.name;
    return same === (text === "same") ? "As expected." : `The model had thought: ${same ? "the same" : "different"}.`;
  }
  return first.name === text ? `As expected (${percent(first.probability)}).` : `The model had thought ${first.name} (${percent(first.probability)}).`;
}
