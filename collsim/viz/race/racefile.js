// A moment of a race as the text of an SVG file: what is said, and every runner's stage with what its ranks have sent.

import { put } from "../player/draw/canvas.js";
import { SvgContext } from "../player/export/svgcontext.js";
import { TOKENS } from "../player/model/look.js";
import { NB, timeUnit } from "../player/model/units.js";
import { drawPage } from "../player/ui/picture.js";
import { drawTraffic } from "./traffic.js";

const HEAD = 92, // px above the runners, for what is said
  NAMES = 56, // px above a stage, for the name of its runner
  LEAST = 420, // px that a stage is wide at least
  GAP = 28;

/** Where the middle of an endpoint is in a stage of this width. */
const middleIn =
  ({ tl: { devices, stage } }, wide) =>
  (endpoint) => {
    const device = devices.endpoint.indexOf(endpoint);
    return device < 0 ? undefined : (wide / stage.w) * (devices.x[device] + devices.w[device] / 2);
  };

export function drawRaceSvg(race) {
  const { clock, cards } = race,
    wide = Math.max(LEAST, ...cards.map(({ traffic }) => traffic?.w ?? 0)),
    stages = cards.map(({ player: { model } }) => Math.round((model.tl.stage.h * wide) / model.tl.stage.w)),
    tall = Math.max(...stages),
    below = Math.max(0, ...cards.map(({ traffic }) => traffic?.h ?? 0)),
    ctx = new SvgContext(40 + cards.length * (wide + GAP) - GAP, HEAD + NAMES + tall + below + 40),
    light = { ...race, colors: TOKENS.light },
    unit = timeUnit(clock.total),
    parts = Array.from(race.verdict.children, (part) => part.textContent),
    verdict = parts.join(" ").trim(),
    said = verdict || race.words.label;
  drawPage(ctx, verdict, ctx.width, ctx.height);
  cards.forEach((run, q) => {
    ctx.save();
    ctx.translate(20 + q * (wide + GAP), HEAD);
    put(ctx, run.parts.title.textContent, 0, 20, 20, TOKENS.light.ink, { bold: true });
    put(ctx, run.parts.pace.textContent, 0, 42, 14, TOKENS.light.ink2);
    ctx.translate(0, NAMES);
    ctx.save();
    run.player.drawInto(ctx, wide);
    ctx.restore();
    ctx.translate(0, tall + 8);
    const middleOf = middleIn(run.player.model, wide);
    if (run.traffic) drawTraffic(light, { ...run, traffic: { ...run.traffic, ctx, middleOf } }, clock.t);
    ctx.restore();
  });
  put(ctx, `${unit.num(clock.t)}${NB}/${NB}${unit.fmt(clock.total)}`, 20, ctx.height - 14, 14, TOKENS.light.ink2);
  return ctx.finish(said, { t: Number(clock.t.toPrecision(9)) });
}
