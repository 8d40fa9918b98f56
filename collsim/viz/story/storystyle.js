// The style sheet of the story.

import { FONT } from "../player/model/look.js";

const SERIF = '"STIX Two Text","Latin Modern Roman","Noto Serif",Georgia,serif';

export const STORY_CSS = `
.st{font:17px/27px ${FONT};background:var(--bg)}.st :focus-visible{border-radius:4px}
.st h2:focus-visible{outline:none}
.st .head{display:grid;grid-template-columns:minmax(0,680fr) minmax(0,1000fr);gap:0 72px;align-items:end;
  padding:8px 24px 22px 76px}
.st h1{margin:0;font-size:34px;line-height:42px;letter-spacing:-.5px}
.st h2{margin:0 0 10px;font-size:26px;line-height:34px;outline:none}
.st p{margin:0}.st .head header p{font-size:19px;line-height:28px;color:var(--ink2)}
.st .hint{font-size:15px;line-height:24px;color:var(--ink2);max-width:720px}
.st section{position:relative;display:grid;grid-template-columns:minmax(0,680fr) minmax(0,1000fr);gap:0 72px;
  padding:26px 24px 26px 76px;border-top:1px solid var(--line);scroll-margin-top:60px;min-height:min(72vh,620px)}
.st section::before{content:"";position:absolute;left:39px;top:0;bottom:0;width:2px;background:var(--line)}
.st section.read::before{background:var(--done)}
.st .badge{position:absolute;left:23px;top:24px;width:34px;height:34px;border-radius:50%;z-index:1;text-align:center;
  border:1.5px solid var(--edge);background:var(--bg);color:var(--ink2);font-size:16px;line-height:31px;
  text-decoration:none}
.st .now .badge{background:var(--ink);border-color:var(--ink);color:var(--card);font-weight:700}
.st .read .badge{background:var(--done);border-color:var(--done);color:var(--ontext);font-weight:700}
.st .prose{font-size:20px;line-height:32px;max-width:680px}
.st .prose p{margin:0 0 30px;text-wrap:pretty}
.st .prose .note{font-size:14px;line-height:20px;color:var(--ink2)}
.st .side{min-width:0}
.st figure{margin:0;position:sticky;top:68px;background:var(--card);border:1px solid var(--line);border-radius:10px;
  overflow:hidden}
.st .now figure{outline:2px solid var(--ink);outline-offset:-1px}
.st canvas{display:block}
.st figure .play{position:absolute;right:10px;top:10px;width:36px;height:36px;border-radius:8px;padding:0;
  border:1px solid var(--edge);background:var(--card);color:var(--ink);cursor:pointer;display:grid;place-items:center}
.st .play svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round}
.st .chip{position:relative;display:inline-flex;align-items:baseline;gap:5px;white-space:nowrap;cursor:ew-resize;
  font-weight:700;border-radius:5px 5px 0 0;padding:0 6px;line-height:1.35;touch-action:pan-y;user-select:none;
  border-bottom:3px solid currentColor}
.st .chip i{font-style:normal;font-size:12px;font-weight:400}
.st .chip input{position:absolute;inset:0;width:100%;height:100%;margin:0;opacity:0;pointer-events:none}
.st .chip:has(input:focus-visible){outline:2px solid var(--ink);outline-offset:2px}
.st .chip.n{background:var(--host);color:var(--hostink)}.st .chip.s{background:var(--ag);color:var(--done)}
.st .chip.b{background:var(--roomtint);color:var(--ink);border-bottom-color:var(--room)}
.st .chip.g{background:var(--rs);color:var(--ink);border-bottom-color:var(--sum2)}
.st .chip.a{color:var(--ink);border-bottom-color:var(--wait);
  background:repeating-linear-gradient(135deg,var(--casing) 0 3px,var(--card) 3px 7px)}
.st .formula{font-family:${SERIF};font-size:26px;line-height:34px;display:flex;flex-wrap:wrap;align-items:flex-start;
  gap:6px 8px;margin:6px 0 26px}
.st .formula>.op,.st .formula>.number,.st .formula>var,.st .formula>.result{padding-top:11px;white-space:nowrap}
.st .formula var{font-style:normal}.st .formula .n{color:var(--hostink)}.st .formula .s{color:var(--done)}
.st .formula .b{border-bottom:3px solid var(--room);line-height:1.1}
.st .formula .g{border-bottom:3px solid var(--sum2);line-height:1.1}
.st .formula .a{border-bottom:3px solid var(--wait);line-height:1.1}
.st .frac{display:inline-flex;flex-direction:column;align-items:center;vertical-align:middle;font-size:22px;
  line-height:26px;margin:0 3px;white-space:nowrap}
.st .frac .over{border-bottom:1.5px solid var(--ink);padding:0 5px}
.st .result{font-weight:700}
.st .term{display:inline-flex;flex-direction:column;align-items:center}
.st .term .line{display:inline-flex;align-items:center;min-height:56px;white-space:pre}
.st .worth{font:14px/18px ${FONT};color:var(--ink2);border-top:1px solid var(--edge);padding:2px 8px 0}
.st .slider{display:flex;gap:12px;align-items:center;padding:4px 18px 12px;font-weight:700;font-size:16px}
.st .slider .chip{flex:1;justify-content:space-between;align-items:center;min-height:34px;border-radius:6px 6px 0 0}
.st .after{display:flex;gap:12px;flex-wrap:wrap;padding:20px 24px 42vh 76px}
.st .after a{display:inline-flex;align-items:center;min-height:42px;padding:0 18px;border-radius:8px;
  text-decoration:none;font-weight:700;background:var(--ink);color:var(--card)}
.st .after a+a{background:var(--card);color:var(--ink);border:1px solid var(--edge)}
.st.mid .formula{font-size:18px;gap:4px}.st.mid .frac{font-size:16.5px;line-height:21px}
.st.mid .formula .term .line{min-height:48px}.st.mid .formula>*:not(.term):not(.frac){padding-top:9px}
.st.mid .prose{font-size:18px;line-height:29px}.st.mid .head,.st.mid section{column-gap:40px}
.st.slim .head,.st.slim section{grid-template-columns:minmax(0,1fr);padding-left:62px;padding-right:12px}
.st.slim .side{order:-1;margin-bottom:18px}.st.slim figure{position:relative;top:0}
.st.slim section{min-height:0}.st.slim section::before{left:29px}.st.slim .badge{left:13px}
.st.slim .after{padding-left:62px}
.st.phone .head{padding:4px 4px 16px}.st.phone section{padding:62px 4px 14px}.st.phone section::before{display:none}
.st.phone .badge{left:4px;top:16px}.st.phone .prose{font-size:17px;line-height:28px}
.st.phone h1{font-size:26px;line-height:32px}.st.phone h2{font-size:22px;line-height:28px}
.st.phone .prose p{margin-bottom:18px}.st.phone .formula{font-size:20px;gap:4px 5px}
.st.phone .frac{font-size:17px;line-height:21px}.st.phone .after{padding:12px 4px 42vh}
@media print{.st .play,.st .slider,.st .after{display:none}.st section{min-height:0;break-inside:avoid}}
`;
