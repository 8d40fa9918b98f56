// The style sheet of type, buttons and segments that pictures beside the player share.

/** For what lies in `root`, a selector. */
export const buttonsCss = (root) => `
${root}:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
${root} svg{display:block}${root} svg text{font-family:inherit}
${root} button{font:inherit;color:var(--ink);cursor:pointer;margin:0}
${root} .btn{display:inline-flex;align-items:center;justify-content:center;width:36px;height:36px;border-radius:8px;
  border:1px solid var(--edge);background:var(--card);padding:0}
${root} .btn.play{width:48px;background:var(--ink);border-color:var(--ink);color:var(--card)}
${root} .btn svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
${root} .seg{display:inline-flex;border:1px solid var(--edge);border-radius:6px;overflow:hidden;background:var(--card);
  flex:none}
${root} .seg button{border:0;background:none;padding:3px 10px;font-size:14px;line-height:20px;min-height:34px;
  color:var(--ink2);white-space:nowrap}
${root} .seg button+button{border-left:1px solid var(--line)}
${root} .seg button[aria-pressed=true]{background:var(--ink);color:var(--card);font-weight:700}
${root} .seg button:focus-visible{outline-offset:-4px}
`;
