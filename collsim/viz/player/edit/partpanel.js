// The small panel that changes one part of a machine: what it is, what it could be, and what was changed so far.

import { el } from "../draw/elements.js";
import { cableKeys } from "./parts.js";

const MAX_BUTTONS = 6; // options in a row; more are a list
const FACTORS = [
  ["x0.5", "half"],
  ["x0.1", "tenth"],
  ["x2", "double"],
];

/** Fill `box` for a part; `send(value)` tells the host what is wanted, `copy(text)` and `close()` are the editor's. */
export function fillPanel(box, { part, editing, words, send, copy, close }) {
  const focused = box.getRootNode().activeElement,
    focus = box.contains(focused) ? (focused.dataset.act ?? "") : null;
  box.setAttribute("aria-label", part.title);
  box.replaceChildren(
    el("header", el("b", part.title), buildCloser(words, close)),
    ...(part.note ? [el("p", part.note)] : []),
    ...(editing.error ? [el("p.wrong", { role: "alert" }, editing.error)] : []),
    ...listRows(part, editing).map((row) => buildRow(row, editing.rows[row], words, send)),
    ...buildOwnRows(part, editing, words, send),
    buildChanges(editing, words, send),
    buildHistory(editing, words, send),
    el("code", editing.code),
    buildCopies(editing, words, copy),
  );
  if (focus != null) (findAct(box, focus) ?? box.querySelector("button")).focus();
}

const findAct = (box, act) => [...box.querySelectorAll("[data-act]")].find((e) => e.dataset.act === act && !e.disabled);

const buildCloser = (words, onclick) => el("button.closer", { "aria-label": words.close, onclick }, "×");

const listRows = (part, editing) =>
  ((part.type === "link" ? editing.links : editing.devices)[part.kind] ?? []).filter((name) => name in editing.rows);

/** One setting of all parts of this kind, with the values that the machine can have. */
function buildRow(name, { label, value, options }, words, send) {
  const act = (chosen) => send({ word: name, value: chosen });
  if (options.length > MAX_BUTTONS) {
    const items = options.map(([text, shown]) => el("option", { value: text, selected: text === value }, shown)),
      list = el("select", { "aria-label": label, "data-act": name, onchange: () => act(list.value) }, ...items);
    return el("div.row", el("span", label), list);
  }
  const buttons = options.map(([text, shown]) => pressed(`${name}=${text}`, shown, text === value, () => act(text)));
  return el("div.row", el("span", label), group(label, buttons));
}

const group = (label, buttons) => el("span.seg.small", { role: "group", "aria-label": label }, ...buttons);

/** A button that does something, and one of several of which one may be on. */
const button = (act, text, onclick, more = {}) => el("button", { "data-act": act, onclick, ...more }, text);
const pressed = (act, text, isOn, onclick) => button(act, text, onclick, { "aria-pressed": isOn });

/** What can be done with this part alone, and with all cables of its kind. */
function buildOwnRows(part, editing, words, send) {
  const now = (target) => editing.edits.find((edit) => cableKeys(edit.target).includes(target)) ?? {};
  if (part.type === "device") {
    if (part.isRank || !editing.names.includes(part.key)) return [];
    const off = pressed("off", words.remove, false, () => send({ action: "off", target: part.key, value: "" }));
    return [el("div.row", el("span", words.onlyDevice), group(part.title, [off]))];
  }
  const all = factorButtons("scale", part.kind, now(part.kind), words, send),
    rows = [el("div.row", el("span", words.allCables), group(words.allCables, all))];
  if (part.key.split("~").every((name) => editing.names.includes(name)))
    rows.unshift(buildCable(part, now(part.key), words, send), buildRate(part, words, send));
  return rows;
}

/** Buttons that change a rate by a factor; one that is on takes it back. */
const factorButtons = (action, target, now, words, send) =>
  FACTORS.map(([value, name]) => {
    const isOn = now.value === value,
      act = () => send(isOn ? { drop: target } : { action, target, value });
    return pressed(`${action}=${value}`, words[name], isOn, act);
  });

function buildCable({ key }, now, words, send) {
  const isCut = now.value === "",
    act = () => send(isCut ? { drop: key } : { action: "cut", target: key, value: "" }),
    buttons = [...factorButtons("rate", key, now, words, send), pressed("cut", words.cut, false, act)];
  return el("div.row", el("span", words.onlyCable), group(words.onlyCable, buttons));
}

/** A rate that is typed: `100Gbit/s`, `12.5GB/s`. */
function buildRate(part, words, send) {
  const field = el("input", { type: "text", placeholder: "12.5GB/s", "aria-label": words.rate, maxLength: 20 });
  field.dataset.act = "typed";
  const form = el("form.row", el("span", words.rate), field);
  form.append(el("button.plain", { type: "submit" }, words.set));
  form.onsubmit = (ev) => {
    ev.preventDefault();
    const value = field.value.replaceAll(" ", "");
    if (value) send({ action: "rate", target: part.key, value });
  };
  return form;
}

/** What was changed of single parts, each with a button that takes it back. */
const buildChanges = ({ edits }, words, send) =>
  el(
    "ul",
    ...edits.map(({ target, text }) => {
      const name = { "aria-label": `${words.takeBack}: ${text}` },
        act = () => send({ drop: target });
      return el("li", text, button(`drop=${target}`, "×", act, name));
    }),
  );

function buildHistory(editing, words, send) {
  const buttons = ["undo", "redo", "reset"].map((name) =>
    button(name, words[name], () => send({ history: name }), { disabled: !editing[name] }),
  );
  return group(words.history, buttons);
}

/** The whole machine, to be taken along. */
const buildCopies = ({ code, yaml }, words, copy) =>
  group(words.copies, [
    button("copy=python", words.copyPython, () => copy(code)),
    button("copy=yaml", words.copyYaml, () => copy(yaml)),
  ]);
