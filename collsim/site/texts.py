"""The words of the site's own controls, in English and Chinese."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "name": ("collsim: collective communication", "collsim：集合通信"),
    "story": ("Story", "故事"),
    "lessons": ("Lessons", "课程"),
    "gallery": ("Gallery", "图库"),
    "race": ("Race", "竞速"),
    "questions": ("Questions", "问题"),
    "other": ("中文", "English"),
    "algorithm": ("Algorithm", "算法"),
    "place": ("Machine or network", "机器或网络"),
    "ranks": ("Ranks", "Rank 数"),
    "reveal": ("Show the answer", "显示答案"),
    "answer": ("Your answer, with its unit", "您的答案，带单位"),
    "check": ("Check", "检查"),
    "right": ("Right.", "正确。"),
    "wrong": ("No.", "不对。"),
    "unclear": (
        "Write a number and its unit, for example 4.7 ms or 112 MiB.",
        "请写数字和单位，例如 4.7 ms 或 112 MiB。",
    ),
    "tally": ("{right} of {asked} right", "{asked} 题中答对 {right} 题"),
    "next": ("Next", "下一页"),
    "back": ("Back", "上一页"),
    "following": ("What follows from it (with the answer)", "由此得出什么（含答案）"),
    "notebook": (
        "In the notebook {notebook} you write it yourself; its exercises: {exercises}.",
        "在 notebook {notebook} 中自己动手写；其中的练习：{exercises}。",
    ),
    "played": (
        "The run plays in the app and on the site: lesson {number}.",
        "这次运行可在应用和网站的第 {number} 课中播放。",
    ),
    "now": ("What now?", "接下来做什么？"),
    "about": (
        "{runs} runs, computed beforehand: {algorithms} algorithms on {places} machines and networks. Nothing is "
        "installed and nothing is loaded from elsewhere; the pages also work from a USB stick.",
        "{runs} 次预先算好的运行：{algorithms} 种算法，{places} 种机器与网络。无需安装，不从别处加载任何东西；放在 "
        "U 盘上也能用。",
    ),
    "course": ("{place}, {ranks} ranks", "{place}，{ranks} 个 rank"),
    "racing": (
        "Allreduce of the same buffer on the same network, on one clock: what each has delivered at the same moment.",
        "在同一网络上对同样的数据做 allreduce，用同一个时钟：看每种算法在同一时刻送到了多少。",
    ),
    "asking": (
        "Predict first, then look. Every answer comes from the run.",
        "先预测，再看答案。每个答案都来自运行本身。",
    ),
    "script": ("These pages play animations and need JavaScript.", "这些页面播放动画，需要 JavaScript。"),
    "made": ("Made by collsim {version}.", "由 collsim {version} 生成。"),
    "time": ("time", "时间"),
    "show": ("Open the run", "打开这次运行"),
}
