// Chinese words of transport.

export default {
  speed: "速度",
  play: "播放（空格）",
  pause: "暂停（空格）",
  first: "回到开头（Home）",
  back: "后退（←）",
  next: "前进（→）",
  link: "复制此刻的链接",
  copied: "链接已复制",
  full: "全屏（F）",
  time: "时间",
};
