// The style sheet of the card.

import { exportsCss } from "../export/menu.js";
import { FONT } from "../model/look.js";

export const CSS = `
.cs{-webkit-font-smoothing:antialiased}.cs *:before{box-sizing:border-box}
.cs:focus-visible .card{outline:2px solid var(--ink);outline-offset:2px}
.cs .card{position:relative;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:0 20px 14px}
.cs .load{position:absolute;left:10px;right:10px;top:-1px;height:2px;background:var(--ink);display:none}
.cs.loading .load{display:block}.cs.loading .body{opacity:.6}
.cs .error{display:none;padding:20px 0;font-size:17px;line-height:25px}.cs.bad .error{display:block}
.cs.bad .body{display:none}
.cs .nar{position:relative;z-index:3;background:var(--card)}
.cs .nar{display:flex;align-items:center;gap:20px;height:72px;font-size:19.5px;line-height:27px}
.cs .nar.long{font-size:16.5px;line-height:22px}
.cs .nar.wrong .say{border-left:4px solid var(--full);padding-left:14px}.cs .nar.wrong .say b{color:var(--fulltext)}
.cs .say{flex:1;margin:0;text-wrap:pretty;max-height:100%;overflow:hidden}.cs .say b{font-weight:700}
.cs .seg{display:inline-flex;flex:none;border:1px solid var(--edge);border-radius:6px;overflow:hidden;
  background:var(--card)}
.cs button,.cs select{font:inherit;color:var(--ink);cursor:pointer;margin:0}
.cs .seg button{border:0;background:none;padding:4px 11px;font-size:14px;line-height:20px;min-height:32px;
  color:var(--ink2);white-space:nowrap}
.cs .seg button:focus-visible{outline-offset:-4px}
.cs .seg button[aria-pressed=true]:focus-visible{outline-color:var(--card)}
.cs .seg button+button{border-left:1px solid var(--line)}
.cs .seg button[aria-pressed=true]{background:var(--ink);color:var(--card);font-weight:700}
.cs .seg.small button{font-size:13px;padding:1px 7px;min-height:24px;line-height:18px}
.cs .mid{display:grid;grid-template-columns:minmax(0,1fr) 400px;gap:0 24px}
.cs.narrow .mid{grid-template-columns:minmax(0,1fr)}
.cs .stage{position:relative;overflow-x:auto;overflow-y:hidden}
.cs .stage canvas{position:absolute;left:0;top:0;display:block}
.cs canvas{display:block}
.cs .running{display:flex;align-items:center;gap:14px;min-height:30px;padding-bottom:4px;overflow:hidden}
.cs .running code{font:13px/22px ui-monospace,"Cascadia Code",Menlo,"Liberation Mono",monospace;white-space:pre;
  background:var(--ink);color:var(--card);border-radius:4px;padding:0 10px;overflow:hidden;text-overflow:ellipsis}
.cs .running code:empty{display:none}.cs .running span{white-space:nowrap;flex:none}
.cs.present .running{flex-wrap:wrap}.cs.present .running code{font-size:20px;line-height:32px;white-space:pre-wrap}
.cs.present .running .dim{font-size:18px}
.cs .legend{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;min-height:30px;font-size:13px;line-height:18px;
  color:var(--ink2);padding:2px 4px 4px}
.cs .legend span{display:inline-flex;align-items:center;gap:7px;white-space:nowrap}.cs .legend svg{flex:none}
.cs .kinds{display:flex;flex-wrap:wrap;gap:2px 26px;font-size:13px;line-height:24px;color:var(--ink2);padding:2px 4px 0}
.cs .kinds b{color:var(--ink)}.cs .kinds .full b{color:var(--fulltext)}
.cs .kinds span{display:inline-flex;gap:7px;align-items:center;white-space:nowrap}
.cs .right h3{font-size:15px;line-height:20px;margin:0;font-weight:700;display:flex;justify-content:space-between;
  align-items:center;height:26px;white-space:nowrap}
.cs .right select{font-size:13px;height:26px;border:1px solid var(--edge);border-radius:6px;background:var(--card);
  padding:0 4px}
.cs .right label{font-weight:400;font-size:13px;color:var(--ink2);display:inline-flex;gap:6px;align-items:center}
.cs .tr{display:flex;align-items:center;gap:6px;min-height:50px;border-top:1px solid var(--line);padding-top:6px;
  margin-top:2px}
.cs .tr,.cs .panel.keep{position:sticky;bottom:0;z-index:2;background:var(--card)}.cs .tr{bottom:56px}
.cs .tr .gap{flex:1}.cs .tr .g{display:flex;gap:6px;align-items:center}.cs .lead{margin-right:12px}
.cs .real{margin-left:6px}
.cs .btn{display:inline-flex;align-items:center;justify-content:center;width:36px;height:36px;border-radius:8px;
  border:1px solid var(--edge);background:var(--card);color:var(--ink);padding:0}
.cs .btn svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
.cs .btn.play{width:72px;gap:4px;font-size:14px;font-weight:700}.cs.slim .btn.play span{display:none}
.cs .btn.play,.cs .btn[aria-pressed=true]{background:var(--ink);border-color:var(--ink);color:var(--card)}
.cs .btn:disabled{opacity:.4;cursor:default}
.cs .stepno{font-size:17px;font-weight:700;margin-right:10px;white-space:nowrap}
.cs .clock{font-size:14px;color:var(--ink2);white-space:nowrap;margin-right:14px}
.cs .dim{font-size:13px;color:var(--ink2);white-space:nowrap}
.cs .scrub,.cs .rows{touch-action:none;cursor:pointer;position:relative}
.cs .scrub:focus-visible{outline-offset:0}
.cs .modes{position:absolute;left:0;top:2px;display:flex;flex-direction:column;gap:3px;align-items:flex-start}
.cs.narrow .modes{position:static;flex-direction:row;margin:0 0 7px auto;gap:8px}
.cs .tabs{display:none;gap:4px;height:42px;align-items:flex-end;border-bottom:1px solid var(--line);margin-bottom:8px}
.cs.narrow .tabs{display:flex}
.cs .tablist{display:flex;gap:4px;align-items:flex-end}
.cs .tabs button{border:0;background:none;padding:6px 14px;font-size:14px;min-height:38px;color:var(--ink2);
  border-bottom:3px solid transparent;white-space:nowrap}
.cs .tabs button[aria-selected=true]{color:var(--ink);font-weight:700;border-bottom-color:var(--ink)}
.cs .panel{position:relative}
.cs .foot{display:flex;justify-content:flex-end;gap:12px;align-items:center}.cs.narrow .foot{display:none}
.cs .textlink{border:0;background:none;padding:4px 0;font-size:13px;color:var(--ink2);text-decoration:underline;
  min-height:28px}
.cs .words{overflow:auto;max-height:440px;font-size:13px;line-height:20px}
.cs table{border-collapse:collapse;font-family:ui-monospace,"Cascadia Code",Menlo,"Liberation Mono",monospace;
  font-size:12.5px;margin:4px 0 14px}
.cs td,.cs th{padding:1px 8px;text-align:left;white-space:nowrap;border-bottom:1px solid var(--grid);font-weight:400;
  color:var(--ink)}
.cs th{color:var(--ink2);position:sticky;left:0;background:var(--card)}.cs td.now{background:var(--sumfill)}.cs caption{
text-align:left;font:700 14px/22px ${FONT};color:var(--ink)}
.cs .tip{position:absolute;z-index:5;pointer-events:none;background:var(--ink);color:var(--card);font-size:13px;
  line-height:18px;border-radius:6px;padding:6px 9px;max-width:330px;display:none}
.cs .tip b{display:block}
.cs .toast{position:absolute;right:20px;top:76px;background:var(--ink);color:var(--card);border-radius:6px;
  padding:6px 12px;font-size:14px;opacity:0;transition:opacity .12s ease-out;pointer-events:none}
.cs .toast.on{opacity:1}
.cs .left{position:relative}
.cs .crumbs{display:flex;align-items:center;gap:6px;min-height:34px;font-size:14px;color:var(--ink2)}
.cs .crumbs b{font-size:15px;color:var(--ink)}.cs .crumbs .end{margin-left:auto;font-size:13px}
.cs .crumbs .textlink{font-size:15px}.cs .crumbs .btn{flex:none;width:30px;height:30px;border-radius:6px}
.cs .crumbs .btn svg{width:15px;height:15px}.cs.present .crumbs,.cs.present .crumbs :is(b,button,.end){font-size:20px}
.cs.compact .crumbs{display:none}
.cs .note{position:absolute;left:12px;top:6px;font-size:13px;color:var(--ink2);background:var(--card);padding:2px 8px;
  border-radius:4px;display:none}
.cs .head{display:none;gap:8px 32px;align-items:flex-start;padding:10px 4px 14px;flex-wrap:wrap}
.cs.withhead .head{display:flex}
.cs .fig small{display:block;font-size:14px;line-height:18px;font-weight:700;color:var(--ink2)}
.cs .fig b{display:block;font-size:30px;line-height:36px;letter-spacing:-.6px;white-space:nowrap}
.cs .fig i{font-style:normal;font-size:13px;line-height:18px;color:var(--ink2);display:block}
.cs .bn{border-left:4px solid var(--full);padding-left:16px;flex:1;min-width:300px}
.cs .bn small{display:block;color:var(--fulltext);font-weight:700;font-size:14px;line-height:18px}
.cs .bn b{display:block;font-size:19px;line-height:25px}
.cs .bn i{font-style:normal;font-size:15px;line-height:20px;color:var(--ink2);display:block}
.cs h2{font-size:22px;line-height:28px;letter-spacing:-.2px;margin:0;width:100%}
.cs.narrow .card{padding:0 16px 12px}.cs.narrow .nar{height:58px;font-size:16.5px;line-height:23px;gap:16px}
.cs.narrow .nar.long{font-size:14.5px;line-height:19px}
.cs.narrow .btn{width:34px;height:34px}.cs.narrow .btn.play{width:72px}.cs.slim .btn.play{width:48px}
.cs.close .tr .seg button{padding:4px 8px}.cs.close :is(.clock,.stepno){margin-right:4px}
.cs.close .lead{margin-right:4px}
.cs.narrow .tr{min-height:44px;padding-top:4px}
.cs.tight .real,.cs.tight .speedword{display:none}.cs.narrow .head{gap:4px 26px;padding:4px 4px 10px}
.cs.narrow .fig b{font-size:24px;line-height:28px}.cs.narrow .bn b{font-size:17px;line-height:22px}
.cs.narrow .bn i{font-size:14px;line-height:18px}
.cs.slim .nar{height:auto;min-height:58px;flex-wrap:wrap;padding:8px 0;gap:8px}.cs.slim .say{flex:1 0 100%}
.cs.slim .tr{flex-wrap:wrap;padding-bottom:6px}.cs.slim .tr .g{flex-wrap:wrap}.cs.slim .tabs{overflow-x:auto}
.cs.slim .real{display:none}
.cs.phone .body{display:flex;flex-direction:column}.cs.phone .mid{order:-1;padding-top:8px}
.cs.phone .nar{border:0;font-size:17px;line-height:23px;min-height:0}
.cs.phone .nar.long{font-size:16px;line-height:21px}.cs.phone .crumbs span:not(.end){display:none}
.cs.phone :is(.tr,.panel.keep){position:static;border:0;order:-1}.cs.phone .tr .g.tools{display:none}
.cs.phone .card{padding:0 10px 10px}.cs.phone .speedword{display:none}
.cs.present{position:fixed;inset:0;padding:0;z-index:2147483000;background:var(--card);overflow:auto}
.cs.present .card{border:0;min-height:100%;padding:0 36px 14px}
.cs.present .head,.cs.present .foot,.cs.present .tabs,.cs.present:not(.withrows) .panel:not(.keep),
  .cs.present .right{display:none!important}
.cs.present .mid{grid-template-columns:minmax(0,1fr)}
.cs.present .nar{height:124px;font-size:32px;line-height:40px}.cs.present .nar.long{font-size:26px;line-height:33px}
.cs.present .stepno{font-size:40px;line-height:48px}.cs.present .clock{font-size:24px}
.cs.present .seg button{font-size:20px;padding:8px 16px}.cs.present .btn{width:52px;height:52px}
.cs.present .btn.play{width:72px}.cs.present .btn.play span{display:none}.cs.present .btn svg{width:26px;height:26px}
.cs.present .tr{flex-wrap:wrap;bottom:84px}.cs.present.tight .btn{width:44px;height:44px}
.cs.present.tight .btn.play{width:60px}
.cs.present.tight .seg button{font-size:18px;padding:7px 12px}.cs.present.tight .stepno{font-size:32px;line-height:40px}
.cs.present.low .nar{height:88px;line-height:38px}.cs.present.low .legend{display:none}
.cs.present.low .nar.long{font-size:24px;line-height:29px}.cs.present.low .stepno{font-size:28px;line-height:36px}
.cs.present.low .card{padding:0 24px 8px}.cs.present.low .tr{min-height:46px;flex-wrap:nowrap}
.cs.present.low .kinds{font-size:18px;line-height:26px}.cs.present.low .btn{height:40px}
.cs.present .dim{font-size:18px}.cs.present .legend{font-size:18px;line-height:26px}
.cs.present .kinds{font-size:18px;line-height:30px}
.cs.compact .card{border:0;padding:0;background:none}.cs.compact .mid{grid-template-columns:minmax(0,1fr)}
.cs.compact :is(.nar,.head,.tr,.running,.right,.panel,.tabs,.foot,.words,.legend){display:none!important}
.cs.quiz :is(.nar .say,.stepno,.clock,.real,.speedword,.running,.right,.panel,.tabs,.foot,.words,.kinds,.tools){
  display:none!important}
.cs.quiz .mid{grid-template-columns:minmax(0,1fr)}
.cs.compact .kinds{gap:0 18px;line-height:22px}.cs.compact.editing .crumbs{display:flex}
.cs.editing .stage{cursor:pointer}
.cs .partbuttons{position:absolute;left:0;top:0;pointer-events:none}
.cs .partbuttons button{position:absolute;width:34px;height:34px;margin:-17px 0 0 -17px;border:0;background:none;
  padding:0}
.cs .partbuttons button:focus-visible{outline:3px solid var(--ink);outline-offset:1px;border-radius:8px}
.cs .editpanel{position:absolute;z-index:20;width:320px;background:var(--card);border:2px solid var(--ink);
  border-radius:10px;padding:8px 12px 10px;font-size:14px;line-height:19px;display:flex;flex-direction:column;gap:5px;
  box-shadow:0 6px 22px rgba(0,0,0,.18)}
.cs .editpanel[hidden]{display:none}.cs .editpanel.busy{opacity:.7}
.cs .editpanel.sheet{position:fixed;left:6px;right:6px;bottom:6px;width:auto;max-height:62vh;overflow:auto}
.cs .editpanel header{display:flex;justify-content:space-between;gap:8px;font-size:16px;line-height:22px}
.cs .editpanel>.seg{align-self:flex-start}.cs .editpanel p{margin:0;color:var(--ink2)}
.cs .editpanel .wrong{color:var(--fulltext);font-weight:700}
.cs .editpanel .row{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:3px 8px;margin:0}
.cs .editpanel .row>span:first-child{color:var(--ink2)}
.cs .editpanel .seg button{min-height:30px;padding:1px 9px}
.cs .editpanel .seg button:disabled{color:var(--ink3);cursor:default}
.cs .editpanel :is(select,input){font:inherit;height:32px;border:1px solid var(--edge);border-radius:6px;padding:0 6px;
  background:var(--card);color:var(--ink);max-width:190px}
.cs .editpanel input{width:110px;margin-left:auto}
.cs .editpanel :is(.closer,.plain){border:1px solid var(--edge);border-radius:6px;background:var(--card);min-width:32px;
  min-height:32px;padding:0 8px}
.cs .editpanel .closer{border:0;font-size:20px;line-height:20px}
.cs .editpanel ul{margin:0;padding:0;list-style:none;max-height:96px;overflow:auto}.cs .editpanel ul:empty{display:none}
.cs .editpanel li{display:flex;justify-content:space-between;gap:8px;align-items:center}
.cs .editpanel li button{border:0;background:none;font-size:17px;min-width:32px;min-height:28px}
.cs .editpanel code{font:12px/17px ui-monospace,"Cascadia Code",Menlo,"Liberation Mono",monospace;
  background:var(--sunk);
  border-radius:5px;padding:4px 7px;overflow-wrap:anywhere;user-select:all}
@media (pointer:coarse){.cs .editpanel{gap:9px}
  .cs .editpanel :is(.seg button,.closer,.plain,select,input,li button){min-width:40px;min-height:40px;font-size:16px}}
${exportsCss(".cs")}
.cs.slide :is(.tr,.panel,.running,.legend,.crumbs,.seg,.kinds,.partbuttons,.editpanel){
  display:none!important}
.cs.slide .nar{height:auto;min-height:124px;font-size:36px;line-height:46px;padding:12px 0}
.cs.slide .nar.long{font-size:30px;line-height:38px}
@media (prefers-reduced-motion:reduce){.cs .toast{transition:none}}
@media print{.cs .tr,.cs .tabs,.cs .foot,.cs .nar .seg{display:none}}
`;
