// The style sheet of a route.

export const ROUTE_CSS = `
.wy .pair{display:grid;gap:16px}
.wy .card0{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 20px 14px;min-width:0}
.wy h2{margin:0;font-size:22px;line-height:30px;font-weight:700}
.wy .word{font-size:15px;line-height:20px;color:var(--ink2);min-height:20px}.wy .pair.two .word{min-height:40px}
.wy .says{font-size:17px;line-height:24px;margin:4px 0 8px;text-wrap:pretty}
.wy .foot{font-size:15px;line-height:21px;color:var(--ink2);margin:8px 0 0}
.wy table{width:100%;border-collapse:collapse;margin-top:10px;font-size:15px}
.wy th{font-weight:400;font-size:13px;color:var(--ink2);text-align:left;padding:2px 6px}
.wy td{padding:4px 6px;border-top:1px solid var(--grid)}.wy .r{text-align:right;white-space:nowrap}
.wy tr.hot td{color:var(--fulltext);font-weight:700}.wy tr.host td{color:var(--hostink)}
.wy tr.hot.host td{color:var(--fulltext)}
.wy td i{display:inline-block;min-width:24px;height:24px;border:1.6px solid currentColor;border-radius:12px;
  font-style:normal;font-weight:700;font-size:13px;line-height:21px;text-align:center;padding:0 4px}
.wy .stage0{cursor:pointer}
.wy button{font:inherit;font-size:15px;color:var(--ink);cursor:pointer;display:inline-flex;align-items:center;gap:8px;
  height:36px;padding:0 14px;border-radius:8px;border:1px solid var(--edge);background:var(--card);float:right}
.wy button svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
.wy.small .card0{padding:12px 14px}.wy.small .says{font-size:15.5px;line-height:22px}.wy.small table{font-size:14px}
.wy.small td{padding:3px 4px}
`;
