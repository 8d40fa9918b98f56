"""Rank programs: `collsim.programs` and `cs.program`."""

TRANSLATIONS = {
    # what cannot be run
    "function": "函数",
    "line {line} of the program is not Python: {message}": "程序第 {line} 行不是合法的 Python：{message}",
    "the program is nested too deeply": "程序嵌套太深",
    "line {line}: {construct} cannot be run here; write it as plain statements": (
        "第 {line} 行：这里不能运行 {construct}；请改写成普通语句"
    ),
    "line {line}: {function} waits for a message inside of a function that cannot be suspended": (
        "第 {line} 行：{function} 在不能暂停的函数里等待消息"
    ),
    "{entry}() wants {name}, which no rank has; give it with arguments={{'{name}': ...}}": (
        "{entry}() 需要参数 {name}，而 rank 没有它；请用 arguments={{'{name}': ...}} 给出"
    ),
    "the program only defines functions; say which of {functions} every rank calls": (
        "程序只定义了函数；请说明每个 rank 调用 {functions} 中的哪一个"
    ),
    "ranks={ranks} must be 1 to {most}": "ranks={ranks} 必须在 1 到 {most} 之间",
    "a program of {characters:,} characters is too long; {most:,} is the most": (
        "程序有 {characters:,} 个字符，太长；最多 {most:,} 个"
    ),
    "a program is Python source, or a function whose source can be read": (
        "程序应是 Python 源代码，或能读到源代码的函数"
    ),
    "the process of the program sent something that is no result": "程序的进程发来的不是结果",
    "more than {messages:,} messages or {nbytes:,} bytes in one run": (
        "一次运行超过 {messages:,} 条消息或 {nbytes:,} 字节"
    ),
    "the ranks took {most:,} turns and have not ended": "各 rank 轮流运行了 {most:,} 次仍未结束",
    "the process of the program sent events that contradict one another": "程序的进程发来的事件互相矛盾",
    "late={rank!r} is no rank of the program; its ranks are 0 to {last}": (
        "late={rank!r} 不是程序的 rank；它的 rank 是 0 到 {last}"
    ),
    # mends
    "{call} in place of both": "用 {call} 代替两者",
    "{send}, then {receive}": "先 {send}，再 {receive}",
    "odd ranks receive first": "奇数 rank 先接收",
    "all ranks call {call} (line {line})": "所有 rank 都调用 {call}（第 {line} 行）",
    # its schedule
    "this program cannot be played as a schedule: {reason}": "这个程序不能作为 schedule 播放：{reason}",
    "only the messages of a program that is right make a schedule; say collective=": (
        "只有正确程序的消息才能构成 schedule；请给出 collective="
    ),
    "the ranks send no messages": "各 rank 没有发送消息",
    "which messages are sent depends on the numbers": "发送哪些消息取决于数值",
    "line {line} sends numbers that are no sums of the same element of all ranks": (
        "第 {line} 行发送的数不是各 rank 同一元素之和"
    ),
    "line {line} calls {call}: the library chooses its messages": "第 {line} 行调用 {call}：消息由库决定",
    "its messages do not make a right schedule: {fault}": "它的消息不构成正确的 schedule：{fault}",
    "nobody received the message of line {line}": "第 {line} 行的消息无人接收",
    "its pieces are no whole elements": "它的分块不是整数个元素",
    "a message holds the same elements twice": "一条消息两次包含相同的元素",
    "rank {rank} ends with numbers that are no sum of what it received": "rank {rank} 最后的数不是它所收到的数之和",
    "line {line} of rank {rank} sends numbers that are no sum of what it has received": (
        "rank {rank} 的第 {line} 行发送的数不是它所收到的数之和"
    ),
    "rank {rank} needs a value again that it has added to": "rank {rank} 再次需要一个已被累加的值",
    # what came of it
    "All ranks end.": "所有 rank 都结束了。",
    "Every rank has the expected result.": "每个 rank 都得到了应有的结果。",
    "{reason} Messages that nobody received: {count}.": "{reason}无人接收的消息：{count} 条。",
    "{reason} By luck: it needs messages up to {limit:,.0f} bytes to be buffered; where each send waits for its "
    "receive, it does not end.": (
        "{reason}但这是侥幸：它依赖不超过 {limit:,.0f} 字节的消息被缓冲；如果每次发送都等待对应的接收，它不会结束。"
    ),
    "Rank {rank} holds {value:g} in element {element}; {expected:g} is expected.": (
        "rank {rank} 的第 {element} 个元素是 {value:g}，应为 {expected:g}。"
    ),
    "Rank {rank} holds {value}; {expected} is expected.": "rank {rank} 的结果是 {value}，应为 {expected}。",
    "Rank {rank} ends in {kind} in line {line}: {message}": "rank {rank} 在第 {line} 行以 {kind} 结束：{message}",
    "{waits}.": "{waits}。",
    "{hang} It ends where every message is buffered.": "{hang}如果每条消息都被缓冲，它会结束。",
    "{waits}, and {count} more wait behind them": "{waits}，还有 {count} 个等在它们后面",
    "rank {rank} waits in {call} (line {line})": "rank {rank} 停在 {call}（第 {line} 行）",
    "rank {rank} waits in {call} (line {line}) for rank {peers}": (
        "rank {rank} 停在 {call}（第 {line} 行），等待 rank {peers}"
    ),
    "rank {rank} waits in {call} (line {line}) for rank {peers}, which has ended": (
        "rank {rank} 停在 {call}（第 {line} 行），等待 rank {peers}，而后者已经结束"
    ),
    "rank {ranks} in {call} (line {line})": "rank {ranks} 在 {call}（第 {line} 行）",
    "{calls}: all ranks have to make the same collective calls in the same order, with the same sizes.": (
        "{calls}：所有 rank 必须以同样的顺序、同样的大小调用同样的集合通信。"
    ),
    "It ends otherwise where the bytes of a message are read as late as they may be.": (
        "如果尽可能晚地读取消息的字节，结局就不同。"
    ),
    "A buffer is changed or read while a message is under way: where the bytes are read as late as they may be, "
    "rank {rank} ends with another result. Call wait() of the sends in lines {lines} before it is used again.": (
        "消息还在途中，缓冲区就被改写或读取：如果尽可能晚地读取字节，rank {rank} 的结果就不同。"
        "请在再次使用缓冲区之前，对第 {lines} 行的发送调用 wait()。"
    ),
    "It depends on timing: rank {rank} ends with {result} or {second}, depending on which message comes first.": (
        "结果取决于时序：rank {rank} 得到 {result} 或 {second}，看哪条消息先到。"
    ),
    "It depends on timing. Where another message comes first: {end}": "结果取决于时序。另一条消息先到时：{end}",
}
