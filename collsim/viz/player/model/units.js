// Bytes, rates, shares and times as they are read.

import palette from "../../../display/palette.json" with { type: "json" };

import { bandOf } from "./order.js";

export const NB = "\u00a0"; // no-break space between a number and its unit

/** A space between a digit and a unit. */
const UNIT_SPACE = new RegExp(palette.number_unit_space, "g");

/** A text, or a document with all its texts, in which each number keeps to its unit: data come with plain spaces. */
export function bindUnits(value) {
  if (typeof value === "string") return value.replace(UNIT_SPACE, NB);
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(bindUnits);
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, bindUnits(part)]));
}

export const three = (x) => (Math.abs(x) >= 1000 ? String(Math.round(x)) : String(Number(x.toPrecision(3))));

/** The same with zeros at the end, so that figures under one another have as many digits. */
export const threeDigits = (x) => (Math.abs(x) >= 1000 ? String(Math.round(x)) : x.toPrecision(3));

/** @type {[number, string][]} */
export const BYTE_UNITS = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/**
 * 134217728 -> ["128", "MiB"].
 * @returns {[string, string]}
 */
export function splitBytes(b) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (u < 4 && Math.abs(b) >= 1023.5) {
    b /= 1024;
    u++;
  }
  return [three(b), units[u]];
}

/** 134217728 -> "128 MiB". */
export const fmtBytes = (b) => splitBytes(b).join(NB);

/** A share as "8.3 %", "79 %", "99.5 %". */
export function fmtShare(x) {
  const p = 100 * x;
  return (p > 0 && p < 10) || (p > 95 && p < 99.95) ? `${Number(p.toFixed(1))}${NB}%` : `${Math.round(p)}${NB}%`;
}

/** A share in whole percent. */
export const percent = (share) => `${Math.round(100 * share)}${NB}%`;

const RATES = [
  [1e9, [1e9, "GB/s"]],
  [1e6, [1e6, "MB/s"]],
];

export function fmtRate(b) {
  const [factor, unit] = bandOf(b, RATES, [1e3, "kB/s"]);
  return three(b / factor) + NB + unit;
}

const TIMES = [
  [1, [1, "s"]],
  [1e-3, [1e3, "ms"]],
  [1e-6, [1e6, "µs"]],
];

/** One unit and one number of decimals for all times of a run of `total` seconds. */
export function timeUnit(total) {
  const [f, unit] = bandOf(total, TIMES, [1e9, "ns"]);
  const digits = total > 0 ? Math.max(0, 4 - Math.floor(Math.log10(total * f))) : 0;
  return {
    f,
    unit,
    digits: Math.min(3, digits),
    num: (t) => (t * f).toFixed(Math.min(3, digits)),
    fmt: (t) => (t * f).toFixed(Math.min(3, digits)) + NB + unit,
  };
}

export function fmtSpan(t) {
  const unit = timeUnit(t);
  return three(t * unit.f) + NB + unit.unit;
}

export function niceStep(range, count) {
  const raw = range / Math.max(1, count),
    p = 10 ** Math.floor(Math.log10(raw || 1));
  return p * ([1, 2, 5].find((k) => k * p >= raw * 0.999) ?? 10);
}

/** Round moments from 0 to `total`, at most about `count`: [{t, text}], the first with the unit of all. */
export function timeMarks(total, count) {
  const { f, unit } = timeUnit(total),
    apart = niceStep(total * f, count),
    last = apart > 0 ? Math.floor((total * f * 1.0001) / apart) : 0;
  return Array.from({ length: last + 1 }, (_, k) => ({
    t: (k * apart) / f,
    text: `${Number((k * apart).toPrecision(6))}${k ? "" : NB + unit}`,
  }));
}

export const niceInt = (x) =>
  [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000].find((k) => k >= x) ?? Math.ceil(x);
