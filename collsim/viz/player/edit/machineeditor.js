// Editing a machine on its picture: parts are chosen with the pointer, a finger or the keyboard; a panel opens.

import { el } from "../draw/elements.js";
import { fillPanel } from "./partpanel.js";
import { cableKeys, listParts, partAt } from "./parts.js";
import { choosePlace, listBoxes } from "./placement.js";
import { drawTags, outline } from "./tags.js";

/** Pixels on the screen within which a cable is meant, and a device; a finger is wide. */
const REACH = { mouse: { cable: 6, device: 0 }, touch: { cable: 20, device: 20 } };
const WIDE = 560; // of the card, pixels: a narrower one gets the panel as a sheet below

/**
 * The editor of a player. `ui` is what the parts of the player share; `editing` of its options is the document of
 * Python, without which nothing can be changed; `onEdit(value)` is told what is wanted; `copy(text)` puts a text on the
 * clipboard, and `redraw()` draws the stage again.
 */
export class MachineEditor {
  constructor(ui, words, { copy, redraw }) {
    this.ui = ui;
    this.words = words;
    this.copy = copy;
    this.redraw = redraw;
    this.parts = [];
    this.part = null;
    this.shown = null;
    this.arranged = "";
    this.panel = el("div.editpanel", { role: "dialog", hidden: true });
    this.buttons = el("div.partbuttons", { role: "group" });
    this.panel.addEventListener("keydown", (ev) => this.press(ev));
    this.buttons.addEventListener("keydown", (ev) => this.move(ev));
    ui.parts.card.append(this.panel);
    ui.parts.stage.append(this.buttons);
  }

  get editing() {
    return this.ui.opts.editing ?? null;
  }

  get isOn() {
    return !!this.editing && this.ui.state.view !== "logical";
  }

  /** Other data, another run or another language: the parts anew, and the open panel with what it says now. */
  update() {
    const { ui } = this;
    this.ui.parts.root.classList.toggle("editing", !!this.editing);
    this.shown = null;
    if (!ui.model || !this.isOn) {
      this.close();
      this.buttons.replaceChildren();
      return;
    }
    this.list();
    if (this.part) {
      this.part = this.parts.find(({ key }) => cableKeys(this.part.key).includes(key)) ?? this.part;
      this.fill();
    }
  }

  /** The parts of what is on the stage, and a button for each that only the keyboard meets. */
  list() {
    const { ui } = this,
      { shown, state } = ui,
      key = [state.k, state.ox, state.oy, state.language].join();
    if (this.shown === shown && this.arranged === key) return;
    const active = ui.parts.root.getRootNode().activeElement,
      focused = this.buttons.contains(active) && active.dataset.part;
    this.parts = listParts(shown, this.words(), state.language);
    [this.shown, this.arranged] = [shown, key];
    this.buttons.setAttribute("aria-label", this.words().edit.parts);
    this.buttons.replaceChildren(...this.parts.map((part, q) => this.buildButton(part, q)));
    if (focused) this.focusPart(focused);
  }

  /** The keyboard at the button of a part; at the first one where the part is gone. */
  focusPart(key) {
    const all = [...this.buttons.children],
      next = all.find((button) => button.dataset.part === key) ?? all[0];
    for (const button of all) button.tabIndex = button === next ? 0 : -1;
    next?.focus();
  }

  buildButton(part, q) {
    const { k, ox, oy } = this.ui.state,
      name = [part.title, part.note].filter(Boolean).join(", "),
      button = el("button", { "aria-label": name, tabIndex: q ? -1 : 0 });
    button.dataset.part = part.key;
    button.style.left = `${ox + part.x * k}px`;
    button.style.top = `${oy + part.y * k}px`;
    button.onclick = () => this.open(part, true);
    return button;
  }

  /** Arrows go from part to part. */
  move(ev) {
    const all = [...this.buttons.children],
      at = all.indexOf(ev.target),
      by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[ev.key];
    if (by == null || at < 0) return;
    ev.preventDefault();
    ev.stopPropagation();
    this.focusPart(all[(at + by + all.length) % all.length].dataset.part);
  }

  /** A click at a point of the stage; whether a part was meant. */
  click(x, y, isTouch) {
    if (!this.isOn) return false;
    this.list();
    const { cable, device } = isTouch ? REACH.touch : REACH.mouse,
      { k } = this.ui.state,
      part = partAt(this.ui.shown, this.parts, x, y, { cable: cable / k, device: device / k });
    if (part) this.open(part, false);
    else this.close();
    return !!part;
  }

  open(part, byKey) {
    this.part = part;
    this.panel.hidden = false;
    this.fill();
    this.redraw();
    if (byKey) this.panel.querySelector("button:not(.closer),select")?.focus();
  }

  close() {
    if (this.panel.hidden) return;
    const { part } = this,
      hadFocus = this.panel.contains(this.panel.getRootNode().activeElement);
    this.panel.hidden = true;
    this.part = null;
    this.redraw();
    if (hadFocus) this.focusPart(part.key);
  }

  fill() {
    const { part, editing } = this;
    this.panel.dataset.part = part.key;
    fillPanel(this.panel, {
      part,
      editing,
      words: this.words().edit,
      send: (value) => this.send(value),
      copy: this.copy,
      close: () => this.close(),
    });
    this.panel.classList.remove("busy");
    this.place();
  }

  send(value) {
    this.panel.classList.add("busy");
    this.ui.opts.onEdit?.(value);
  }

  /** Beside the part, or as a sheet below. */
  place() {
    const { ui, part, panel } = this,
      card = ui.parts.card.getBoundingClientRect(),
      stage = ui.parts.stage.getBoundingClientRect(),
      isSheet = card.width < WIDE;
    panel.classList.toggle("sheet", isSheet);
    if (isSheet) {
      panel.style.left = panel.style.top = "";
      return;
    }
    const { k, ox, oy } = ui.state,
      toCard = (x, y) => [
        stage.left - card.left + ox + x * k - ui.parts.stage.scrollLeft,
        stage.top - card.top + oy + y * k,
      ],
      bottom = Math.min(card.bottom, globalThis.innerHeight) - card.top, // of what is seen
      room = { width: card.width, bottom },
      { left, top } = choosePlace(listBoxes(ui.shown, part, toCard), panel.offsetWidth, panel.offsetHeight, room);
    panel.style.left = `${left}px`;
    panel.style.top = `${top}px`;
  }

  /** Keys of the panel are its own: the player does not hear them. */
  press(ev) {
    ev.stopPropagation();
    if (ev.key === "Escape") {
      ev.preventDefault();
      this.close();
    }
  }

  draw(ctx, view) {
    if (!this.isOn) return;
    this.list();
    drawTags(ctx, view, this.parts, this.editing.tags);
    const chosen = this.parts.find(({ key }) => key === this.part?.key);
    if (chosen) outline(ctx, view, chosen);
  }

  /** What of it changes the drawing. */
  get drawnKey() {
    return this.editing ? JSON.stringify([this.editing.tags, this.part?.key]) : "";
  }
}
