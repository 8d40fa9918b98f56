// The style sheets of runners on one clock and of the map of splits.

import { buttonsCss } from "../transport/buttonstyle.js";
import { lightCss } from "../transport/lanechart.js";

/** What both have beside buttons and segments. */
const shared = (root) => `
${buttonsCss(root)}
${root} .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 20px;min-width:0}
${root} .foot{display:flex;flex-wrap:wrap;gap:6px 24px;font-size:13px;line-height:20px;color:var(--ink2);
  padding-top:10px}
${root} .foot span{display:inline-flex;gap:8px;align-items:center}
${root} .foot i{display:inline-block;flex:none;width:20px;height:14px;border-radius:3px}
`;

export const LANES_CSS = `${shared(".ln")}${lightCss(".ln")}
.ln .says{margin:0 0 2px;font-size:19px;line-height:27px;text-wrap:pretty}
.ln .tip{margin:0 0 6px;font-size:14px;line-height:20px;min-height:20px;color:var(--ink2)}
.ln .runner{display:grid;grid-template-columns:150px minmax(0,1fr) 330px;gap:0 20px;border-top:1px solid var(--line);
  padding:6px 0}
.ln .name b{display:block;font-size:19px;line-height:25px}
.ln .name small{display:block;font-size:13px;line-height:18px;color:var(--ink2)}
.ln .name button{border:0;background:none;padding:0;text-align:left;display:block;min-height:34px}
.ln .field{position:relative;cursor:ew-resize;touch-action:pan-y}
.ln .main{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 12px}
.ln .main b{font-size:26px;line-height:32px;color:var(--ink);margin-right:7px}
.ln .main span{font-size:14px;color:var(--ink2);white-space:nowrap}
.ln .main .r b{font-size:22px;margin:0 0 0 5px}
.ln .meter{height:7px;border-radius:3px;margin:3px 0 4px;background:
  repeating-linear-gradient(135deg,var(--wait) 0 1.5px,transparent 1.5px 6px)}
.ln .meter i{display:block;height:7px;border-radius:3px 0 0 3px;background:var(--ink3)}
.ln table{border-collapse:collapse;width:100%;font-size:14px;line-height:19px}
.ln td{padding:2px 0;border-top:1px solid var(--grid);vertical-align:baseline}
.ln td:first-child{color:var(--ink2);white-space:nowrap;padding-right:10px}
.ln td:last-child{text-align:right;font-weight:700;white-space:nowrap;padding-left:8px}
.ln td .ok{color:var(--done);margin-left:5px}.ln td .off{color:var(--fulltext)}
.ln .none{font-size:13px;line-height:18px;color:var(--ink2);margin:2px 0 0}
.ln .heads{display:flex;gap:0 20px;font-size:13px;line-height:20px;color:var(--ink2)}
.ln .heads span:first-child{flex:1}.ln .heads span:nth-child(3){width:330px;flex:none}
.ln .bar{display:flex;gap:8px 14px;align-items:center;flex-wrap:wrap;padding:6px 0 2px;border-top:1px solid var(--line)}
.ln .bar .g{display:flex;gap:6px}.ln .clock{font-size:15px;font-weight:700;white-space:nowrap}
.ln .dock{position:sticky;bottom:0;z-index:2;background:var(--card);padding-bottom:6px}
.ln .note{font-size:14px;color:var(--ink2)}
.ln .scrub{position:relative;cursor:ew-resize;touch-action:none;margin-left:170px;margin-right:350px}
.ln.mid .runner{grid-template-columns:120px minmax(0,1fr)}
.ln.mid .runner>.figures{grid-column:2;display:grid;grid-template-columns:minmax(150px,.7fr) 1fr;gap:0 20px}
.ln.mid .heads span:nth-child(3){display:none}.ln.mid .scrub{margin-left:140px;margin-right:0}
.ln.slim .runner{display:block}.ln.slim .heads{display:none}.ln.slim .scrub{margin:0}
.ln.slim .card{padding:10px 12px}.ln.slim .says{font-size:16px;line-height:22px}
.ln .tabs{display:none;margin:6px 0;max-width:100%;overflow-x:auto}.ln.slim .tabs{display:inline-flex}
.ln:fullscreen .says{font-size:28px;line-height:36px}
.ln:fullscreen .tip{font-size:19px;line-height:26px;min-height:26px}
`;

export const SPLITS_CSS = `${shared(".sm")}
.sm .both{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);gap:20px;align-items:start}
.sm.mid .both{grid-template-columns:minmax(0,.85fr) minmax(0,1fr)}
.sm.slim .both,.sm.none .both{grid-template-columns:minmax(0,1fr)}.sm.none .card:first-child{display:none}
.sm h2{margin:0 0 8px;font-size:18px;line-height:24px}
.sm h2 span{font-size:13px;font-weight:400;color:var(--ink2);margin-left:10px}
.sm h2 .over{font-weight:700;color:var(--fulltext)}
.sm section+section{border-top:1px solid var(--line);margin-top:14px;padding-top:12px}
.sm canvas{display:block;cursor:pointer;max-width:100%}
.sm .groups{display:flex;flex-wrap:wrap;gap:4px 22px;margin:8px 0 0;font-size:14px;line-height:20px;color:var(--ink2)}
.sm .groups span{display:inline-flex;gap:8px;align-items:center}
.sm .groups i{width:13px;height:13px;border-radius:2px;flex:none}
.sm .sent{display:grid;grid-template-columns:56px 170px minmax(40px,1fr) 84px 84px;gap:0 12px;align-items:center;
  font-size:14px;line-height:26px}
.sm .sent span{color:var(--ink2)}.sm .sent b span{color:inherit;display:inline-flex;gap:8px;align-items:center}
.sm .sent b i{width:13px;height:13px;border-radius:2px;flex:none}
.sm .sent b,.sm .sent .num{text-align:right}.sm .sent b:first-child{text-align:left}
.sm .track{height:14px}.sm .track i{display:block;height:14px;border-radius:2px}
.sm.slim .sent{grid-template-columns:56px minmax(40px,1fr) 76px 70px}.sm.slim .sent>span:nth-child(2){display:none}
.sm .held{position:relative;display:flex;height:18px;border-radius:4px;overflow:hidden;background:var(--grid)}
.sm .held i{display:block;height:18px;border-right:1px solid var(--card);box-sizing:border-box}
.sm .held em{position:absolute;top:0;bottom:0;right:0;border-left:2px solid var(--full);background:
  repeating-linear-gradient(135deg,var(--full) 0 1.5px,transparent 1.5px 6px)}
.sm .quiet{margin:0 0 6px;font-size:14px;line-height:20px;color:var(--ink2)}
.sm .counts{display:flex;gap:18px;margin:0;font-size:13px;color:var(--ink2)}
.sm .counts b:last-child{color:var(--fulltext)}
.sm .counts span{flex:1}
.sm .wide{overflow-x:auto;margin-top:6px}
.sm table{border-collapse:collapse;width:100%;font-size:13px;line-height:19px;white-space:nowrap}
.sm th{font-weight:400;color:var(--ink2);text-align:right;padding:2px 4px}
.sm th:last-child,.sm td:last-child,.sm th:nth-child(7),.sm td:nth-child(7),.sm th:nth-child(8),.sm td:nth-child(8){
  text-align:left}
.sm td{text-align:right;padding:3px 4px;border-top:1px solid var(--grid);cursor:pointer}
.sm td:nth-child(9){font-weight:700}.sm td:last-child{white-space:normal;min-width:126px}
.sm td button{border:1px solid var(--edge);border-radius:4px;background:none;min-width:26px;min-height:24px;
  padding:0 5px}
.sm tr.open td{background:var(--ink);color:var(--card)}.sm tr.open button{color:var(--card)}
`;
