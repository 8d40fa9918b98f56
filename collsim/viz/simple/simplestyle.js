// The style sheet of the simple page.

import { exportsCss } from "../player/export/menu.js";
import { slideCss } from "../player/export/slide.js";
import { FONT } from "../player/model/look.js";

const MONO = 'ui-monospace,"Cascadia Code",Menlo,"Liberation Mono",monospace';

export const SIMPLE_CSS = `
.sp p,.sp h2,.sp h3,.sp pre{margin:0}.sp button{font:inherit;color:var(--ink);cursor:pointer;margin:0}
.sp .top{display:flex;gap:16px 32px;align-items:flex-end;justify-content:space-between;flex-wrap:wrap;
  padding:0 4px 14px}
.sp .title{font-size:16px;line-height:22px;font-weight:700;color:var(--ink2)}
.sp .product{display:flex;flex-wrap:wrap;align-items:flex-start;gap:4px 16px}
.sp .factor{display:inline-flex;flex-direction:column;align-items:center;max-width:190px}
.sp .factor.factor.lead.lead{align-items:stretch;max-width:none}
.sp .what{font-size:44px;line-height:52px;font-weight:700;letter-spacing:-1px;white-space:nowrap}
.sp .big{font-size:36px;line-height:50px;font-weight:700;white-space:nowrap;height:52px;display:flex;
  align-items:center}
.sp .big .unit{font-size:24px;font-weight:400;white-space:pre}
.sp .frac{display:inline-flex;flex-direction:column;align-items:center;font-size:24px;line-height:25px}
.sp .frac .over{border-bottom:2.5px solid var(--ink);padding:0 6px}
.sp .sign{font-size:32px;line-height:52px;color:var(--ink2)}
.sp .factor small{font-size:13px;line-height:17px;color:var(--ink2);text-align:center;
  border-top:1px solid var(--edge);
  padding-top:3px;min-width:100%}
.sp .cards{display:grid;gap:5px;padding:12px 22px;border:0;border-radius:10px;background:var(--ink);color:var(--card);
  flex:1 1 430px;max-width:500px;text-align:left;position:relative}
.sp .cards .act{font-size:22px;line-height:28px;font-weight:700;display:flex;justify-content:space-between}
.sp kbd{font:13px/22px ${FONT};border:1px solid currentColor;border-radius:4px;padding:0 7px;opacity:.75;height:24px}
.sp .cards .bar{display:grid;grid-template-columns:96px 1fr;align-items:center;font-size:14px;line-height:20px;
  opacity:.78}
.sp .cards .bar.now{opacity:1}.sp .track{display:flex;gap:10px;align-items:center;padding-right:76px}
.sp .track i{display:block;height:13px;border-radius:2px;background:var(--wait);flex:none}
.sp .bar:nth-child(3) .track i{background:var(--sumfill)}
.sp .track b{font-size:18px;white-space:nowrap}.sp .gain{position:absolute;right:22px;bottom:12px;font-size:14px}
.sp .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 20px 12px;min-width:0}
.sp .says{font-size:24px;line-height:33px;min-height:66px;text-wrap:pretty}
.sp .stage{margin:10px 0}.sp .stage canvas{display:block}
.sp .time{display:grid;grid-template-columns:auto minmax(240px,1fr) minmax(0,340px);gap:10px 28px;align-items:center;
  border-top:1px solid var(--line);padding-top:12px}
.sp .buttons{display:flex;gap:8px;flex-wrap:wrap}
.sp .btn,.sp .play,.sp .predict{height:44px;min-width:44px;border-radius:8px;border:1px solid var(--edge);
  padding:0 12px;
  background:var(--card);display:inline-flex;align-items:center;justify-content:center;gap:10px;font-size:17px}
.sp .play{background:var(--ink);border-color:var(--ink);color:var(--card);font-weight:700;min-width:122px}
.sp .predict::before{content:"?";font-weight:700;border:1.5px solid currentColor;border-radius:50%;width:22px;
  line-height:19px;text-align:center}
.sp .predict[aria-pressed=true]{background:var(--ink);color:var(--card);border-color:var(--ink)}
.sp svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
.sp .scrub{cursor:pointer;touch-action:none;min-width:0}.sp .scrub canvas{display:block}
.sp .key{font-size:13px;line-height:18px;color:var(--ink2)}
.sp.guided .mid{display:grid;grid-template-columns:minmax(0,1fr) 236px;gap:12px;align-items:stretch}
.sp .guide{border:2px solid var(--ink);border-radius:10px;background:var(--card);padding:10px 14px;display:flex;
  flex-direction:column;font-size:13px;line-height:17px;color:var(--ink2)}
.sp .guide header{display:flex;align-items:center;gap:8px;border-bottom:1px solid var(--line);padding-bottom:6px}
.sp .guide header b{font-size:15px;color:var(--ink);flex:1}
.sp .guide .close{width:34px;height:34px;border:1px solid var(--edge);border-radius:6px;background:none;font-size:20px;
  line-height:1;padding:0}
.sp .guide ol{list-style:none;margin:0;padding:0;flex:1}
.sp .guide li{display:flex;gap:10px;padding:10px 0;border-bottom:1px solid var(--line)}
.sp .guide li>div{flex:1;min-width:0}.sp .guide li :is(b,small,.act){display:block;font-size:13px;line-height:17px}
.sp .guide li :is(b,.act){font-size:15px;line-height:20px;color:var(--ink);font-weight:400}
.sp .guide .act{border:0;background:none;padding:0;text-align:left;text-decoration:underline dotted;min-height:24px}
.sp .guide .next :is(b,.act){font-weight:700}
.sp .guide i{font-style:normal;flex:none;width:24px;height:24px;border:1.5px solid var(--edge);border-radius:50%;
  text-align:center;line-height:21px;color:var(--ink)}
.sp .guide .next i{border-color:var(--ink);font-weight:700}
.sp .guide .done i{background:var(--ink);border-color:var(--ink);color:var(--card)}
.sp .guide a{display:inline-block;margin:7px 6px 0 0;padding:6px 9px;border:1px solid var(--edge);border-radius:6px;
  color:var(--ink);text-decoration:none;font-size:14px;line-height:20px}
.sp .guide .next a:only-of-type{background:var(--ink);border-color:var(--ink);color:var(--card);font-weight:700}
.sp .guide .keys{padding-top:8px}.sp .reopen{font-weight:700}
.sp .side{display:none}
.sp.asking .mid{display:grid;grid-template-columns:minmax(0,1fr) minmax(380px,34%);gap:20px;align-items:start}
.sp.asking .side{display:grid;gap:12px}
.sp.asking .time{grid-template-columns:auto minmax(0,1fr)}.sp.asking .key{display:none}
.sp.classroom :is(.top,.side,.predict){display:none!important}
.sp.classroom.asking .mid{display:block}
.sp .asks{font-size:40px;line-height:46px;letter-spacing:-.7px;text-wrap:pretty;flex:1;align-self:center;min-width:0}
.sp .asks.soon{font-weight:400;color:var(--ink2);font-size:26px}
.sp .which{font-size:15px;line-height:21px;color:var(--ink2);text-align:right}
.sp .which b{display:block;color:var(--ink);font-size:19px;line-height:25px}
.sp.asking .top{flex-wrap:nowrap;min-height:92px;align-items:center}
.sp .answer{display:flex;align-items:center;gap:16px;text-align:left;padding:12px 16px;border:1px solid var(--edge);
  border-radius:10px;background:var(--card);min-height:66px}
.sp .answer i{font-style:normal;flex:none;width:38px;height:38px;border-radius:50%;background:var(--ink);
  color:var(--card);display:grid;place-items:center;font-size:19px;font-weight:700}
.sp .answer .text{flex:1;display:grid;gap:2px}.sp .answer b{font-size:21px;line-height:27px}
.sp .answer small{font-size:16px;line-height:22px;color:var(--ink2)}.sp .answer:disabled{cursor:default}
.sp .answer.given{outline:3px solid var(--ink);outline-offset:-2px}
.sp .answer.right{outline:3px solid var(--done);outline-offset:-2px}.sp .answer.right i{background:var(--done)}
.sp .answer.wrong{outline:3px dashed var(--full);outline-offset:-2px}
.sp .verdict{font-size:18px;line-height:26px}
.sp .row{display:flex;gap:16px;align-items:center}.sp .row small{font-size:15px;line-height:21px;color:var(--ink2)}
.sp .go{height:54px;padding:0 26px;border-radius:8px;border:0;background:var(--ink);color:var(--card);font-weight:700;
  font-size:20px;white-space:nowrap}
.sp .code{border:1px solid var(--line);border-radius:10px;background:var(--card);padding:12px 0 14px;overflow-x:auto}
.sp .code h3{font-size:15px;line-height:22px;padding:0 16px 4px;display:flex;justify-content:space-between}
.sp .code h3 span{font-family:${MONO};font-size:14px}.sp.small .code pre{font-size:12px;line-height:20px}
.sp .code pre{font:14px/23px ${MONO};display:grid;min-width:max-content}
.sp .code code{font:inherit;padding:0 16px;white-space:pre}
.sp .code code.now{background:var(--ink);color:var(--card)}
.sp .error:empty{display:none}.sp .error{font-size:18px;padding:12px}
.sp.small .what{font-size:31px;line-height:44px}.sp.small .big{font-size:28px;height:44px}
.sp.small .sign{font-size:26px;line-height:44px}.sp.small .frac{font-size:20px;line-height:21px}
.sp.small .product{gap:4px 10px}.sp.small .factor{max-width:112px}.sp.small .cards{flex-basis:340px;max-width:380px;
  padding:10px 18px}
.sp.small .says{font-size:20px;line-height:28px;min-height:56px}.sp.small .key{font-size:12.5px;line-height:16px}
.sp.small .asks{font-size:28px;line-height:35px}.sp.small.asking .top{min-height:70px}
.sp.small .answer b{font-size:18px;line-height:24px}
.sp.small .time{gap:10px 18px;grid-template-columns:auto minmax(200px,1fr) minmax(0,270px)}
.sp.small.asking .time{grid-template-columns:auto minmax(0,1fr)}.sp.small .cards .act{font-size:19px}
.sp.stack.asking .mid{display:flex;flex-direction:column;align-items:stretch}.sp.stack .side{width:100%}
.sp.stack .time,.sp.stack.asking .time{grid-template-columns:auto minmax(0,1fr)}.sp.stack .key{grid-column:1/-1}
.sp.slim{display:flex;flex-direction:column}.sp.slim .top{order:2;padding:12px 0 0;flex-direction:column-reverse;
  align-items:stretch}
.sp.slim .cards{flex:none;max-width:none}
.sp.slim .card{border:0;background:none;padding:0;display:flex;flex-direction:column}
.sp.slim .stage{order:-1;margin:0 0 10px}.sp.slim .says{font-size:17px;line-height:24px;min-height:72px}
.sp.slim .time,.sp.slim.asking .time{display:flex;flex-direction:column;order:-1;align-items:stretch;border:0;
  padding:0;gap:8px}
.sp.stack.guided .mid{display:block}.sp.stack .guide{position:sticky;bottom:0;z-index:4;padding:6px 12px;margin-top:8px}
.sp.stack .guide :is(header b,header span,.keys,small,li:not(.next)){display:none}
.sp.stack .guide{flex-direction:row-reverse;align-items:center;gap:10px}.sp.stack .guide header{border:0;padding:0}
.sp.stack .guide li{border:0;padding:0;align-items:center}.sp.stack .guide li>div{display:flex;align-items:center;
  flex-wrap:wrap;gap:0 10px}.sp.stack .guide a{margin:0}
.sp.slim .what{font-size:24px;line-height:32px}.sp.slim .big{font-size:20px;height:30px}
.sp.slim .sign{font-size:20px;line-height:30px}.sp.slim .product{gap:2px 8px}.sp.slim .frac{font-size:15px;
  line-height:15px}
.sp.slim .factor small{font-size:12px;line-height:15px}.sp.slim .big .unit{font-size:17px}
.sp.slim .factor{max-width:96px}
.sp.slim.asking .mid{display:flex;flex-direction:column}.sp.slim .side{width:100%}
.sp.slim.asking .top{order:-1;padding:0 0 10px;min-height:0}.sp.slim .asks{font-size:21px;line-height:27px}
.sp.slim .which{text-align:left}.sp.slim .predict{flex:1}.sp.slim .play{min-width:104px}
${exportsCss(".sp")}
.sp .export>.btn{padding:0 12px}
${slideCss(".sp")}
.sp.slide :is(.top,.time,.side,.guide){display:none!important}.sp.slide .mid{display:block}
.sp.slide .card{border:0;padding:0;background:none}
.sp.slide .says{font-size:36px;line-height:46px;min-height:92px}
.sp.slide.slim .says{font-size:24px;line-height:32px}
@media print{.sp .buttons,.sp .cards,.sp .guide{display:none}}
`;
