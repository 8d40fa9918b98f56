"""Exercises, questions, broken runs and the box for code of others: `collsim.teach`, `collsim.sandbox`."""

TRANSLATIONS = {
    # a function that somebody wrote
    "the function did not end within {seconds:g} seconds; does a loop never stop?": (
        "函数在 {seconds:g} 秒内没有结束；是不是有循环停不下来？"
    ),
    "the function needs more memory than it may use; how many transfers does it yield?": (
        "函数需要的内存超过限制；它产生了多少次传输？"
    ),
    "the function ends the program (exit); it should only yield steps": "函数结束了整个程序（exit）；它只应产生各步",
    "the function failed: {kind}: {error}": "函数出错：{kind}：{error}",
    "the process of the function sent more than is read": "函数所在的进程送出的数据超过限制",
    "the process of the function was ended by signal {signal}": "函数所在的进程被信号 {signal} 结束",
    "the process of the function ended before it was done (exit, or more memory than it may use)": (
        "函数所在的进程提前结束（exit，或内存超过限制）"
    ),
    "the process of the function sent something that is not a table of transfers": "函数所在的进程送出的不是传输表",
    "a pattern is repeated less than once": "重复的模式次数少于一次",
    "a pattern is repeated with shift or modulus above {most:,}": "重复的模式中 shift 或 modulus 超过 {most:,}",
    "a channel is a number from 0 to {most:,}": "channel 应为 0 到 {most:,}",
    "more than {transfers:,} transfers or {steps:,} steps, which is what is left of what may be yielded for all "
    "numbers of ranks together": "超过 {transfers:,} 次传输或 {steps:,} 步；这是所有 rank 数合计的剩余限额",
    "chunk {last:,} is used; with {endpoints} ranks at most {most:,} chunks are checked": (
        "用到了 chunk {last:,}；{endpoints} 个 rank 时最多检查 {most:,} 个 chunk"
    ),
    "{chunks} chunks do not fit {collective} with {n} ranks": "{chunks} 个 chunk 不适合 {n} 个 rank 的 {collective}",
    "{name} holds steps of a schedule that was made before; write the steps yourself": (
        "{name} 里是事先做好的调度的各步；请自己写出每一步"
    ),
    "{name}() reads a schedule that was made before; write the steps yourself": (
        "{name}() 读取的是事先做好的调度；请自己写出每一步"
    ),
    "sys.setprofile hides steps from the check; write the steps yourself": (
        "sys.setprofile 会避开检查；请自己写出每一步"
    ),
    "{borrowed} is an algorithm of the library; write the steps yourself": "{borrowed} 是库里的算法；请自己写出每一步",
    "check() wants a function of n that yields steps, got {function}; give its name without calling it": (
        "check() 需要一个关于 n 并产生各步的函数，现在是 {function}；请给出函数名，不要调用它"
    ),
    "{label} returned {steps}; it must yield its steps: yield copy(...), yield reduce(...)": (
        "{label} 返回了 {steps}；它必须逐步 yield：yield copy(...)、yield reduce(...)"
    ),
    "{label} yields more than {what} and has not ended; does a loop never stop?": (
        "{label} 已产生超过 {what}仍未结束；是不是有循环停不下来？"
    ),
    "{steps:,} steps": " {steps:,} 步",
    "{transfers:,} transfers": " {transfers:,} 次传输",
    "this system has neither bubblewrap nor Landlock with seccomp, so code of others would run with all that you "
    "may do; on Linux install bubblewrap, or agree: collsim grade --no-sandbox, grade(..., allow_unsandboxed=True)": (
        "此系统既没有 bubblewrap，也没有带 seccomp 的 Landlock，因此他人的代码会以您的全部权限运行；在 Linux "
        "上请安装 bubblewrap，或明确同意：collsim grade --no-sandbox、grade(..., allow_unsandboxed=True)"
    ),
    # what is handed in
    "it is not a progress file of collsim: {error}": "不是 collsim 的进度文件：{error}",
    "it is not a notebook: {error}": "不是 notebook：{error}",
    "no folder or .zip {root!r} with submissions": "没有存放提交的文件夹或 .zip {root!r}",
    "nothing in {root!r} to grade; a student hands in name.py, name.ipynb, name.json (progress) or a folder name/": (
        "{root!r} 中没有可评分的内容；学生提交 name.py、name.ipynb、name.json（进度）或文件夹 name/"
    ),
    "more than {most} files; hand in those with your answers": "文件多于 {most} 个；请只提交含答案的文件",
    "more than {most:,} files and folders; hand in those with your answers": (
        "文件和文件夹多于 {most:,} 个；请只提交含答案的"
    ),
    "folders are more than {most} deep in one another; hand in fewer": "文件夹嵌套超过 {most} 层；请减少",
    "it is a link or no file at all; hand in the file itself": "它是链接或根本不是文件；请提交文件本身",
    "more files and folders than a class hands in; pack fewer students into one zip": (
        "文件和文件夹多于一个班级会提交的数量；请在一个 zip 中打包较少的学生"
    ),
    "it unpacks to more than {most} MiB; pack fewer students into one zip": (
        "解压后超过 {most} MiB；请在一个 zip 中打包较少的学生"
    ),
    "it cannot be read ({error})": "无法读取（{error}）",
    "it is no zip that can be read ({error}); export it again": "它不是可读取的 zip（{error}）；请重新导出",
    "entry {name!r}": "条目 {name!r}",
    "control characters in a name; pack it again, or unpack it and grade the folder": (
        "名称中含有控制字符；请重新打包，或解压后对文件夹评分"
    ),
    "a name that leads out of the zip; pack it again, or unpack it and grade the folder": (
        "名称指向 zip 之外；请重新打包，或解压后对文件夹评分"
    ),
    "it is encrypted; pack it without a password": "它已加密；请不带密码打包",
    "it is packed by method {method}; pack it by Deflate": "它以方法 {method} 打包；请以 Deflate 打包",
    "it cannot be unpacked ({error}); hand it in again": "无法解压（{error}）；请重新提交",
    "it is larger than {most:,} bytes": "它大于 {most:,} 字节",
    "{target!r} is not a table of grades: {error}; give another name": "{target!r} 不是成绩表：{error}；请换个名称",
    "cannot write {target!r}: {problem}": "无法写入 {target!r}：{problem}",
    "{source!r} is not a progress file of collsim: {error}": "{source!r} 不是 collsim 的进度文件：{error}",
    # exercises, questions, broken runs
    "hint({level!r}): there are three hints, hint(1), hint(2) and hint(3)": (
        "hint({level!r})：共有三条提示：hint(1)、hint(2) 和 hint(3)"
    ),
    "{name}: there is no schedule to show; {reason}": "{name}：没有可展示的调度；{reason}",
    "{trace!r} cannot be broken: it needs 1 to {most:,} transfers that cross a link": (
        "{trace!r} 无法被破坏：需要 1 到 {most:,} 次经过链路的传输"
    ),
    "no cable carries a byte in this run, so none of them can be the busiest; use a larger nbytes": (
        "这次运行中没有链路传输任何字节，无从选出最忙的；请增大 nbytes"
    ),
    "answer {text!r} is none of the choices; give {letters}, or 0 to {last}": (
        "答案 {text!r} 不在选项中；请给出 {letters}，或 0 到 {last}"
    ),
    "answer {given!r} is not a number": "答案 {given!r} 不是数字",
    "answer {given!r} is not a finite number": "答案 {given!r} 不是有限的数",
    "count={count}: at most {most} questions are made at once": "count={count}：一次最多出 {most} 题",
    "nothing moves in {trace!r}, so there is nothing to ask; take more ranks or a larger size": (
        "{trace!r} 中没有任何传输，无从提问；请增加 rank 或数据量"
    ),
    "factor={factor}: cables more than {most} times slower are not tried here; give a smaller number": (
        "factor={factor}：这里不试慢于 {most} 分之一的线缆；请给更小的数"
    ),
    "microbatches={count}: more than {most:,} are not tried here": "microbatches={count}：这里不尝试多于 {most:,} 个",
    "split={value!r}: give how many share a layer and how many stages: (2, 2)": (
        "split={value!r}：请给出共享一层的 GPU 数和阶段数：(2, 2)"
    ),
    "samples={samples}: more than 1,024 a GPU are not tried here": (
        "samples={samples}：这里不尝试每块 GPU 多于 1,024 个"
    ),
    "nothing is sent in {trace!r}, so there is nothing to ask; take more GPUs": (
        "{trace!r} 中没有发送任何数据，无从提问；请增加 GPU"
    ),
}
