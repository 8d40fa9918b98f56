// The words of the story, in both languages. [name] is a chip, {name} a number that is computed, **...** stands out;
// the number before a paragraph is the moment of the picture that it tells of.

export const STORY_WORDS = {
  en: {
    title: "How GPUs agree on a sum",
    lead: "Seven pictures, six minutes. Every number is computed as you read.",
    hint:
      "Drag a number [n] to the left or right, or press ← and → on it: text, formula and picture follow. " +
      "The paragraph you read sets the picture's time; ↑ and ↓ go from chapter to chapter.",
    play: "Play this picture",
    pause: "Pause this picture",
    chapter: "Chapter",
    free: "γ = 0",
    buckets: (count) => (count === 1 ? "1 bucket" : `${count} buckets`),
    channels: (count) => (count === 1 ? "1 channel" : `${count} channels`),
    names: {
      n: "Number of GPUs",
      more: "Another number of GPUs",
      far: "A larger number of GPUs",
      many: "Number of GPUs",
      size: "Bytes of the gradient",
      small: "Bytes of the gradient",
      rate: "Bandwidth of a cable, one direction",
      alpha: "Time to start a message",
      gamma: "Time to add a byte",
      channels: "Number of channels",
      bucket: "Number of buckets",
    },
    chapters: [
      {
        key: "server",
        title: "One server adds",
        text: [
          [
            0.2,
            "[n] GPUs have each computed a gradient of [size]. All of them need the sum. The obvious way: " +
              "GPU 0 collects, adds, and sends the result back.",
          ],
          [0.5, "Every cable carries [rate] each way. Through the cable of GPU 0 must pass {less} × {size}."],
          [1, "The sum goes back over the same cable. It is there after **{serverTime}**."],
        ],
      },
      {
        key: "hot-link",
        title: "The hot link",
        text: [
          [
            1,
            "GPU 0's cable carries (N − 1) × S = **{serverBytes}** in each direction, every other one " +
              "**{otherBytes}**.",
          ],
          [1, "Doubling that one cable saves **{saves}**. Doubling all the others saves {rest}."],
          [1, "With [more] it would be {moreTime}: **the time grows with N − 1**."],
        ],
      },
      {
        key: "ring",
        title: "The ring",
        text: [
          [
            0.2,
            "Cut the gradient into [n] pieces of {piece}. Each GPU sends one piece to its neighbour, which " +
              "adds its own numbers and passes the sum on.",
          ],
          [0.5, "After {less} steps every piece is complete somewhere."],
          [
            1,
            "{less} more steps copy it around. All cables work all the time: **{ringTime}** instead of " +
              "{serverTime}.",
          ],
        ],
      },
      {
        key: "volume",
        title: "How much must each GPU send?",
        formula: "volume",
        text: [
          [
            1,
            "Twice, because sums travel once to be **added** and once to be **copied**. (N − 1) of N, " +
              "because one piece stays at home each time.",
          ],
          [
            1,
            "From [n] to [far] it changes by {grows}, from {sent} to {sentFar}. It is **never more than 2 " +
              "S**, {most}, with any number of GPUs.",
          ],
        ],
      },
      {
        key: "alpha-beta",
        title: "And how long does it take?",
        formula: "time",
        text: [
          [
            1,
            "**α** is the time to start a message, in which nothing moves: [alpha]. **β** is the time of " +
              "one byte on a cable, 1/B = {beta} at [rate]. **γ** is the time to add one byte: [gamma]. " +
              "**S** is the size of the gradient: [small].",
          ],
          [1, "With [many] there are {steps} steps. Starting them takes {starting}, **{idle} of the time**."],
          [
            1,
            "Halving and doubling sends as much in {hsteps} steps: {halving}, where adding costs nothing. " +
              "Small gradients want few steps, large ones want full cables.",
          ],
        ],
      },
      {
        key: "cards",
        title: "Two machines, eight network cards",
        text: [
          [
            1,
            "Two DGX A100 hold 8 GPUs and 8 network cards each. One ring over all 16 GPUs leaves a machine " +
              "through one card: 256 MiB take {oneTime}, and seven cables are idle.",
          ],
          [
            1,
            "Each further ring is rotated by one GPU and leaves through another card. [channels]: {cards} " +
              "of 8 cards, **{cardsTime}**, {cardsFaster} times as fast as one. Same GPUs, same cables.",
          ],
        ],
      },
      {
        key: "training",
        title: "One step of training",
        text: [
          [
            0.4,
            "Gradients appear from the last layer to the first, so the sum of one bucket can travel while " +
              "the next is computed.",
          ],
          [0.8, "With [bucket] a step takes **{stepTime}**; if the sums began after the last gradient, {apart}."],
          [
            1,
            "The network costs {exposed} of the step. Many small buckets pay α again and again; " +
              "one large bucket has nothing to hide behind.",
          ],
        ],
        note: "ResNet-50, 16 images on each of 8 A100 in one PCIe machine, DDP, bfloat16; predicted, not measured.",
      },
    ],
    figure: {
      switch: "switch",
      each: (rate, share) => `${rate} each: ${share} used`,
      full: (rate, count) => (count === 1 ? `${rate}: full` : `${rate}: full, ${count} gradients share it`),
      collects: (share, size) => `has ${share} of each of ${size}`,
      gives: (share, size) => `${share} of the sum is with each of ${size}`,
      gpu: "GPU",
      like: (count) => `${count} more like these`,
      caption: "bytes on the cable of each GPU, each way",
      step: (k, all) => `step ${k} of ${all}`,
      adding: (size) => `each neighbour adds a piece of ${size}`,
      copying: (size) => `each neighbour keeps a copy of ${size}`,
      faster: (x) => `${x} times as fast`,
      sends: "MiB that one GPU sends",
      never: (size) => `2 S = ${size}: never more`,
      add: "add",
      copy: "copy",
      ring: (size) => `ring allreduce of ${size}`,
      alpha: "α: a message starts, nothing moves",
      beta: "β: bytes move",
      gamma: "γ: bytes are added",
      machine: (k) => `machine ${k}`,
      card: (count) => (count === 1 ? "1 card" : `${count} cards`),
      compute: "compute",
      network: "network",
      forward: "forward",
      backward: "backward",
      update: "update",
      waits: (time) => `waits ${time}`,
      overlap: "with overlap",
      apart: "without",
    },
    after: { explore: "See it in the machine", lessons: "Go on with the lessons" },
  },
  zh: {
    title: "多个 GPU 怎样求同一个和",
    lead: "七幅图，六分钟。每个数字都是在您阅读时算出来的。",
    hint: "左右拖动数字 [n]，或选中后按 ← 和 →：正文、公式和图会一起变化。读到哪一段，图就走到哪一刻；↑ 和 ↓ 切换章节。",
    play: "播放这幅图",
    pause: "暂停这幅图",
    chapter: "章节",
    free: "γ = 0",
    buckets: (count) => `${count} 个桶`,
    channels: (count) => `${count} 个 channel`,
    names: {
      n: "GPU 数",
      more: "另一个 GPU 数",
      far: "更大的 GPU 数",
      many: "GPU 数",
      size: "梯度的字节数",
      small: "梯度的字节数",
      rate: "线缆单向带宽",
      alpha: "启动一条消息的时间",
      gamma: "加一个字节的时间",
      channels: "channel 数",
      bucket: "桶的数量",
    },
    chapters: [
      {
        key: "server",
        title: "由一台服务器相加",
        text: [
          [
            0.2,
            "[n] 个 GPU 各自算出了 [size] 的梯度，每个都需要总和。最直接的办法：GPU 0 收集、相加，再把结果发回去。",
          ],
          [0.5, "每条线缆单向带宽 [rate]。GPU 0 的那条线缆必须通过 {less} × {size}。"],
          [1, "总和沿同一条线缆发回，**{serverTime}** 之后到齐。"],
        ],
      },
      {
        key: "hot-link",
        title: "热点链路",
        text: [
          [1, "GPU 0 的线缆每个方向要传 (N − 1) × S = **{serverBytes}**，其他线缆各 **{otherBytes}**。"],
          [1, "只把这一条线缆加倍，可省 **{saves}**；把其他所有线缆加倍，可省 {rest}。"],
          [1, "若 [more]，则需要 {moreTime}：**时间随 N − 1 增长**。"],
        ],
      },
      {
        key: "ring",
        title: "环形",
        text: [
          [0.2, "把梯度切成 [n] 块，每块 {piece}。每个 GPU 把一块发给邻居，邻居加上自己的数，再把和传下去。"],
          [0.5, "{less} 步之后，每一块都在某个 GPU 上加完了。"],
          [1, "再用 {less} 步把它复制一圈。所有线缆一直在工作：**{ringTime}**，而不是 {serverTime}。"],
        ],
      },
      {
        key: "volume",
        title: "每个 GPU 要发送多少？",
        formula: "volume",
        text: [
          [1, "乘 2，因为和要先走一圈来**相加**，再走一圈来**复制**。N 份中的 N − 1 份，因为每次都有一块留在原地。"],
          [1, "从 [n] 到 [far]，变化 {grows}：从 {sent} 到 {sentFar}。无论多少个 GPU，**都不会超过 2 S**，即 {most}。"],
        ],
      },
      {
        key: "alpha-beta",
        title: "那么要多久？",
        formula: "time",
        text: [
          [
            1,
            "**α** 是启动一条消息的时间，其间什么都不传：[alpha]。**β** 是一个字节在线缆上的时间，[rate] 时 1/B = {beta}。**γ** 是加一个字节的时间：" +
              "[gamma]。**S** 是梯度大小：[small]。",
          ],
          [1, "[many] 时共有 {steps} 步，启动它们要 {starting}，占 **{idle} 的时间**。"],
          [
            1,
            "halving-doubling 发送同样多的字节，只要 {hsteps} 步：{halving}（不计相加的时间）。小梯度要步数少，大梯度要线缆满。",
          ],
        ],
      },
      {
        key: "cards",
        title: "两台机器，八张网卡",
        text: [
          [
            1,
            "两台 DGX A100 各有 8 个 GPU 和 8 张网卡。一个贯穿 16 个 GPU 的环只经一张网卡离开机器：256 MiB 需要 {oneTime}，另外七条线缆闲着。",
          ],
          [
            1,
            "再加的每个环错开一个 GPU，从另一张网卡离开。[channels] 时用上 8 张中的 {cards} 张，**{cardsTime}**，是一张的 {cardsFaster} 倍快。" +
              "GPU 和线缆都没有变。",
          ],
        ],
      },
      {
        key: "training",
        title: "训练的一步",
        text: [
          [0.4, "梯度从最后一层到第一层依次出现，所以一个桶在求和时，下一个桶还在计算。"],
          [0.8, "用 [bucket]，一步需要 **{stepTime}**；如果等最后一个梯度算完才开始求和，则要 {apart}。"],
          [1, "网络占用一步中的 {exposed}。桶太小太多，要一次次付 α；只有一个大桶，就无处可藏。"],
        ],
        note: "ResNet-50，一台 PCIe 机器中 8 个 A100，每个 16 张图片，DDP，bfloat16；是预测，不是实测。",
      },
    ],
    figure: {
      switch: "交换机",
      each: (rate, share) => `各 ${rate}：用了 ${share}`,
      full: (rate, count) => (count === 1 ? `${rate}：占满` : `${rate}：占满，${count} 份梯度共用`),
      collects: (share, size) => `${size} 份各收到 ${share}`,
      gives: (share, size) => `${size} 个各收到总和的 ${share}`,
      gpu: "GPU",
      like: (count) => `还有 ${count} 个同样的`,
      caption: "每个 GPU 的线缆上的字节数（单向）",
      step: (k, all) => `第 ${k} 步，共 ${all} 步`,
      adding: (size) => `每个邻居加上一块 ${size}`,
      copying: (size) => `每个邻居留下一块 ${size} 的副本`,
      faster: (x) => `${x} 倍快`,
      sends: "一个 GPU 发送的 MiB",
      never: (size) => `2 S = ${size}：不会更多`,
      add: "相加",
      copy: "复制",
      ring: (size) => `${size} 的环形 allreduce`,
      alpha: "α：消息启动，什么都不传",
      beta: "β：字节在传",
      gamma: "γ：字节在相加",
      machine: (k) => `机器 ${k}`,
      card: (count) => `${count} 张网卡`,
      compute: "计算",
      network: "网络",
      forward: "前向",
      backward: "反向",
      update: "更新",
      waits: (time) => `等待 ${time}`,
      overlap: "重叠",
      apart: "不重叠",
    },
    after: { explore: "到机器里看一看", lessons: "继续上课" },
  },
};
