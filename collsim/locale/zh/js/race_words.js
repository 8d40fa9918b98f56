// Chinese words of race.

import { NB } from "../../../viz/player/model/units.js";
import exports from "./export_words.js";
import transport from "./transport_words.js";

export default {
  exports,
  ...transport,
  busiest: "最忙的线缆传输",
  delivered: "已送达的字节，占需传输总量的比例",
  finish: "用时",
  busbw: "busbw",
  label: "collsim 竞速",
  step: (s, n) => `第 ${s} 步，共 ${n} 步`,
  position: (p) => `第 ${p}`,
  of: (time, all) => `${time} / ${all}`,
  wins: (n, t) => `${n} 用 ${t} 完成。`,
  done: "已完成",
  comma: "，",
  value: (t, n, model) => `${t}，${model} 个中已有 ${n} 个完成`,
  reduce: "reduce：到达后累加；填充 = 已累加的份额",
  copy: "copy",
  arc: "谁向谁发送；实线与虚线：缓冲区的两半",
  cable: "线缆：粗细 = 容量，芯 = 已传字节",
  used: "占用：",
  wait: "已到达，等本步结束",
  range: [`<75${NB}%`, `75–95${NB}%`, `>95${NB}%`],
  sent: "已发送",
  received: "已接收",
  out: "出 GB/s",
  into: "入 GB/s",
  traffic: (unit, most) => `左：发送，右：接收，${unit}；虚线：总量；标尺 ${most}`,
  end: (name, sent, received) => `${name}：发送 ${sent}，接收 ${received}`,
  less: (slow, fast) => `${slow}的 rank 比${fast}的 rank 发得少，却等得更久。`,
  same: (slow, fast) => `${slow}的 rank 与${fast}的 rank 发得一样多，却等得更久。`,
  more: (slow, fast) => `${slow}的 rank 比${fast}的 rank 发得多，也等得更久。`,
  hot: (slow, rank, times, fast) => `${slow}：rank ${rank} 收到的是“${fast}”中任一 rank 的 ${times} 倍，大家都在等它。`,
  gets: (rank, a, fast, b) => `rank ${rank} 收到 ${a} 个缓冲区，“${fast}”中一个 rank 至多收到 ${b} 个。`,
  buffers: (slow, a, fast, b) => `${slow}的每个 rank 最多发出 ${a} 个缓冲区，${fast}的每个 rank 发出 ${b} 个。`,
  meet: (name, into, out) => `但有 ${into} 个进入${name}、${out} 个从它出来：`,
  times: (slow, fast) => `${slow} 对 ${fast}。`,
};
