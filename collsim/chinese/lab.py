"""Schedules run by processes: `collsim.lab`."""

TRANSLATIONS = {
    # what was asked
    "runs": "runs",
    "buffers have shape {shape}; they are (ranks, elements)": "buffers 的形状是 {shape}；应为 (ranks, elements)",
    "{label} would start {count} processes; {most} is the most here, so use fewer ranks": (
        "{label} 要启动 {count} 个进程；这里最多 {most} 个，请减少 rank"
    ),
    "say how many bytes: run_for_real(schedule, '1MiB')": "请说明多少字节：run_for_real(schedule, '1MiB')",
    "{size} is more than {most}, the most that is run for real here": "{size} 超过了这里真实运行的上限 {most}",
    "time_limit={limit:g} s must be more than 0 and at most {most:g} s": (
        "time_limit={limit:g} s 必须大于 0，且不超过 {most:g} s"
    ),
    "{size} bytes are no whole number of {dtype}, {item} bytes each; real data has whole elements": (
        "{size} 字节不是整数个 {dtype}（每个 {item} 字节）；真实数据只有完整的元素"
    ),
    "repeat={runs} is more than {most}, the most at a time": "repeat={runs} 超过一次的上限 {most}",
    "{label} would hold {memory} in its processes; {most} is the most here, so use fewer bytes or ranks": (
        "{label} 的进程共要占用 {memory}；这里最多 {most}，请减少字节或 rank"
    ),
    "{runs} runs and one to warm up would take {seconds}, more than time_limit={limit:g} s; use fewer bytes or "
    "runs, a faster network, or a longer time_limit": (
        "{runs} 次运行加一次预热要 {seconds}，超过 time_limit={limit:g} s；请减少字节或次数，"
        "用更快的网络，或放宽 time_limit"
    ),
    "one rank sends no message, so there is nothing to measure; use two or more": (
        "只有一个 rank 时没有消息可发，无从测量；请用两个或更多"
    ),
    "{value!r} was not measured; run_for_real(schedule, nbytes) measures one": (
        "{value!r} 不是测量得来的；run_for_real(schedule, nbytes) 可以测量"
    ),
    # how a run ends
    "{label}: run {number} left {count:,} elements of rank {rank} other than replay has them": (
        "{label}：第 {number} 次运行后，rank {rank} 有 {count:,} 个元素与 replay 不同"
    ),
    "the time is up, and endpoints {missing} have not ended; give a longer time_limit, or less to do": (
        "时间已到，端点 {missing} 还没有结束；请放宽 time_limit，或减少要做的事"
    ),
    "the process of endpoint {number} ended before the run did": "端点 {number} 的进程先于运行结束",
    "endpoint {number}: {error}": "端点 {number}：{error}",
    "the process of endpoint {number} was killed (signal {signal})": "端点 {number} 的进程被杀死（信号 {signal}）",
    "the process of endpoint {number} ended with {code}{why}": "端点 {number} 的进程以 {code} 结束{why}",
    ": {last}": "：{last}",
    "a rank has not enough memory; use fewer bytes or ranks": "某个 rank 的内存不够；请减少字节或 rank",
    "on='mpi' needs mpi4py and an MPI with mpiexec: pip install 'collsim[mpi]'": (
        "on='mpi' 需要 mpi4py 和带 mpiexec 的 MPI：pip install 'collsim[mpi]'"
    ),
    "on='gloo' needs torch: pip install 'collsim[torch]'": "on='gloo' 需要 torch：pip install 'collsim[torch]'",
    "the time is up, and mpiexec has not ended; give a longer time_limit, or less to do": (
        "时间已到，mpiexec 还没有结束；请放宽 time_limit，或减少要做的事"
    ),
    "mpiexec ended with {code}{why}": "mpiexec 以 {code} 结束{why}",
    "the ranks of {on} do not agree on the sum": "{on} 的各个 rank 得到的和不一致",
    # a step of training
    "ranks={ranks!r} must be from 2 to {most}": "ranks={ranks!r} 必须在 2 到 {most} 之间",
    "a step of training is paced: give bandwidth='10MB/s'": "训练步要限速：请给出 bandwidth='10MB/s'",
    "{name}: nothing would be sent in this step": "{name}：这一步没有可发送的内容",
    "{says}: workers that wait for nobody are not run for real": "{says}：互不等待的 worker 不能真实运行",
    "{says}: {name} waits for {other} of other ranks, and nothing is sent that tells it": (
        "{says}：{name} 要等其他 rank 的 {other}，却没有消息告诉它"
    ),
    "layers={text!r} must be one of {known}": "layers={text!r} 必须是 {known} 之一",
    "{size} of gradients do not make {layers} layers of whole float32; use a multiple of {least} bytes": (
        "{size} 的梯度不能分成 {layers} 层完整的 float32；请用 {least} 字节的倍数"
    ),
    # other computers
    "{ranks} ranks do not share {count} hosts evenly; use a multiple": (
        "{ranks} 个 rank 不能平均分到 {count} 台主机；请用其倍数"
    ),
    "{count} hosts; give 1 to {most}": "{count} 台主机；请给出 1 到 {most} 台",
    "{host!r} is no name or address of a host": "{host!r} 不是主机的名字或地址",
    "is no trace of a rank, which begins with schema {schema!r}": "不是 rank 的记录；它以 schema {schema!r} 开头",
    "is of {label} and {nbytes} bytes, rank {rank}; another run is asked for": (
        "属于 {label}、{nbytes} 字节、rank {rank}；要的是另一次运行"
    ),
    "not moments of this schedule: {error}": "不是该调度的时刻：{error}",
    "hold numbers that replay has not": "含有与 replay 不同的数",
    # between ranks
    "the connection to endpoint {peer} was closed": "与端点 {peer} 的连接已关闭",
    "what came from endpoint {peer} is no frame of a rank": "端点 {peer} 发来的不是 rank 的帧",
    "endpoints {missing} did not connect": "端点 {missing} 没有连上",
}
