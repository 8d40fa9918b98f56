// What the card of a step says, in English and Chinese.

import { fmtBytes, fmtSpan, NB } from "../player/model/units.js";
import { TRANSPORT_WORDS } from "../transport/transport.js";
import { happening } from "./stepgeometry.js";

const upper = (s) => s.charAt(0).toUpperCase() + s.slice(1);

export const STEP_WORDS = {
  en: {
    ...TRANSPORT_WORDS.en,
    label: "collsim training step",
    one: "One GPU",
    all: (n) => `All ${n}`,
    gpus: "GPUs",
    memory: "Memory",
    peak: (b) => `peak ${b}`,
    compute: "Compute",
    queue: "ready, waits its turn",
    network: "Network",
    alone: (g) => `GPU ${g}`,
    alike: (g, n) => `GPU ${g}; the other ${n - 1} alike`,
    range: (a, b) => `GPU ${a} to ${b}, alike`,
    more: (n) => `and ${n} more, alike`,
    ghost: "thin: without the switches",
    idle: "idle: no gradient yet",
    waits: (s) => `waits ${s}`,
    pass: { forward: "forward", backward: "backward", after: "waits and copies", optimizer: "update" },
    box: { forward: "forward", backward: "backward", copy: "copies", optimizer: "update" },
    bucket: "bucket",
    layers: (a, b) => (a === b ? a : `${a} … ${b}`),
    kinds: {
      weights: "weights",
      other: "optimizer, buckets, inputs",
      gradients: "gradients",
      activations: "activations",
    },
    open: (c) => `Open ${c.name}: ${c.kind}, ${fmtBytes(c.nbytes)}, ${fmtSpan(c.end - c.begin)}`,
    opened: (name) => `${upper(name)}, opened`,
    hint: "Click a box on the network lane: its collective opens here, at that moment.",
    pending: "Its links are being worked out.",
    close: "Close (Esc)",
    explore: "Open in Explore",
    carries: "Carries",
    gradients: (n, l) => (n ? `${n} gradients, ${l}` : ""),
    ready: "Ready at",
    turn: (s) => `waits ${s} for its turn`,
    atonce: "and sent at once",
    runs: "Runs for",
    links: (s, n) => `${s} on the links alone, ${n} steps`,
    exposed: "Exposed",
    hidden: (s) => `the other ${s} are hidden`,
    step: (k, n) => `step ${k} of ${n}`,
    before: "not begun",
    over: "finished",
    comma: ", ",
    change: "What would change it",
    each: "each alone, old → new",
    perBatch: "per old batch",
    switches: {
      overlap: "Overlap off",
      network: "Network × 2",
      hook: "fp16 hook",
      accumulate: "Accumulate 4 (no_sync)",
      first: "First step",
    },
    size: "Bucket size",
    curve: "step time over the bucket size, log",
    usual: "torch’s default: 25 MiB, the first 1 MiB",
    useUsual: "Back to torch’s default",
    best: (b, s) => `Best single size: ${b}, ${s}.`,
    legend: {
      bucket: "a bucket: its backward, its allreduce",
      exposed: "exposed: GPU waits",
      chain: "critical chain",
      queue: "ready, waits its turn",
      ghost: "network without the switches",
    },
    narrate: narrateEn,
  },
  zh: {
    ...TRANSPORT_WORDS.zh,
    label: "collsim 训练步",
    one: "一个 GPU",
    all: (n) => `全部 ${n} 个`,
    gpus: "GPU",
    memory: "显存",
    peak: (b) => `峰值 ${b}`,
    compute: "计算",
    queue: "已就绪，排队",
    network: "网络",
    alone: (g) => `GPU ${g}`,
    alike: (g, n) => `GPU ${g}，其余 ${n - 1} 个相同`,
    range: (a, b) => `GPU ${a}–${b}，彼此相同`,
    more: (n) => `另有 ${n} 个，相同`,
    ghost: "细条：不带开关时",
    idle: "空闲：尚无梯度",
    waits: (s) => `等待 ${s}`,
    pass: { forward: "前向", backward: "反向", after: "等待与复制", optimizer: "更新" },
    box: { forward: "前向", backward: "反向", copy: "复制", optimizer: "更新" },
    bucket: "桶",
    layers: (a, b) => (a === b ? a : `${a} … ${b}`),
    kinds: { weights: "权重", other: "优化器、桶、输入", gradients: "梯度", activations: "激活值" },
    open: (c) => `打开 ${c.name}：${c.kind}，${fmtBytes(c.nbytes)}，${fmtSpan(c.end - c.begin)}`,
    opened: (name) => `${nameZh(name)}（已打开）`,
    hint: "点击网络泳道上的一个方块：它的集合通信会在这里、从那一刻打开。",
    pending: "正在计算它的链路。",
    close: "关闭（Esc）",
    explore: "在“探索”中打开",
    carries: "数据量",
    gradients: (n, l) => (n ? `${n} 个梯度，${l}` : ""),
    ready: "就绪时刻",
    turn: (s) => `排队 ${s}`,
    atonce: "立即发送",
    runs: "用时",
    links: (s, n) => `仅链路需 ${s}，${n} 步`,
    exposed: "暴露",
    hidden: (s) => `其余 ${s} 被掩盖`,
    step: (k, n) => `第 ${k} 步，共 ${n} 步`,
    before: "尚未开始",
    over: "已完成",
    comma: "，",
    change: "什么会改变它",
    each: "各自单独，原 → 新",
    perBatch: "按原批量计",
    switches: {
      overlap: "关闭重叠",
      network: "网络 × 2",
      hook: "fp16 hook",
      accumulate: "累积 4 次（no_sync）",
      first: "第一步",
    },
    size: "桶的大小",
    curve: "一步用时随桶的大小变化，对数轴",
    usual: "torch 默认：25 MiB，第一个 1 MiB",
    useUsual: "恢复 torch 默认值",
    best: (b, s) => `最佳的单一大小：${b}，${s}。`,
    legend: {
      bucket: "一个桶：它的反向与 allreduce",
      exposed: "暴露：GPU 在等待",
      chain: "关键链",
      queue: "已就绪，排队",
      ghost: "不带开关时的网络",
    },
    narrate: narrateZh,
  },
};

export const stepWords = (ui) => STEP_WORDS[ui.data?.language === "zh" ? "zh" : "en"];

const nameZh = (name) => name.replace(/^bucket /, `桶${NB}`);

const list = (rows, name, comma) => rows.map((c) => name(c.name)).join(comma);

/** [bold, rest]: what the GPUs of a lane do at t, and what is on the network. */
function narrateEn(step, t, fmt) {
  const { box, waits, carries, queued } = happening(step, t),
    rest = [];
  if (carries)
    rest.push(`${upper(carries.name)} (${fmtBytes(carries.nbytes)}) is on the network until ${fmt(carries.end)}.`);
  else if (t < step.time) rest.push("The network is idle.");
  if (queued.length)
    rest.push(
      `${upper(list(queued, (n) => n, ", "))} ${queued.length > 1 ? "are" : "is"} ready and wait${
        queued.length > 1 ? "" : "s"
      }: buckets go out in order, one at a time.`,
    );
  return [boldEn(step, t, box, waits, fmt), rest.join(" ")];
}

function boldEn(step, t, box, waits, fmt) {
  if (t >= step.time) return `The step has ended at ${fmt(step.time)}.`;
  if (waits) return `Every GPU of this lane waits for the network, from ${fmt(waits[1])} to ${fmt(waits[2])}.`;
  if (!box) return "The GPU has nothing to do.";
  if (box.kind === "forward") return `Forward pass, until ${fmt(box.t1)}.`;
  if (box.kind === "copy") return "Reduced gradients are copied out of their buckets.";
  if (box.kind === "optimizer") return "The optimizer updates the weights.";
  return box.bucket < 0
    ? `Backward pass, until ${fmt(box.t1)}: nothing is sent for it yet.`
    : `Backward pass: the gradients of bucket ${box.bucket} are ready at ${fmt(box.t1)}.`;
}

function narrateZh(step, t, fmt) {
  const { box, waits, carries, queued } = happening(step, t),
    rest = [];
  if (carries)
    rest.push(`${nameZh(carries.name)}（${fmtBytes(carries.nbytes)}）正在网络上，到 ${fmt(carries.end)} 为止。`);
  else if (t < step.time) rest.push("网络空闲。");
  if (queued.length) rest.push(`${list(queued, nameZh, "、")} 已就绪，在排队：桶按顺序逐个发送。`);
  return [boldZh(step, t, box, waits, fmt), rest.join("")];
}

function boldZh(step, t, box, waits, fmt) {
  if (t >= step.time) return `这一步在 ${fmt(step.time)} 结束。`;
  if (waits) return `这一泳道的 GPU 都在等待网络，从 ${fmt(waits[1])} 到 ${fmt(waits[2])}。`;
  if (!box) return "GPU 无事可做。";
  if (box.kind === "forward") return `前向传播，到 ${fmt(box.t1)} 为止。`;
  if (box.kind === "copy") return "正在把归约后的梯度从桶中复制出来。";
  if (box.kind === "optimizer") return "优化器正在更新权重。";
  return box.bucket < 0
    ? `反向传播，到 ${fmt(box.t1)} 为止：还没有为它发送任何数据。`
    : `反向传播：桶${NB}${box.bucket} 的梯度在 ${fmt(box.t1)} 就绪。`;
}
