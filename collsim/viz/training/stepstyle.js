// The style sheets of a step and of several steps on one clock.

import { exportsCss } from "../player/export/menu.js";
import { slideCss } from "../player/export/slide.js";
import { buttonsCss } from "../transport/buttonstyle.js";
import { lightCss } from "../transport/lanechart.js";

/** What both have beside buttons and segments. */
const parts = (root) => `
${buttonsCss(root)}
${root} h2{margin:0;font-size:19px;line-height:26px;font-weight:700}
${root} h2 span{font-size:13px;font-weight:400;color:var(--ink2);margin-left:10px}
${root} .btn{font-size:22px;line-height:1}
${root} .bar{display:flex;gap:8px 14px;align-items:center;flex-wrap:wrap;padding:6px 0 8px}
${root} .bar .g{display:flex;gap:6px}${root} .sp{flex:1}
${root} .clock{font-size:15px;font-weight:700;white-space:nowrap}
${root} .note{font-size:13px;color:var(--ink2);overflow-wrap:anywhere;max-width:320px}
${root} .foot{display:flex;flex-wrap:wrap;gap:6px 24px;font-size:13px;line-height:20px;color:var(--ink2);
  padding-top:10px}
${root} .foot span{display:inline-flex;gap:8px;align-items:center}
${root} .foot i{display:inline-block;flex:none}
${root} .foot .five{display:inline-flex}${root} .foot .five u{width:12px;height:13px}
${root} .foot .hatch{width:26px;height:13px;
  background:repeating-linear-gradient(135deg,var(--full) 0 3px,var(--fulltint) 3px 7px)}
${root} .foot .outline{width:24px;height:13px;border:2.4px solid var(--ink)}
${root} .foot .dash{width:24px;border-top:2px dashed var(--b2)}
${root} .foot .thin{width:24px;height:6px;background:var(--wait)}
`;

export const STEP_CSS = `${parts(".ts")}${exportsCss(".ts")}${slideCss(".ts")}${lightCss(".ts")}
.ts.slide :is(.bar,.seg,.funnel,.opened,.foot,.side){display:none!important}
.ts.slide .says{font-size:36px;line-height:46px;margin-bottom:20px}
.ts{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 20px 14px}
.ts .top{display:flex;gap:20px;align-items:center;justify-content:space-between;min-height:58px}
.ts .says{margin:0;font-size:19px;line-height:26px;text-wrap:pretty;min-height:52px;display:block}
.ts.beside>.body{display:grid;grid-template-columns:minmax(0,1fr) 400px;gap:24px}
.ts .lanes{display:flex;position:relative}
.ts .labels{position:relative;flex:none}
.ts .label{position:absolute;left:0;right:8px;line-height:20px}
.ts .label b{display:block;font-size:15px;line-height:20px}
.ts .label small{display:block;font-size:13px;line-height:17px;color:var(--ink2)}
.ts .scroll{overflow-x:auto;overflow-y:hidden;flex:1;min-width:0}
.ts svg.time{cursor:ew-resize;touch-action:pan-x pan-y}
.ts .open{cursor:pointer}.ts .open:hover rect{opacity:.85}
.ts .open:focus-visible{outline:none}.ts .open:focus-visible rect{stroke:var(--ink);stroke-width:3}
.ts .hovered{position:absolute;top:2px;width:240px;background:var(--card);border:1px solid var(--edge);
  border-radius:6px;padding:6px 10px;pointer-events:none;font-size:13px;line-height:18px;color:var(--ink2)}
.ts .hovered[hidden]{display:none}.ts .hovered b,.ts .hovered span{display:block}.ts .hovered b{color:var(--ink)}
.ts .funnel{height:34px;margin-top:4px}
.ts .opened{border:2px solid var(--hue,var(--line));border-radius:8px;padding:10px 12px}
.ts .opened.shut{border-style:dashed;border-width:1px;border-color:var(--edge)}
.ts .hint{margin:0;font-size:15px;color:var(--ink2)}
.ts .phead{display:flex;gap:6px 12px;align-items:center;flex-wrap:wrap}
.ts .phead b{font-size:18px}.ts .pace{font-size:14px;color:var(--ink2)}
.ts .chip{font-style:normal;font-weight:700;width:26px;height:26px;border-radius:4px;display:inline-flex;
  align-items:center;justify-content:center}
.ts .b2{display:inline-flex;align-items:center;border:1px solid var(--edge);border-radius:6px;min-height:34px;
  padding:0 12px;font-size:14px;background:var(--card);color:var(--ink);text-decoration:none}
.ts .inside{display:grid;grid-template-columns:190px minmax(0,1fr);gap:12px;margin-top:8px}
.ts .facts{display:flex;flex-direction:column;gap:12px}
.ts .fact{display:flex;flex-direction:column}
.ts .fact span{font-size:13px;line-height:18px;color:var(--ink2)}.ts .fact b{font-size:21px;line-height:26px}
.ts .fact small{font-size:13px;line-height:17px;color:var(--ink2);overflow-wrap:anywhere}
.ts .fact.alarm b{color:var(--fulltext)}
.ts .side h3{margin:10px 0 2px;font-size:15px;line-height:22px;display:flex;justify-content:space-between;gap:8px}
.ts .side h3 span{font-size:13px;font-weight:400;color:var(--ink2);text-align:right}
.ts .side p{margin:2px 0 0;font-size:13.5px;line-height:18px;color:var(--ink2);text-wrap:pretty}
.ts .curve{cursor:pointer;touch-action:none;border-radius:6px}
.ts .plain{border:0;background:none;padding:0;min-height:24px;text-decoration:underline;font-size:13.5px;
  color:var(--ink)}
.ts .change{border-top:1px solid var(--line);padding:7px 0 8px;margin-top:6px}
.ts .flip{display:flex;gap:9px;align-items:center;border:0;background:none;padding:2px 0;min-height:26px;
  text-align:left}
.ts .flip i{width:32px;height:18px;border-radius:9px;flex:none;background:var(--ink3);position:relative}
.ts .flip i:before{content:"";position:absolute;width:13px;height:13px;border-radius:50%;left:2.5px;top:2.5px;
  background:var(--card)}
.ts .flip[aria-checked=true] i{background:var(--ink)}.ts .flip[aria-checked=true] i:before{left:16.5px}
.ts .values{display:grid;grid-template-columns:minmax(40px,1fr) auto 52px;gap:12px;align-items:center;font-size:15px;
  line-height:22px;white-space:nowrap}
.ts .values em{text-align:right;font-style:normal;color:var(--ink2)}
.ts .bars i{display:block;height:5px;border-radius:2px;margin:2px 0}
.ts:not(.beside) .side{margin-top:18px}
.ts:not(.beside) .rows{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:0 28px}
.ts.slim{padding:10px 12px 12px}.ts.slim .top{flex-wrap:wrap}
.ts.slim .says{font-size:17px;line-height:23px}
.ts.slim .inside{grid-template-columns:minmax(0,1fr)}
.ts.slim .facts{display:grid;grid-template-columns:1fr 1fr}
.ts.slim .funnel{height:10px}.ts.slim .rows{grid-template-columns:minmax(0,1fr)}
@media print{.ts .funnel,.ts .bar{display:none}}
`;

export const RIVALS_CSS = `${parts(".rv")}
.rv .cards{display:grid;gap:16px;margin-bottom:16px}
.rv .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 18px 14px;min-width:0}
.rv .card h2 span{font-size:14px}
.rv .load{display:flex;justify-content:space-between;font-size:14px;line-height:20px;color:var(--ink2);margin-top:4px}
.rv .load b{font-size:16px;color:var(--ink)}.rv .hot .load b{color:var(--fulltext)}
.rv .meter{height:7px;border-radius:3px;background:var(--grid);margin:2px 0 8px}
.rv .meter i{display:block;height:7px;border-radius:3px;background:var(--ink3)}.rv .hot .meter i{background:var(--full)}
.rv .rhead{display:flex;justify-content:space-between;gap:10px;align-items:center;min-height:36px}
.rv .reason{margin:8px 0 0;font-size:15px;line-height:21px;text-wrap:pretty}
.rv .tracks{display:grid;grid-template-columns:minmax(110px,216px) minmax(0,1fr) auto auto;gap:0 14px;
  align-items:center}
.rv .tracks .h{font-size:13px;color:var(--ink2);text-align:right}
.rv .tracks .name b{display:block;font-size:16px;line-height:21px}
.rv .tracks .num{text-align:right;white-space:nowrap;font-size:16px}.rv .tracks .num.late{color:var(--fulltext)}
.rv .tracks .rule{grid-column:1/-1;height:1px;background:var(--grid);margin:5px 0}
.rv .tracks .at{cursor:ew-resize}
.rv.slim .card{padding:10px 12px}.rv.slim .tracks{grid-template-columns:82px minmax(0,1fr) auto;gap:0 8px}
.rv.slim .tracks .waits{display:none}.rv.slim .tracks .name b{font-size:14px;line-height:18px}
`;
