// Chinese words of program.

import transport from "./transport_words.js";

export default {
  ...transport,
  rank: "rank",
  sent: "发送",
  received: "接收",
  waited: "等待",
  label: "各 rank 的时间线：空格播放，方向键逐个事件前进",
};
