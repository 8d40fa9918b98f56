"""First steps: send, share, collect."""

from __future__ import annotations

from .task import SERVER, Task

TASKS = (
    Task(
        name="send-one-chunk",
        collective="broadcast",
        title=("Send one chunk", "发送一个 chunk"),
        ask=(
            "There are two ranks. Rank 0 holds chunk 0; write a function that makes rank 1 hold it too.",
            "共有两个 rank。rank 0 持有 chunk 0；写一个函数，让 rank 1 也得到它。",
        ),
        hints=(
            (
                "A function of n yields steps; a step is made with copy or reduce.",
                "函数以 n 为参数并 yield 各步；一步由 copy 或 reduce 生成。",
            ),
            (
                "Nothing has to be added here, so it is a copy: who sends, who receives, which chunk.",
                "这里不需要相加，所以用 copy：谁发、谁收、哪个 chunk。",
            ),
            (
                "The only line of the body is: yield cs.copy(0, 1, chunk=0)",
                "函数体只有一行：yield cs.copy(0, 1, chunk=0)",
            ),
        ),
        ranks=(2,),
        steps=lambda n: 1,
        compared_ranks=2,
        starter="def send_one_chunk(n):\n    yield cs.copy(src, dst, chunk)   # fill in\n",
    ),
    Task(
        name="broadcast-to-all",
        collective="broadcast",
        title=("Broadcast to all", "广播给所有 rank"),
        ask=(
            "Rank 0 holds the data. Let every rank have them at the end, for any number of ranks.",
            "rank 0 持有数据。对任意数量的 rank，让所有 rank 最后都得到它。",
        ),
        hints=(
            (
                "Rank 0 may send to one rank after another, or to all in one step.",
                "rank 0 可以逐个发送，也可以在一步里发给所有人。",
            ),
            (
                "The arguments of copy may be arrays: one transfer per element. The receivers are 1 to n-1.",
                "copy 的参数可以是数组：每个元素对应一次传输。接收者是 1 到 n-1。",
            ),
            ("yield cs.copy(0, np.arange(1, n), chunk=0)", "yield cs.copy(0, np.arange(1, n), chunk=0)"),
        ),
    ),
    Task(
        name="reduce-to-root",
        collective="reduce",
        title=("Add everything up at the root", "在 root 上求和"),
        ask=(
            "Every rank holds a buffer. At the end rank 0 must hold the sum, with every rank's part in it exactly "
            "once.",
            "每个 rank 都有一份数据。最后 rank 0 必须持有总和，每个 rank 的贡献恰好加一次。",
        ),
        hints=(
            (
                "reduce adds what arrives to what is there; copy replaces it.",
                "reduce 把到达的数据加到原有数据上；copy 则覆盖。",
            ),
            (
                "Several ranks may reduce into the same slot in one step: they are added one after another.",
                "同一步里可以有多个 rank 向同一个槽位 reduce：它们会依次相加。",
            ),
            ("yield cs.reduce(np.arange(1, n), 0, chunk=0)", "yield cs.reduce(np.arange(1, n), 0, chunk=0)"),
        ),
    ),
    Task(
        name="scatter-blocks",
        collective="scatter",
        title=("Hand out the blocks", "分发数据块"),
        ask=(
            "Rank 0 holds n blocks, chunk r for rank r. Give each rank its own, and send no block that nobody asked "
            "for.",
            "rank 0 持有 n 个块，chunk r 属于 rank r。把每个块交给对应的 rank，不要发送多余的块。",
        ),
        hints=(
            ("The chunk number and the receiver are the same number.", "chunk 编号和接收者编号是同一个数。"),
            (
                "Rank 0 has its own block already: only 1 to n-1 need something.",
                "rank 0 已经有自己的块：只有 1 到 n-1 需要接收。",
            ),
            ("r = np.arange(1, n); yield cs.copy(0, r, chunk=r)", "r = np.arange(1, n); yield cs.copy(0, r, chunk=r)"),
        ),
        sent=lambda n: (n - 1) / n,
    ),
    Task(
        name="parameter-server",
        collective="allreduce",
        title=("A parameter server", "参数服务器"),
        ask=(
            "Let rank 0 be the server: it adds up what all others push, and all others pull the sum. Two steps.",
            "让 rank 0 做服务器：其他 rank 把数据推给它求和，再把总和取回。共两步。",
        ),
        hints=(
            ("It is reduce-to-root followed by broadcast-to-all.", "它就是 reduce-to-root 后接 broadcast-to-all。"),
            (
                "First a reduce from 1..n-1 to 0, then a copy from 0 to 1..n-1.",
                "先从 1..n-1 向 0 做 reduce，再从 0 向 1..n-1 做 copy。",
            ),
            (
                "w = np.arange(1, n); yield cs.reduce(w, 0, chunk=0); yield cs.copy(0, w, chunk=0)",
                "w = np.arange(1, n); yield cs.reduce(w, 0, chunk=0); yield cs.copy(0, w, chunk=0)",
            ),
        ),
        partners=SERVER,
        steps=lambda n: 2,
    ),
    Task(
        name="sharded-server",
        collective="allreduce",
        title=("A server on every rank", "每个 rank 都当服务器"),
        ask=(
            "Spread the server: rank r adds up chunk r of everybody and gives the sum back to everybody. Still two "
            "steps, but no hot rank.",
            "把服务器分摊开：rank r 负责累加所有人的 chunk r，再把结果发给所有人。仍是两步，但没有热点。",
        ),
        hints=(
            (
                "Cut the buffer into n chunks; rank r is the server of chunk r.",
                "把数据切成 n 个 chunk；rank r 是 chunk r 的服务器。",
            ),
            (
                "All pairs (s, d) with s != d: in the first step s sends chunk d, in the second s sends chunk s.",
                "考虑所有 s != d 的 (s, d)：第一步 s 发送 chunk d，第二步 s 发送 chunk s。",
            ),
            (
                "s, d = np.nonzero(~np.eye(n, dtype=bool)); yield cs.reduce(s, d, chunk=d); yield cs.copy(s, d, "
                "chunk=s)",
                "s, d = np.nonzero(~np.eye(n, dtype=bool)); yield cs.reduce(s, d, chunk=d); yield cs.copy(s, d, "
                "chunk=s)",
            ),
        ),
        steps=lambda n: 2,
        sent=lambda n: 2 * (n - 1) / n,
    ),
)
