// A small code editor for a Streamlit component: line numbers, colours, Tab indents, one line can be marked as wrong.
// Data is only ever written with textContent or as a textarea's value, never as markup.
const PYTHON = "def|for|in|while|if|elif|else|yield|from|return|import|as|not|and|or|lambda|pass|break|continue|range" +
  "|None|True|False";
const TEXT = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const WORDS = new RegExp(String.raw`(#.*)|(${TEXT})|\b(${PYTHON})\b|\b(\d+)\b|\b(copy|reduce|repeat)\b`, "g");
const KINDS = ["note", "text", "word", "number", "step"];

export function pieces(code) {
  const out = []; let at = 0;
  for (const m of code.matchAll(WORDS)) {
    if (m.index > at) out.push(["", code.slice(at, m.index)]);
    out.push([KINDS[m.slice(1).findIndex(x => x !== undefined)], m[0]]);
    at = m.index + m[0].length;
  }
  if (at < code.length) out.push(["", code.slice(at)]);
  return out;
}

/** The text and selection after Tab, Shift-Tab or Enter: indents by four, keeps the indentation of the line before. */
export function typed(key, back, text, from, to) {
  const first = text.lastIndexOf("\n", from - 1) + 1;
  if (key === "Enter") {
    const before = text.slice(first, from);
    const indent = before.match(/^ */)[0] + (/:\s*(#.*)?$/.test(before) ? "    " : "");
    return [text.slice(0, from) + "\n" + indent + text.slice(to), from + 1 + indent.length, from + 1 + indent.length];
  }
  if (!back && from === to) return [text.slice(0, from) + "    " + text.slice(to), from + 4, from + 4];
  const lines = text.slice(first, to).split("\n");
  const moved = lines.map(l => (back ? l.replace(/^ {1,4}/, "") : "    " + l)), joined = moved.join("\n");
  const start = Math.max(first, from + moved[0].length - lines[0].length);
  return [text.slice(0, first) + joined + text.slice(to), start, first + joined.length];
}

const MOUNTS = new WeakMap();

function build(root) {
  const box = root.querySelector(".editor"), area = box.querySelector("textarea");
  const s = { area, box, timer: 0, leave: false };
  const show = () => {
    const lines = area.value.split("\n").length;
    box.querySelector(".lines").replaceChildren(...Array.from({ length: lines }, (_, i) => {
      const b = document.createElement("span"), bad = i + 1 === s.line;
      b.textContent = String(i + 1); b.className = bad ? "bad" : ""; return b;
    }));
    box.querySelector(".paint").replaceChildren(...pieces(area.value + "\n").map(([kind, text]) => {
      const b = document.createElement("span"); b.className = kind; b.textContent = text; return b;
    }));
    const bar = box.querySelector(".bar");
    bar.style.display = s.line ? "block" : "none"; bar.style.top = `${10 + 22 * ((s.line ?? 1) - 1)}px`;
    box.querySelector(".inner").style.height = `${lines * 22 + 30}px`;
  };
  const send = delay => {
    clearTimeout(s.timer);
    s.timer = setTimeout(() => s.send?.("code", { text: area.value, turn: s.turn }), delay);
  };
  area.addEventListener("input", () => { s.line = null; show(); send(600); });
  area.addEventListener("keydown", e => {
    e.stopPropagation();
    if (e.key === "Escape") { s.leave = true; return; }
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { send(0); return; }
    if ((e.key === "Tab" && !s.leave) || (e.key === "Enter" && !e.shiftKey && !e.isComposing)) {
      e.preventDefault();
      const [text, from, to] = typed(e.key, e.shiftKey, area.value, area.selectionStart, area.selectionEnd);
      area.value = text; area.setSelectionRange(from, to); s.line = null; show(); send(600);
    }
    s.leave = false;
  });
  s.show = show;
  return s;
}

export default function ({ data, parentElement, setStateValue }) {
  let s = MOUNTS.get(parentElement);
  if (!s) { s = build(parentElement); MOUNTS.set(parentElement, s); }
  s.send = setStateValue;
  s.area.setAttribute("aria-label", data.label);
  s.box.classList.toggle("tall", Boolean(data.tall));
  if (s.turn !== data.turn) { s.turn = data.turn; s.area.value = data.code; }
  s.line = s.area.value === data.code ? data.line : s.line;
  s.box.dataset.line = s.line ?? "";
  s.show();
}
