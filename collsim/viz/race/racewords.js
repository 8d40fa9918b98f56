// What a race says, in English and Chinese.

import { NB } from "../player/model/units.js";
import { TRANSPORT_WORDS } from "../transport/transport.js";

export const RACE_WORDS = {
  en: {
    ...TRANSPORT_WORDS.en,
    busiest: "Busiest cable carries",
    delivered: "bytes delivered, of all that must move",
    finish: "finish",
    busbw: "busbw",
    label: "collsim race",
    step: (s, n) => `step ${s} of ${n}`,
    position: (p) => `${p}${["th", "st", "nd", "rd"][p % 10 < 4 && (p % 100 < 11 || p % 100 > 13) ? p % 10 : 0]}`,
    of: (t, u) => `${t} of ${u}`,
    wins: (n, t) => `${n} is finished after ${t}.`,
    done: "finished",
    comma: ", ",
    value: (t, n, model) => `${t}, ${n} of ${model} finished`,
    reduce: "reduce: added on arrival; fill = share of the sum",
    copy: "copy",
    cable: "cable: width = capacity, core = bytes so far",
    used: "used:",
    wait: "landed; waits for the end of the step",
    range: [`<75${NB}%`, `75 to 95${NB}%`, `>95${NB}%`],
  },
  zh: {
    ...TRANSPORT_WORDS.zh,
    busiest: "最忙的线缆传输",
    delivered: "已送达的字节，占需传输总量的比例",
    finish: "用时",
    busbw: "busbw",
    label: "collsim 竞速",
    step: (s, n) => `第 ${s} 步，共 ${n} 步`,
    position: (p) => `第 ${p}`,
    of: (t, u) => `${t} / ${u}`,
    wins: (n, t) => `${n} 用 ${t} 完成。`,
    done: "已完成",
    comma: "，",
    value: (t, n, model) => `${t}，${model} 个中已有 ${n} 个完成`,
    reduce: "reduce：到达后累加；填充 = 已累加的份额",
    copy: "copy",
    cable: "线缆：粗细 = 容量，芯 = 已传字节",
    used: "占用：",
    wait: "已到达，等本步结束",
    range: [`<75${NB}%`, `75–95${NB}%`, `>95${NB}%`],
  },
};

export const raceWords = (race) => RACE_WORDS[race.data?.language === "zh" ? "zh" : "en"];
