// Chinese words of the menu of files.

export default {
  title: "复制为：图片、动画、网页、幻灯片",
  copyAs: "复制为",
  making: "正在生成文件。",
  saved: (name) => `已保存 ${name}`,
  frameCopied: (name) => `<iframe> 已复制；请把 ${name} 放在文章旁边`,
  kinds: {
    svg: ["SVG", "这一步的画面，矢量图"],
    png: ["PNG", "这一步的画面，含图表"],
    gif: ["GIF", "整个运行的动画，可放进幻灯片"],
    mp4: ["MP4", "整个运行的影片"],
    nofilm: ["MP4", "需要 ffmpeg，运行本应用的机器上没有安装"],
    html: ["HTML", "一个离线网页，打开时停在这一步"],
    frame: ["<iframe>", "用于文章的框架，停在该网页的这一步"],
    slide: ["幻灯片视图（S）", "只有画面和说明文字；按 Esc 退出"],
  },
};
