// Parts of a machine's picture that can be changed: its devices and its cables, each by the name that Python knows.

import { distanceTo, measure, pointAt } from "../model/geometry.js";
import { deviceName, linkName } from "../model/names.js";
import { textAt } from "../model/read.js";
import { fmtRate } from "../model/units.js";

const NODE = /^node\d+\//;

/** The name of a device of the picture; in an open node, which is drawn like its first, with its own number. */
function nameOfDevice(model, device) {
  const name = model.tl.devices.name[device];
  return model.node != null && device < model.strip ? name.replace(NODE, `node${model.node}/`) : name;
}

/** Both names of a cable: it is the same from both ends. */
export const cableKeys = (key) => [key, key.split("~").reverse().join("~")];

/**
 * Everything that can be chosen, in the order in which the keyboard goes through it: {type, index, key, kind, title,
 * note, isRank, x, y}, where x and y are its middle on the stage.
 */
export function listParts(model, words, language) {
  return [...listDevices(model, words, language), ...listCables(model, words, language)];
}

function listDevices(model, words, language) {
  const { devices } = model.tl;
  return Array.from(devices.x, (x, index) => ({
    type: "device",
    index,
    key: nameOfDevice(model, index),
    kind: devices.kind[index],
    title: deviceName(model, index, words, language),
    note: "",
    isRank: devices.endpoint[index] >= 0,
    x: x + devices.w[index] / 2,
    y: devices.y[index] + devices.h[index] / 2,
  }));
}

function listCables(model, words, language) {
  const { links } = model.tl,
    seen = new Set(),
    cables = [];
  for (let index = 0; index < links.src.length; index++) {
    if (!links.path[index]?.length) continue;
    const key = `${nameOfDevice(model, links.src[index])}~${nameOfDevice(model, links.dst[index])}`;
    if (cableKeys(key).some((name) => seen.has(name))) continue;
    seen.add(key);
    const line = measure(links.path[index]),
      { x, y } = pointAt(line, line.len / 2, {});
    cables.push({
      ...{ type: "link", index, key, kind: links.kind[index], isRank: false, x, y },
      title: linkName(model, index, words, language).replace("→", "–"),
      note: `${textAt(links.label, index, language)}, ${fmtRate(links.bandwidth[index])} ${words.perDir}`,
    });
  }
  return cables;
}

/**
 * The part that a point of the stage means: the device under it, else the device or cable that is nearest within
 * `reach` = {cable, device}; null where there is none.
 */
export function partAt(model, parts, x, y, reach) {
  const { devices, links } = model.tl,
    distances = parts
      .filter(({ type }) => type === "device")
      .map((part) => [distanceToBox(devices, part.index, x, y), part]);
  const under = distances.findLast(([away]) => away === 0);
  if (under) return under[1];
  let [least, best] = [1, null]; // as a share of the reach
  for (const [away, part] of distances) if (away < least * reach.device) [least, best] = [away / reach.device, part];
  for (let l = 0; l < links.src.length; l++) {
    const away = links.path[l]?.length ? distanceTo(links.path[l], x, y) : Infinity;
    if (away >= least * reach.cable) continue;
    const names = [nameOfDevice(model, links.src[l]), nameOfDevice(model, links.dst[l])].join("~"),
      cable = parts.find(({ type, key }) => type === "link" && cableKeys(key).includes(names));
    if (cable) [least, best] = [away / reach.cable, cable];
  }
  return best;
}

function distanceToBox({ x, y, w, h }, index, px, py) {
  const across = Math.max(x[index] - px, 0, px - x[index] - w[index]),
    down = Math.max(y[index] - py, 0, py - y[index] - h[index]);
  return Math.hypot(across, down);
}
