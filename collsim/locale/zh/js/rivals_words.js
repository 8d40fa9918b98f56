// Chinese words of rivals.

import transport from "./transport_words.js";

export default {
  ...transport,
  label: "collsim 训练步竞速",
  sends: "最忙的 GPU 每步发送",
  peak: "各 GPU 的显存峰值",
  peakShort: "各 GPU 的显存峰值，GiB",
  leads: "第 1",
  times: (x) => `${x} 倍`,
  step: "一步",
  waitsFor: "GPU 等待",
  pass: { forward: "前向", backward: "反向", optimizer: "更新", copy: "复制" },
  kinds: { scatter: "散发", broadcast: "广播", gather: "收集", reduce: "归约", allreduce: "全归约" },
  nothing: "网络上没有数据",
  done: "已完成",
  nccl: "NCCL",
  copies: "逐份复制",
  how: "DataParallel 如何复制",
  legend: {
    wait: "GPU 在等待",
    bucket: "一个桶",
    copy: "copy",
    reduce: "reduce",
    weights: "权重",
    other: "优化器、桶、整个批次",
    gradients: "梯度",
    activations: "激活值",
    server: "参数服务器，在主机内存中",
  },
};
