// Chinese words of lab_step.

export default {
  label: "实测的训练步，在其预测之下",
  predicted: "预测",
  measured: "实测",
  both: (predicted, measured) => `预测 ${predicted}，实测 ${measured}：上为计算，下为所发送的。`,
  waits: "还没有实测：“运行”会启动进程。",
  forward: "前向：睡眠",
  bucket: { backward: "反向，颜色同所属的桶：睡眠", sent: "一个桶的全归约，真实发送" },
  layer: { backward: "一次前向或反向，颜色表示层：睡眠", sent: "一层的收集或归约，真实发送" },
  microbatch: { backward: "一次前向或反向，颜色表示微批：睡眠", sent: "一个微批的激活或梯度，真实发送" },
  sizes: "不同桶大小下一步的时间",
  curve: "下图：预测；圆点为实测（预测 → 实测）",
};
