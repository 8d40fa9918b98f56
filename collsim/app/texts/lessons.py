"""Words of the Lessons page, in English and Chinese; what the lessons say stands in `collsim/lessons/chapters`."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.lessons": ("Lessons", "课程"),
    "lessons.list": ("Lessons", "课程"),
    "lessons.count": ("Lesson {number} of {all}", "第 {number} 课，共 {all} 课"),
    "lessons.part": (", part {number} of {all}: {title}", "，第 {number} 部分，共 {all} 部分：{title}"),
    "lessons.notebook": (
        "In the notebook {notebook} you write it yourself; its exercises: {exercises}.",
        "在 notebook {notebook} 中自己动手写；其中的练习：{exercises}。",
    ),
    "lessons.predict": ("Predict first, then look", "先预测，再看"),
    "lessons.right": ("Right.", "正确。"),
    "lessons.wrong": ("No.", "不对。"),
    "lessons.again": ("Hide the answer", "隐藏答案"),
    "lessons.waits": (
        "The answer, and what follows from it, appear when you choose.",
        "选择之后显示答案，以及由此得出的结论。",
    ),
    "lessons.next": ("Next lesson", "下一课"),
    "lessons.back": ("Previous lesson", "上一课"),
    "lessons.nextpart": ("Next part", "下一部分"),
    "lessons.backpart": ("Previous part", "上一部分"),
    "lessons.done": ("answered", "已回答"),
    "lessons.table": ("Figures of this lesson", "本课数据"),
}
