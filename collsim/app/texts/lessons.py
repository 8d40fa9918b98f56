"""Words of the Lessons page, in English and Chinese; what the lessons say stands in `chapters.py`."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.lessons": ("Lessons", "课程"),
    "lessons.list": ("Lessons", "课程"),
    "lessons.count": ("Lesson {number} of {all}", "第 {number} 课，共 {all} 课"),
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
    "lessons.done": ("answered", "已回答"),
    "lessons.table": ("Figures of this lesson", "本课数据"),
}
