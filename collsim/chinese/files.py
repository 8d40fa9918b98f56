"""Files, paths, sizes of things: `collsim.files`, `collsim.limits`, `collsim.errors`."""

SAID = {
    "{what}={value!r} is not a path; give a text or a Path, for example 'ring.html'": (
        "{what}={value!r} 不是路径；请给出文本或 Path，例如 'ring.html'"
    ),
    "{what}={value!r} is not a path; it has a zero byte in it": "{what}={value!r} 不是路径；其中含有零字节",
    "no file {path}": "没有文件 {path}",
    "{path!r} is not the path of a file": "{path!r} 不是文件的路径",
    "{name} cannot be read: {error}": "无法读取 {name}：{error}",
    "cannot write {target!r}: it is a folder; add the name of a file": "无法写入 {target!r}：它是文件夹；请加上文件名",
    "cannot write {target!r}: there is no folder {parent!r}": "无法写入 {target!r}：没有文件夹 {parent!r}",
    "cannot write {path!r}: {error}": "无法写入 {path!r}：{error}",
    "larger than {most} MiB, the most that a file of this kind may have": "大于 {most} MiB，超出这类文件的上限",
    "byte 0x{byte:02x} is not UTF-8; save the file as UTF-8": "字节 0x{byte:02x} 不是 UTF-8；请把文件存为 UTF-8",
    "a zero byte; this is not a text file": "含有零字节；这不是文本文件",
    "not well-formed XML ({error}); is the file truncated?": "不是格式良好的 XML（{error}）；文件是否被截断？",
    "a document type or entity is not accepted; expected plain elements": (
        "拒绝读取：不接受文档类型声明和实体；应只有普通元素"
    ),
    "XML that cannot be decoded ({error}); expected UTF-8": "XML 无法解码（{error}）；应为 UTF-8",
    "more than {most} MiB without an element": "超过 {most} MiB 没有任何元素",
    "nested {level} deep; this format has at most {depth} levels": "嵌套 {level} 层；这种格式最多 {depth} 层",
    "more than {elements:,} elements": "元素多于 {elements:,} 个",
    "more than {most:,} objects or {most_values:,} values": "对象多于 {most:,} 个，或值多于 {most_values:,} 个",
    "not JSON: {problem} at column {column}; is the file truncated?": (
        "不是合法的 JSON：{problem}（第 {column} 列）；文件是否被截断？"
    ),
    "nested too deep": "嵌套过深",
    "{name} is not a number; expected finite numbers": "{name} 不是数字；应为有限的数",
    "{text} is too large for a number": "{text} 太大，不能作为数字",
    "{text} is too large for a whole number": "{text} 太大，不能作为整数",
    "{name}={value} is not a whole number": "{name}={value} 不是整数",
    "{name}={value} is out of range; expected {least} to {most}": "{name}={value} 超出范围；应为 {least} 到 {most}",
    "{name}={value} is not a number from {least:g} to {most:g}": "{name}={value} 不是 {least:g} 到 {most:g} 之间的数",
    "line {line}": "第 {line} 行",
    "line 1": "第 1 行",
    "element <{tag}>": "元素 <{tag}>",
    # how much may be built
    "{what} would take {memory} of memory ({counted}); {most} is the most here, so {advice}": (
        "{what}需要约 {memory} 内存（{counted}）；这里最多 {most}，请{advice}"
    ),
    "{count} {what}; {most:,} is the most, so {advice}": "{what}有 {count} 个；最多 {most:,} 个，请{advice}",
    "more than 10^15": "超过 10^15",
    "{count} devices": "{count} 个设备",
    "{count} links": "{count} 条链路",
    "{count} rows": "{count} 行",
    "{count} numbers": "{count} 个数",
    "use fewer chunks and slots": "减少 chunk 和槽",
    "use fewer nodes": "减少节点",
    "use fewer ranks": "减少 rank",
    "use fewer helpers": "减少辅助端点",
    "use network='alone', or fewer microbatches or GPUs": "请用 network='alone'，或减少微批或 GPU",
    "use fewer or smaller switches": "使用更少或更小的交换机",
    "use smaller dimensions": "减小各维",
    "use a smaller k": "减小 k",
    "use fewer switches": "减少交换机",
    "use switch": "改用 switch",
    "give shorter lists": "缩短列表",
    "give shorter lists, or several sweeps": "缩短列表，或分成几次批量实验",
    "topologies in a sweep": "批量实验的拓扑",
    "scenarios in a sweep": "批量实验的场景",
    "choices of options in a sweep": "批量实验的选项组合",
    "{nodes:,} nodes of {name}": "{nodes:,} 个 {name} 节点",
    "running at once all collectives that meet on a link": "同时运行在同一条链路上相遇的所有集合通信",
    "{name} with {more:,} more hosts": "再加 {more:,} 台主机的 {name}",
    "a {shape} of this size": "这样大小的 {shape} ",
    "a fabric {name!r} for {ports:,} cards with these options": "按这些选项连接 {ports:,} 块网卡的网络结构 {name!r} ",
}
