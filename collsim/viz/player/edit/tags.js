// What was changed of a machine, on its picture: an outline in ink, and a black tag that says what it was.

import { box, put, stroke, widthOf } from "../draw/canvas.js";
import { MIN_TEXT_PX, onScreen } from "../draw/ruler.js";
import { boxOf } from "../model/names.js";
import { cableKeys } from "./parts.js";

const MAX_TEXTS = 6; // of tags with the same text; the other parts have the outline alone

/** Draw `tags` = [{key, text}] of the parts that are on the stage. */
export function drawTags(ctx, view, parts, tags) {
  const counts = new Map(),
    byKey = new Map(parts.flatMap((part) => cableKeys(part.key).map((key) => [key, part])));
  for (const { key, text } of tags) {
    const part = byKey.get(key);
    if (!part) continue;
    outline(ctx, view, part);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (text && count <= MAX_TEXTS) drawText(ctx, view, part, text);
  }
}

/** A line in ink round a device, or along a cable. */
export function outline(ctx, view, { type, index }) {
  const { model, colors } = view,
    { devices, links } = model.tl;
  if (type === "link") {
    stroke(ctx, links.path[index], Math.max(1.6, onScreen(view, 1.6)), colors.ink);
    return;
  }
  const { x, y, w, h } = boxOf(devices, index);
  box(ctx, x - 2, y - 2, w + 4, h + 4, 6, null, colors.ink, Math.max(2.5, onScreen(view, 2)));
}

function drawText(ctx, view, part, text) {
  const { model, colors } = view,
    size = Math.max(12.5, onScreen(view, MIN_TEXT_PX)),
    wide = widthOf(ctx, text, size, true) + 10,
    tall = size + 6,
    { stage } = model.tl,
    edge = part.type === "device" ? model.tl.devices.h[part.index] / 2 : 0,
    away = part.isRank ? -edge : edge && edge + tall / 2, // chunks come to GPUs from above
    x = Math.min(stage.w - wide - 1, Math.max(1, part.x - wide / 2)),
    y = Math.min(stage.h - tall - 1, Math.max(1, part.y - away - tall / 2));
  box(ctx, x, y, wide, tall, 4, colors.ink);
  put(ctx, text, x + wide / 2, y + tall - 5, size, colors.card, { bold: true, align: "center" });
}
