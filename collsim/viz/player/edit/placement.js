// Where the panel of a part goes: beside it, over as little of the machine as can be, and never over a switch.

const APART = 22; // between a part and its panel
const EDGE = 4; // of the card
const SWITCHES = new Set(["switch", "nvswitch"]);
/** What a covered square pixel counts: of the part itself, of what the part ends at and of switches, of the rest. */
const COSTS = { own: 1e6, near: 1e4, other: 1 };

/**
 * The corner {left, top} of a panel of `wide` x `tall` pixels. `boxes` = [{left, top, right, bottom, cost}] are the
 * parts on the stage, the first one the part itself; `room` = {width, bottom} is what of the card is seen.
 */
export function choosePlace(boxes, wide, tall, room) {
  const [own] = boxes,
    clamp = (value, most) => Math.max(EDGE, Math.min(value, most)),
    middle = (own.top + own.bottom) / 2 - tall / 3;
  let best = { left: 0, top: 0, cost: Infinity };
  for (const x of [own.right + APART, own.left - APART - wide, EDGE, room.width - wide])
    for (const y of [middle, own.bottom + APART, own.top - APART - tall, EDGE, room.bottom - tall]) {
      const left = clamp(x, room.width - wide - EDGE),
        top = clamp(y, room.bottom - tall - 2 * EDGE),
        away = Math.hypot(left + wide / 2 - (own.left + own.right) / 2, top + tall / 2 - (own.top + own.bottom) / 2),
        covered = boxes.reduce((sum, box) => sum + box.cost * overlap(box, left, top, wide, tall), 0),
        cost = covered + away;
      if (cost < best.cost) best = { left, top, cost };
    }
  return best;
}

function overlap(box, left, top, wide, tall) {
  const across = Math.min(box.right, left + wide) - Math.max(box.left, left),
    down = Math.min(box.bottom, top + tall) - Math.max(box.top, top);
  return Math.max(0, across) * Math.max(0, down);
}

/** The boxes of `choosePlace` for a part of a model; `toCard(x, y)` are pixels of the card for a point of the stage. */
export function listBoxes({ tl }, part, toCard) {
  const { devices, links } = tl,
    ends = part.type === "link" ? [links.src[part.index], links.dst[part.index]] : [],
    all = Array.from(devices.x, (x, index) => {
      const [left, top] = toCard(x, devices.y[index]),
        [right, bottom] = toCard(x + devices.w[index], devices.y[index] + devices.h[index]),
        isNear = ends.includes(index) || SWITCHES.has(devices.kind[index]);
      return { left, top, right, bottom, cost: isNear ? COSTS.near : COSTS.other };
    });
  if (part.type === "device") {
    const [own] = all.splice(part.index, 1);
    return [{ ...own, cost: COSTS.own }, ...all];
  }
  const [x, y] = toCard(part.x, part.y);
  return [{ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5, cost: COSTS.own }, ...all];
}
