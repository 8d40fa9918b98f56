// The style sheet of the Lab's picture.

import { buttonsCss } from "../transport/buttonstyle.js";
import { lightCss } from "../transport/lanechart.js";

export const LAB_CSS = `
${buttonsCss(".lb")}${lightCss(".lb")}
.lb .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 20px 12px;
  margin-bottom:14px;overflow-x:auto}
.lb .top{display:flex;gap:16px;align-items:center;justify-content:space-between;min-height:54px}
.lb .says{margin:0;font-size:19px;line-height:26px;text-wrap:pretty}
.lb svg.time{cursor:ew-resize;touch-action:pan-y}
.lb .legend{display:flex;flex-wrap:wrap;gap:4px 24px;font-size:13px;line-height:20px;color:var(--ink2);padding-top:8px}
.lb .legend span{display:inline-flex;gap:8px;align-items:center}
.lb .legend i{width:18px;height:13px;flex:none}
.lb .legend .tri{width:0;height:0;border:7px solid transparent;border-top:0;border-bottom:12px solid var(--hostink)}
.lb .legend .dash{height:0;width:24px;border-top:2px dashed var(--ink)}
`;
