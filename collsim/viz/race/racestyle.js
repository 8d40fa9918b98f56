// The style sheet of a race.

import { exportsCss } from "../player/export/menu.js";
import { slideCss } from "../player/export/slide.js";
import { buttonsCss } from "../transport/buttonstyle.js";

export const RACE_CSS = `
${buttonsCss(".rc")}
.rc .lanes{display:grid;gap:16px;margin-bottom:16px}
.rc .lane,.rc .board{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 20px 12px;
  min-width:0}
.rc .board{border-bottom:0;border-radius:10px 10px 0 0}
.rc .line{position:sticky;bottom:0;z-index:3;background:var(--card);border:1px solid var(--line);border-top:0;
  border-radius:0 0 10px 10px;padding:0 20px 6px}
.rc .lane{display:flex;flex-direction:column}.rc .traffic{display:block;width:100%}
.rc .verdict{border-left:4px solid var(--full);margin:0 0 8px;padding:0 0 0 14px}
.rc .verdict b{display:block;font-size:18px;line-height:24px}
.rc .verdict span{display:block;font-size:15px;line-height:20px;color:var(--ink2)}
.rc h2{margin:0;font-size:22px;line-height:28px;font-weight:700;white-space:nowrap;overflow:hidden;
  text-overflow:ellipsis}
.rc h2 small{font-size:14px;font-weight:400;color:var(--ink2);margin-left:10px}
.rc .where{font-size:14px;line-height:19px;color:var(--ink2);min-height:19px}
.rc .load{display:flex;justify-content:space-between;align-items:baseline;font-size:14px;line-height:20px;
  color:var(--ink2);margin-top:6px}
.rc .load b{font-size:16px;color:var(--ink)}.rc .hot .load b{color:var(--fulltext)}
.rc .meter{height:7px;border-radius:3px;background:var(--grid);margin:2px 0 8px}
.rc .meter i{display:block;height:7px;border-radius:3px;background:var(--ink3)}.rc .hot .meter i{background:var(--full)}
.rc .reason{font-size:16px;line-height:23px;margin:8px 0 2px;text-wrap:pretty}
.rc .rows{display:grid;grid-template-columns:minmax(120px,280px) minmax(0,1fr) auto auto auto;align-items:center;
  column-gap:14px}
.rc .rows .h{font-size:13px;color:var(--ink2);padding-bottom:4px;align-self:end}
.rc .rows>span:first-child{padding-bottom:6px}.rc .num{text-align:right;white-space:nowrap}
.rc .name{padding:7px 0}
.rc .name b{display:block;font-size:18px;line-height:25px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.rc .name small{font-size:13px;line-height:17px;color:var(--ink2);display:block}
.rc .track{position:relative;height:100%;min-height:48px;border-left:1px solid var(--edge);
  background:linear-gradient(90deg,transparent calc(25% - 1px),var(--grid) 25%,transparent calc(25% + .5px),
  transparent calc(50% - 1px),var(--grid) 50%,transparent calc(50% + .5px),transparent calc(75% - 1px),var(--grid) 75%,
  transparent calc(75% + .5px))}
.rc .track:after{content:"";position:absolute;right:0;top:0;bottom:0;width:14px;border:1.5px solid var(--ink);
  border-width:0 1.5px;
  background:conic-gradient(var(--ink) 25%,var(--card) 0 50%,var(--ink) 0 75%,var(--card) 0) 0 0/11px 11px}
.rc .bar{position:absolute;left:0;right:14px;top:50%;height:18px;margin-top:-9px;background:var(--grid)}
.rc .bar i{position:absolute;left:0;top:0;height:18px;width:0;background:var(--ink3)}
.rc .dot{position:absolute;top:-5px;width:28px;height:28px;margin-left:-14px;background:var(--card);
  border:2.4px solid var(--ink);border-radius:4px;overflow:hidden}
.rc .dot u{position:absolute;left:0;right:0;bottom:0;height:40%;background:var(--sumfill)}
.rc .dot.round{border-radius:50%;border-color:var(--card);background:var(--done)}.rc .dot.round u{display:none}
.rc .pct{position:absolute;top:-3px;font-weight:700;font-size:16px;line-height:24px;white-space:nowrap}
.rc .position{font-size:15px;color:var(--ink2)}.rc .fin{font-size:19px;font-weight:700}
.rc .bw{font-size:15px;color:var(--ink2)}
.rc .home .position{color:var(--ink);font-weight:700}.rc .late .fin{color:var(--fulltext)}
.rc .rule{grid-column:1/-1;height:1px;background:var(--grid)}
.rc .time{display:grid;grid-template-columns:minmax(120px,280px) minmax(0,1fr) 230px;column-gap:14px;align-items:end;
  border-top:1px solid var(--line);padding-top:2px}
.rc .time>.g{display:flex;gap:6px;align-items:center;padding-bottom:18px;flex-wrap:wrap}
.rc .scrub{position:relative;height:76px;touch-action:none;cursor:pointer}
.rc .scrub svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.rc .clock{font-weight:700;font-size:16px;text-align:right;padding-bottom:18px;white-space:nowrap}
.rc .end{display:flex;flex-direction:column;align-items:flex-end;gap:8px}.rc .end .g{display:flex;gap:6px}
.rc .note{font-size:13px;color:var(--ink2);overflow-wrap:anywhere;max-width:230px}.rc .note:empty{display:none}
.rc .foot{display:flex;flex-wrap:wrap;gap:6px 22px;align-items:center;font-size:13px;line-height:20px;color:var(--ink2);
  padding:8px 6px 0}
.rc .foot span{display:inline-flex;gap:7px;align-items:center}
.rc .foot i{width:12px;height:12px;border-radius:2px;display:inline-block;flex:none}
.rc .foot .sq{width:16px;height:16px;border:2px solid var(--ink);border-radius:3px;
  background:linear-gradient(0deg,var(--sumfill) 45%,var(--card) 45%)}
.rc .foot .ci{width:15px;height:15px;border-radius:50%;background:var(--done)}
.rc .foot .wt{width:16px;height:16px;border:1.5px dashed var(--wait);border-radius:3px}
.rc .foot .arc{width:26px;height:9px;border:1.5px solid var(--ink3);border-top:0;border-radius:0 0 13px 13px}
.rc .foot .pipe{width:30px;height:13px;border-radius:0;
  background:linear-gradient(0deg,var(--edge) 8%,var(--roomtint) 8% 34%,var(--room) 34% 66%,var(--roomtint) 66% 92%,
  var(--edge) 92%)}
.rc .bad{padding:12px 0;font-size:16px}
.rc .quiet{position:absolute;width:1px;height:1px;padding:0;overflow:hidden;clip-path:inset(50%)}
${exportsCss(".rc")}
.rc.hides :is(.verdict,.board,.line,.foot,.load,.meter,.reason,.traffic){display:none!important}
${slideCss(".rc")}
.rc.slide{display:flex;flex-direction:column;justify-content:safe center}
.rc.slide :is(.board,.foot,.load,.meter,.where,.reason,.note,.time>.g,.tools){display:none!important}
.rc.slide .lane{border:0;padding:0}.rc.slide h2{font-size:30px;line-height:38px}
.rc.slide h2 small{font-size:20px;display:block;margin:0}
.rc.slide .verdict b{font-size:36px;line-height:44px}.rc.slide .verdict span{font-size:24px;line-height:32px}
.rc.slide .line{border:0;padding:0}.rc.slide .time{grid-template-columns:minmax(0,1fr) 230px;border:0}
.rc.slide .clock{font-size:24px}
.rc.small .lane,.rc.small .board{padding:12px 14px 10px}.rc.small .line{padding:0 14px 4px}
.rc.small h2{font-size:18px;line-height:24px}
.rc.small .reason{font-size:14.5px;line-height:20px}
.rc.small .rows,.rc.small .time{grid-template-columns:minmax(100px,210px) minmax(0,1fr) auto auto auto}
.rc.small .time{grid-template-columns:minmax(100px,210px) minmax(0,1fr) 150px}
.rc.small .name b,.rc.small .fin{font-size:16px}
.rc.slim .lanes{grid-template-columns:minmax(0,1fr)!important}.rc.slim .bw{display:none}
.rc.slim .rows,.rc.slim .time{grid-template-columns:minmax(0,1fr) auto auto}
.rc.slim .rows>span:first-child,.rc.slim .name,.rc.slim .scrub{grid-column:1/-1}.rc.slim .name{padding-bottom:0}
.rc.slim .scrub{order:-1}.rc.slim :is(.track,.scrub){margin-left:14px}
.rc.slim .end{flex-direction:row;align-items:center}.rc.slim :is(.time>.g,.end,.clock){padding-bottom:4px}
.rc.slim .time{display:flex;flex-wrap:wrap}.rc.slim .scrub{flex:1 0 calc(100% - 14px)}
`;
