// The head of the simple page: the bytes that each GPU sends, as factors, and the one button.

import { el, setText } from "../player/draw/elements.js";
import { NB, fmtSpan, splitBytes, three } from "../player/model/units.js";
import { counted } from "./trackdraw.js";
import { fill } from "../words/choice.js";

const spell = (className, ...kids) => el("span", { className }, ...kids);

/** The headline: what each GPU sends = whole x parts x buffer, a word under each. */
export function buildVolume(simple) {
  const { words, data } = simple,
    run = data.runs[0],
    all = run.sent ?? run.most,
    [number, unit] = splitBytes(all),
    says = el("small");
  const factor = (big, small) => spell("factor", spell("big", ...big), el("small", small));
  const lead = spell("what", `${run.sent == null ? words.busiest : words.each} `, el("b", number), ` ${unit}`);
  const box = el("div.volume", el("div.title", data.title));
  const line = el("div.product", spell("factor lead", lead, says));
  if (run.factors) {
    const [whole, above, below, nbytes] = run.factors,
      [size, of] = splitBytes(nbytes);
    const parts = spell("frac", spell("over", String(above)), spell("under", String(below)));
    line.append(spell("sign", "="));
    const times = words.whole[whole] ?? fill(words.times, { times: whole });
    if (whole > 1) line.append(factor([String(whole)], times), spell("sign", "×"));
    line.append(factor([parts], fill(words.parts, { above, below })), spell("sign", "×"));
    line.append(factor([size, spell("unit", ` ${of}`)], words.buffer));
  }
  box.append(line);
  simple.countSays = says;
  return box;
}

/** What all have sent so far, under the headline. */
export function drawCount(simple, sent) {
  const { words, model, countSays } = simple;
  if (!countSays) return;
  const ranks = sent.subarray(0, model.ranks),
    goal = model.goalSent,
    low = counted(Math.min(...ranks), goal),
    high = counted(Math.max(...ranks), goal),
    even = low[0] === counted(goal, goal)[0] ? words.counted.all : fill(words.counted.sofar, { now: low[0] }),
    text = !simple.track
      ? fill(words.sofar, { now: high.join(NB) })
      : low[0] === high[0]
        ? even
        : fill(words.uneven, { low: low[0], high: high[0] });
  setText(countSays, text);
}

/** The button: what one card takes and what all take; null where there is nothing to turn on. */
export function buildCards(simple) {
  const { words, data } = simple,
    [single, all] = data.runs;
  if (!all) return null;
  const by = all.cards > 1 ? "cards" : "channels",
    count = all[by],
    on = simple.all;
  const head = on ? words.single[by] : fill(words.use[by], { count });
  const bar = (name, time, now) =>
    spell(
      `bar${now ? " now" : ""}`,
      spell("name", name),
      spell("track", el("i", { style: `width:${(100 * time) / single.time}%` }), el("b", fmtSpan(time))),
    );
  return el(
    "button.cards",
    { "aria-pressed": on, onclick: () => simple.turnCards(!simple.all) },
    spell("act", head, el("kbd", "8")),
    bar(words.now[by], single.time, !on),
    bar(fill(words.all[by], { count }), all.time, on),
    spell("gain", fill(words.faster, { times: three(single.time / all.time) })),
  );
}
