"""The app, the command line, the site and the pictures: `collsim.app`, `cli`, `site`, `viz`."""

TRANSLATIONS = {
    "say what to calibrate to: a log of nccl-tests, or --here for this computer": (
        "请说明按什么校准：nccl-tests 的日志，或用 --here 校准本机"
    ),
    "--here measures this computer and takes no log": "--here 测量本机，不接受日志",
    # the app
    "{text} has no GPU that NCCL or RCCL runs on": "{text} 没有 NCCL 或 RCCL 能运行的 GPU",
    "ranks={ranks} is too few; on {nodes} nodes there are at least {least}": (
        "ranks={ranks} 太少；{nodes} 个节点上至少有 {least} 个"
    ),
    "a question has 1 to {most} characters, not {count}": "题目须有 1 到 {most} 个字符，现有 {count} 个",
    "a question has 2 to {most} choices, not {count}": "题目须有 2 到 {most} 个选项，现有 {count} 个",
    "put a * before one choice, the right one; {count} have it": "请只在正确选项前加一个 *；现有 {count} 个选项带 *",
    "a choice has 1 to {most} characters, not {count}": "选项须有 1 到 {most} 个字符，现有 {count} 个",
    "two choices say the same": "有两个选项内容相同",
    "that is not packed code.": "这不是打包的代码。",
    "{characters} characters are too many.": "{characters} 个字符太长。",
    "{text!r} is neither on nor off": "{text!r} 既不是 on 也不是 off",
    "{what}={number} is too large; {what} is at most {most} here": "{what}={number} 太大；这里最多为 {most}",
    "sizes {text!r} are more than 200; use a larger factor": "数据量范围 {text!r} 多于 200 个；请用更大的倍数",
    "sizes {text!r} begin with 0 bytes, which has no place on a logarithmic axis; use 1 or more": (
        "数据量范围 {text!r} 从 0 字节开始，对数坐标轴上没有它的位置；请从 1 字节起"
    ),
    "t={given} is too large; t is at most {latest:.0f} here": "t={given} 太大；这里最多为 {latest:.0f}",
    "the topology in the address cannot be read": "链接中的拓扑无法读取",
    "the topology in the address is cut short or too long": "链接中的拓扑不完整或过长",
    "{characters:,} characters are more than a topology here may have ({most:,})": (
        "{characters:,} 个字符，超出拓扑文本的上限 {most:,}"
    ),
    "{ranks:,.0f} ranks are more than this page computes from a file; {most} is the most": (
        "文件描述了 {ranks:,.0f} 个 rank，超出本页的上限 {most}"
    ),
    "option {key}={size:.6g} is too large; {most} is the most here": "选项 {key}={size:.6g} 太大；这里最多为 {most}",
    "{nbytes:,} bytes are too many; a schedule file here has at most {most:,}": (
        "文件有 {nbytes:,} 字节；这里的调度文件最多 {most:,} 字节"
    ),
    "the file does not hold a schedule, but something else that collsim reads": (
        "文件中不是调度，而是 collsim 能读的其他内容"
    ),
    "the code of a class is four letters.": "课堂代码是四个字母。",
    "{variable}={given!r}: a join code is at least {length} letters or digits, of a-z and 0-9": (
        "{variable}={given!r}：加入码至少 {length} 个字符，只含 a-z 和 0-9"
    ),
    "{tabs}={given!r}: pages that one client may have open are a number from 1 to 1000": (
        "{tabs}={given!r}：一个客户端可同时打开的页面数应为 1 到 1000"
    ),
    "it is an algorithm for {its}, not for {collective}": "它是 {its} 的算法，不是 {collective} 的",
    "{algorithm} has no option {option}": "{algorithm} 没有选项 {option}",
    "the address does not hold the machine": "链接中没有包含这台机器",
    "{name}={value} is not a rank; with {ranks} ranks it is 0 to {last}": (
        "{name}={value} 不是一个 rank；共 {ranks} 个 rank 时可取 0 到 {last}"
    ),
    "{name} holds {what}, not a schedule; give the name of an algorithm or the file of a schedule": (
        "{name} 中是 {what}，不是调度；请给出算法名称，或调度文件"
    ),
    "{name} is the schedule of a file, which has no options; leave out --{option}": (
        "{name} 是文件中的调度，没有选项；请去掉 --{option}"
    ),
    "{name} has {count} ranks; leave out --ranks {ranks}": "{name} 有 {count} 个 rank；请去掉 --ranks {ranks}",
    "compare takes one collective, got {names}; algorithms are named by --algorithm": (
        "compare 只接受一种集合通信，现在是 {names}；算法请用 --algorithm 给出"
    ),
    "a race is of one collective, here of {collective}": "一次赛跑只比较一种集合通信，这里是 {collective}",
    "runner{number} is not there; runners are counted from 1 without a gap": (
        "没有 runner{number}；参赛者从 1 开始连续编号"
    ),
    "it is not name:value": "应写成 名称:值",
    # the command line
    "--synthesize is for one run alone; leave out --beside": "--synthesize 只用于单独的运行；请去掉 --beside",
    "--no-switches is for what is synthesized; add --synthesize": "--no-switches 只用于合成；请加上 --synthesize",
    "--{option} is for a collective; leave out --model": "--{option} 只用于集合通信；请去掉 --model",
    "--{option} is for a step of training; say of which --model": "--{option} 用于训练步；请用 --model 说明是哪个模型",
    "a table goes to a file ending in {known}, not {name!r}": "表格写入以 {known} 结尾的文件，而不是 {name!r}",
    "give {first} or -o {second}, not both": "{first} 和 -o {second} 只给其一",
    "say where to write: {example}": "请说明写到哪里：{example}",
    "give one of --machine, --topology and --topology-file": "--machine、--topology 和 --topology-file 只能给出一个",
    "say where to run: --machine dgx-a100 --nodes 2, or --topology 'switch(8)'": (
        "请说明在哪里运行：--machine dgx-a100 --nodes 2，或 --topology 'switch(8)'"
    ),
    "unexpected {word!r}; options of the algorithm are written --name value": (
        "不认识 {word!r}；算法的选项写作 --name value"
    ),
    "--{name} {word!r} is not rank=value, for example --{name} {example}{why}": (
        "--{name} {word!r} 不是 rank=value 的形式，例如 --{name} {example}{why}"
    ),
    "option --{name} needs a value": "选项 --{name} 需要一个值",
    "--beside needs --engine event, got {engine!r}: a barrier after each step would tie them together": (
        "--beside 需要 --engine event，现在是 {engine!r}：每步之后的屏障会把它们绑在一起"
    ),
    "{name} has ranks 0 to {last}": "{name} 的 rank 为 0 到 {last}",
    "--beside {word!r}: {part!r} names no ranks ({where}); write algorithm@0-7 or algorithm@0,8": (
        "--beside {word!r}：{part!r} 没有指明 rank（{where}）；请写 algorithm@0-7 或 algorithm@0,8"
    ),
    "nothing could run": "没有一个能运行",
    "{name} takes none of ranks={ranks}: {why}": "{name} 不接受 ranks={ranks} 中的任何一个：{why}",
    "ranks {text!r}: 1 <= first <= last <= 4096": "ranks {text!r}：要求 1 <= 首个 <= 最后一个 <= 4096",
    "ranks {text!r} must be a number or first:last, for example 2:33": (
        "ranks {text!r} 必须是一个数，或 首个:最后一个，例如 2:33"
    ),
    "app.py is neither in {package!r} nor beside it; install collsim again": (
        "app.py 既不在 {package!r} 中，也不在它旁边；请重新安装 collsim"
    ),
    "--address and --tabs are of an app that is open to a room; add --class": (
        "--address 和 --tabs 用于向整个教室开放的应用；请加上 --class"
    ),
    "the app needs Streamlit: pip install 'collsim[app]' ({error})": (
        "应用需要 Streamlit：pip install 'collsim[app]'（{error}）"
    ),
    "say how many samples: --batch 4096 (over all GPUs), or --micro-batch 32 (of one)": (
        "请给出样本数：--batch 4096（所有 GPU 合计），或 --micro-batch 32（每块 GPU）"
    ),
    "--{key} is no option of --parallel {name}": "--{key} 不是 --parallel {name} 的选项",
    # the site
    "{target!r} holds something that is not a site of collsim; give a new folder": (
        "{target!r} 中的内容不是 collsim 的站点；请给出新的文件夹"
    ),
    "unknown language {wrong!r}; use en and zh": "未知语言 {wrong!r}；请用 en 和 zh",
    "no run fits these places and algorithms, so there is nothing to build": (
        "没有运行符合这些位置和算法，因此没有可生成的内容"
    ),
    "cannot write slides to {target!r}: the suffix must be .html": "无法把幻灯片写入 {target!r}：后缀必须是 .html",
    "lessons={lessons!r} must be a list of numbers, for example [3, 4]": (
        "lessons={lessons!r} 必须是数字列表，例如 [3, 4]"
    ),
    "there is no lesson {number}; there are {first} to {last}": "没有第 {number} 课；现有第 {first} 到第 {last} 课",
    "cannot write a worksheet to {sheet!r}: the suffix must be .md, .pdf or .xml (Moodle)": (
        "无法把练习单写入 {sheet!r}：后缀必须是 .md、.pdf 或 .xml（Moodle）"
    ),
    # pictures and the player
    "unknown language {lang!r}; use 'en' or 'zh'": "未知语言 {lang!r}；请用 'en' 或 'zh'",
    "cannot save to {target!r}: the suffix {suffix!r} is none of {writers}": (
        "无法保存到 {target!r}：后缀 {suffix!r} 不在 {writers} 之中"
    ),
    "cannot save {suffix}: {error}": "无法保存 {suffix}：{error}",
    "{suffix} has no option {name!r}; it has {known}": "{suffix} 没有选项 {name!r}；它有 {known}",
    "a live widget needs anywidget: pip install 'collsim[notebook]'; without it trace.animate() shows the player "
    "too": "交互控件需要 anywidget：pip install 'collsim[notebook]'；没有它，trace.animate() 也能显示播放器",
    "{name} has {boxes:,} boxes to draw, at most {most:,} can be; its figures need no picture": (
        "{name} 有 {boxes:,} 个方框要画，最多 {most:,} 个；看数字不需要图"
    ),
    "writing .mp4 needs the program ffmpeg, which is not installed here (pip install imageio-ffmpeg brings one)": (
        "写 .mp4 需要程序 ffmpeg，这里没有安装（pip install imageio-ffmpeg 会带上一个）"
    ),
    "{why}; or save as .gif or .html": "{why}；或保存为 .gif 或 .html",
    "ffmpeg could not write the film: {said}": "ffmpeg 未能写出影片：{said}",
    "frames={frames!r} must be 2 to 1000": "frames={frames!r} 必须在 2 到 1000 之间",
    "what={what!r} must be 'time' or 'busbw'": "what={what!r} 必须是 'time' 或 'busbw'",
    "{runs} runs do not fit in one picture; give at most {most}": "{runs} 次运行放不进一张图；最多给出 {most} 次",
    "{what}; give what collsim.nccl.{maker}(...) returns": "{what}；请给出 collsim.nccl.{maker}(...) 返回的内容",
    "the table has no column {missing}": "表中没有 {missing} 列",
    "the table has no row": "表中没有一行",
    "the table has no column {missing}; give what collsim.{maker}(...) returns": (
        "表中没有 {missing} 列；请给出 collsim.{maker}(...) 返回的内容"
    ),
    "{label} has {transfers:,} transfers; a Gantt chart of more than {most:,} is a black wall. Use link_utilisation": (
        "{label} 有 {transfers:,} 次传输；超过 {most:,} 次的甘特图只是一片黑。请用 link_utilisation"
    ),
    "no font on this machine has Chinese; install one of {fonts}, or write the worksheet as Markdown": (
        "这台机器没有中文字体；请安装 {fonts} 之一，或把练习单写成 Markdown"
    ),
    "{label} has {transfers:,} transfers; the player shows at most {most:,}. Choose fewer than {ranks:,} "
    "ranks{fewer}, or read the figures without a picture: trace.row(), trace.links, trace.steps, "
    "collsim.viz.pictures.plots": (
        "{label} 有 {transfers:,} 次传输；播放器最多显示 {most:,} 次。请选少于 {ranks:,} 个 rank{fewer}，"
        "或不看图只看数字：trace.row()、trace.links、trace.steps、collsim.viz.pictures.plots"
    ),
    " or less than {options}": "，或小于 {options}",
    "timeline has schema {version!r}; this collsim reads {schema!r}": (
        "时间线的 schema 是 {version!r}；此 collsim 读取 {schema!r}"
    ),
    "this is not a timeline: {error}": "这不是时间线：{error}",
    "--what-if {word!r}: {part!r} is no change; write name=value, for example network=2": (
        "--what-if {word!r}：{part!r} 不是改动；请写 name=value，例如 network=2"
    ),
    "unknown theme {theme!r}; use 'light', 'dark' or None": "未知主题 {theme!r}；请用 'light'、'dark' 或 None",
    "{name!r}: an animation of a step is written as .html; StepTrace.save knows more": (
        "{name!r}：训练步的动画写成 .html；StepTrace.save 支持更多格式"
    ),
    "animate of a step has no option {name!r}; it has lang, theme, t and height": (
        "训练步的 animate 没有选项 {name!r}；它有 lang、theme、t 和 height"
    ),
}
