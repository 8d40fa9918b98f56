"""Words of the Race page, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "page.race": ("Race", "竞速"),
    "race.title": ("One clock for all", "同一时钟，同场竞速"),
    "race.pick": ("Race", "竞速"),
    "race.ways": ("Ring, tree, parameter server", "环、树、参数服务器"),
    "race.p2p": ("GPUDirect P2P on and off", "GPUDirect P2P 开与关"),
    "race.gdr": ("GPUDirect RDMA on and off", "GPUDirect RDMA 开与关"),
    "race.links": ("NVLink and PCIe", "NVLink 与 PCIe"),
    "race.own": ("Your own", "自选"),
    "race.runners": ("Choose the runners", "选择参赛者"),
    "race.runner": ("Runner {number}", "参赛者 {number}"),
    "race.count": ("Runners", "参赛者数"),
    "race.on": ("{what} on", "{what} 开"),
    "race.off": ("{what} off", "{what} 关"),
    "race.nodes": ("{place}, {count} nodes", "{place}，{count} 个节点"),
    "race.network": (
        "{place}, {ranks} ranks, {bandwidth} and {alpha} per cable",
        "{place}，{ranks} 个 rank，每条线缆 {bandwidth}、{alpha}",
    ),
    "race.chunks": ("{count} chunks", "{count} 个 chunk"),
    "race.all": ("all that there are", "全部可用"),
    "race.server.rank": ("on rank 0", "在 rank 0 上"),
    "race.server.helper": ("on a machine of its own", "独占一台机器"),
    "race.large": (
        "{name}: {transfers} transfers are too many to race here (up to {limit} are). Use fewer ranks, chunks or "
        "channels.",
        "{name}：共 {transfers} 次传输，超出竞速的上限（{limit}）。请减少 rank、chunk 或 channel。",
    ),
    "race.failed": ("{name} cannot start: {why}", "{name} 无法出发：{why}"),
    "race.nobody": ("No runner is left; choose others.", "没有可以出发的参赛者；请另选。"),
    "race.cross": ("Up to {nbytes} {other} would be ahead of {first}.", "{nbytes} 以内，{other} 会快于 {first}。"),
    "race.nominal": ("Bandwidths: nominal, per direction.", "带宽均为标称值、单向。"),
}
