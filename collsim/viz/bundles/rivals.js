/* collsim: built from viz/training/rivals.js by "npm run build"; edit the sources. */
var _=(t,e,n)=>e.find(([o])=>t>=o)?.[1]??n;var st=t=>Number.isFinite(t)?t:0;var C=[[1/16,"1/16"],[1/4,"1/4"],[1,"1"],[4,"4"],[16,"16"]];function at(){let t={subs:new Map,frame:0,last:0},e={t:0,playing:!1,speed:1,base:0,total:0,loop:null,until:null,on:(n,o=0,r=0)=>Ue(e,t,n,{total:o,base:r}),seek(n){e.until=null,e.t=Math.min(e.total,Math.max(0,st(n))),E(e,t,"seek")},play:(n=null)=>Ke(e,t,n),pause(){e.playing&&(Ft(e),cancelAnimationFrame(t.frame),E(e,t,"pause"))},setSpeed(n){
e.speed=n,E(e,t,"speed")}};return e}function Ue(t,e,n,o){return e.subs.set(n,o),Ot(t,e),()=>{e.subs.delete(n),Ot(t,e)}}function Ot(t,{subs:e}){t.total=Math.max(0,...[...e.values()].map(n=>n.total)),t.base=Math.max(0,...[...e.values()].map(n=>n.base)),t.t=Math.min(t.t,t.total)}function E(t,{subs:e},n){for(let o of[...e.keys()])o(t,n)}function Ke(t,e,n){t.total>0&&(t.t>=t.total&&(t.t=0),t.until=n,t.
playing||(t.playing=!0,e.last=0,e.frame=requestAnimationFrame(o=>Lt(t,e,o))),E(t,e,"play"))}function Ft(t){t.playing=!1,t.until=null}function Lt(t,e,n){if(!t.playing)return;let o=e.last?Math.min(.1,(n-e.last)/1e3):0;e.last=n;let r=t.t+o*t.base*t.speed,a=t.total;if(t.loop){let[s,i]=t.loop;(r>=i||r<s)&&(r=s)}else t.until!=null&&(a=Math.min(a,t.until));if(t.t=Math.min(r,a),t.t>=a&&!t.loop){Ft(t),E(t,
e,"end");return}E(t,e,"tick"),t.playing&&(e.frame=requestAnimationFrame(s=>Lt(t,e,s)))}function Y(t,e){let n=C.findIndex(([o])=>o===t.speed);t.setSpeed(C[Math.min(C.length-1,Math.max(0,(n<0?2:n)+e))][0])}var Ge={first:["M4 3.5v11","M14.5 3.5L7 9l7.5 5.5z*"],back:["M12 3.5L5.5 9l6.5 5.5z*"],play:["M5.5 3l9 6-9 6z*"],pause:["M5.2 3.5h2.4v11H5.2z*","M10.6 3.5H13v11h-2.4z*"],next:["M6 3.5L12.500 9 6 14.500z*"],loop:["M3.500 10.500V9a3.500 3.500 0 013.500-3.500h7.500","M12 2.800l2.700 2.700L12 8.200","M14.500 8v1.200a3.500 3.500 0 01-3.500 3.500H3.500","M6 10l-2.700 2.700L6 15.400"],wrong:["M9 2.500a6.\
500 6.500 0 100 13 6.500 6.500 0 000-13z","M6.700 6.700l4.600 4.600","M11.300 6.700l-4.600 4.600"],busy:["M2.500 15.500h13","M4.500 12.500V10","M7.600 12.500V8","M10.700 12.500V3.500","M13.800 12.500V7"],link:["M7.200 10.800l3.600-3.600","M6.200 8.200l-2 2a2.700 2.700 0 003.800 3.800l2-2","M11.800 9.800l2-2a2.700 2.700 0 00-3.800-3.800l-2 2"],png:["M9 2.800v8","M5.300 7.400L9 11.100l3.700-3.700","\
M3 14.800h12"],full:["M3 6.800V3h3.800","M11.200 3H15v3.800","M15 11.200V15h-3.800","M6.800 15H3v-3.800"]},Xe="http://www.w3.org/2000/svg";function d(t,e,...n){let o=document.createElementNS(Xe,t);for(let r in e)o.setAttribute(r,e[r]);return o.append(...n),o}function O(t){let e=Ge[t].map(n=>d("path",n.endsWith("*")?{d:n.slice(0,-1),fill:"currentColor"}:{d:n}));return d("svg",{viewBox:"0 0 18 18","\
aria-hidden":"true"},...e)}function f(t,e={},...n){let o=document.createElement(t);for(let r in e)r in o&&r!=="list"?o[r]=e[r]:o.setAttribute(r,e[r]);return o.append(...n),o}function Nt(t,e){let n=f("i");return n.style.cssText=t,f("span",{},n,e)}function Rt(t,{size:e,width:n,paper:o,ink:r}){let a={id:t,width:e,height:e,patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},s=(i,l)=>d("rect",{width:i,height:e,fill:l});return d("defs",{},d("pattern",a,s(e,o),s(n,r)))}function x(t,e){t.textContent!==e&&(t.textContent=e)}function T(t,e){t.title=e,t.setAttribute("ari\
a-label",e)}function F(t,e,n,o,r){T(t,r);let a=t.contains(t.getRootNode().activeElement);t.replaceChildren(...e.map(([s,i])=>f("button",{type:"button",textContent:i,"aria-pressed":String(s===n),onclick:()=>o(s)}))),a&&t.querySelector("[aria-pressed=true]")?.focus()}function it(t,e){if(t.target?.closest?.("[role=menu]"))return;t.stopPropagation();let n=t.target?.tagName,o=["SELECT","INPUT","TEXTAREA"].includes(n),r=n==="BUTTON"&&(t.key===" "||t.key==="Enter");if(t.ctrlKey||t.metaKey||t.altKey||o||r)return;let a=e[t.key.length===1?t.key.toLowerCase():t.key];a&&(t.preventDefault(),a())}var So=2**31-1;var $={tokens:{bg:["#F4F6F5","#0E1316"],card:["#FFFFFF","#161D21"],sunk:["#F0F3F2","#1C2529"],ink:["#162026","#EEF3F5"],ink2:["#45535B","#BCC8CE"],ink3:["#5C6A72","#98A7AE"],line:["#D3DADD","#334046"],grid:["#E6EAEC","#242E33"],edge:["#7F8D95","#71818A"],idle:["#CBD4D8","#38444B"],casing:["#EBEFF1","#222C31"],room:["#3F8FC8","#56B4E9"],roomtint:["#E6F2FA","#173245"],near:["#A87000","#F2BC45"],neartint:[
"#FDF4E0","#3E2F0C"],full:["#A63A00","#F26A2E"],fulltint:["#FCE0CF","#4A2410"],fulltext:["#9C3700","#FF9A66"],sum1:["#EAF4F0","#1D2E2A"],sum2:["#3FAE8C","#1E7561"],sumfill:["#8FD3BB","#1D705B"],done:["#00664A","#5FE0B5"],ontext:["#FFFFFF","#06241B"],rs:["#E3E8F1","#232C3A"],ag:["#E2F1EB","#16302A"],wait:["#87949B","#7C8B93"],host:["#F1E9F2","#33242F"],hostink:["#7A3E68","#E3A5CF"],donetint:["#DFF1\
EA","#123B30"]},collectives:[{done:["#5B3A8C","#C3A6F2"],sum1:["#EFEAF6","#2A2338"],sum2:["#A78BD0","#5E4690"],sumfill:["#C9B6E4","#5A4488"]},{done:["#A3225F","#F59BC4"],sum1:["#FBE9F1","#38202B"],sum2:["#E07AA8","#8A3A60"],sumfill:["#F0B3CE","#84395D"]},{done:["#3A4A55","#B9C6CE"],sum1:["#ECEFF1","#262D31"],sum2:["#8FA1AC","#55666F"],sumfill:["#BCC8CF","#52626B"]}],buckets:{b0:["#2E3F8F","#6E86F2"],
t0:["#FFFFFF","#0E1316"],n0:["#E7EAF6","#1D2340"],b1:["#7288DA","#BAC6FB"],t1:["#162026","#0E1316"],n1:["#EEF1FC","#262C42"],b2:["#6B3FA0","#A47AE2"],t2:["#FFFFFF","#0E1316"],n2:["#EFE9F6","#2A213C"],b3:["#AE80D4","#DDC3F5"],t3:["#162026","#0E1316"],n3:["#F6F0FB","#312A3B"],b4:["#A23B72","#E583B6"],t4:["#FFFFFF","#0E1316"],n4:["#F7EAF1","#382431"]},series:["room","full","done","near","hostink","in\
k2"],fonts:["Source Sans 3","Segoe UI","Helvetica Neue","Arial","Noto Sans CJK SC","PingFang SC","Microsoft YaHei","sans-serif"],number_unit_space:" (?=(?:(?:[kKMGT]i?)?B(?:/s)?|[kMGT]?bit/s|ms|[µun]?s|×|倍|times|%(?! \\w\\b))(?![A-Za-z0-9_]))(?<=[0-9∞] )"};var J=(t,e)=>Object.fromEntries(Object.entries(t).map(([n,o])=>[n,o[e]])),zt=t=>({light:J(t,0),dark:J(t,1)}),Z=$.fonts.map(t=>t.includes(" ")?`"${t}"`:t).join(),L=zt($.tokens),Ht=zt($.buckets);var It={light:$.collectives.map(t=>J(t,0)),dark:$.collectives.map(t=>J(t,1))},To=Object.fromEntries(["light","dark"].map(t=>[t,[L[t],...It[t].map(e=>({...L[t],...e}))]]));var Dt=["en","zh"];var _t=t=>t!==null&&typeof t=="object"&&!Array.isArray(t);function jt(t,e){if(!_t(t)||!_t(e))return e??t;let n=Object.keys(t).map(o=>[o,jt(t[o],e[o])]);return{...e,...Object.fromEntries(n)}}var lt=t=>Object.fromEntries(Object.entries(t).map(([e,n])=>[e,jt(t.en,n)])),Q=t=>Dt.includes(t)?t:"en",ct=(t,e)=>t[Q(e)]??t.en;var k=" ",Ye=new RegExp($.number_unit_space,"g");function j(t){return typeof t=="string"?t.replace(Ye,k):Array.isArray(t)?typeof t[0]=="number"?t:t.map(j):t?.constructor!==Object?t:Object.fromEntries(Object.entries(t).map(([e,n])=>[e,j(n)]))}var ft=t=>Math.abs(t)>=1e3?String(Math.round(t)):String(Number(t.toPrecision(3))),Wt=t=>Math.abs(t)>=1e3?String(Math.round(t)):t.toPrecision(3);function M(t){
let e=["B","KiB","MiB","GiB","TiB"],n=0;for(;n<4&&Math.abs(t)>=1023.5;)t/=1024,n++;return ft(t)+k+e[n]}var Je=[[1,[1,"s"]],[.001,[1e3,"ms"]],[1e-6,[1e6,"µs"]]];function A(t){let[e,n]=_(t,Je,[1e9,"ns"]),o=t>0?Math.max(0,4-Math.floor(Math.log10(t*e))):0;return{f:e,unit:n,digits:Math.min(3,o),num:r=>(r*e).toFixed(Math.min(3,o)),fmt:r=>(r*e).toFixed(Math.min(3,o))+k+n}}function N(t){let e=A(t);return ft(t*e.f)+k+e.unit}function Ut(t,e){let n=t/Math.max(1,e),o=10**Math.floor(Math.log10(n||1));return o*
[1,2,5,10].find(r=>r*o>=n*.999)}function Kt(t,e){let{f:n,unit:o}=A(t),r=Ut(t*n,e),a=r>0?Math.floor(t*n*1.0001/r):0;return Array.from({length:a+1},(s,i)=>({t:i*r/n,text:`${Number((i*r).toPrecision(6))}${i?"":k+o}`}))}async function q(t,e){try{return await navigator.clipboard.writeText(t),!0}catch{let n=f("textarea",{value:t});e.append(n),n.select();let o=document.execCommand?.("copy")??!1;return n.remove(),o}}function b(t,e,n,o){return t.font=`${o?700:400} ${n}px ${Z}`,t.measureText(e).width}var yn=t=>`
${t}{all:initial;display:block;position:relative;box-sizing:border-box;font:15px/1.4 ${Z};color:var(--ink);
  font-variant-numeric:tabular-nums;outline:none;text-align:left}
${t}:fullscreen{background:var(--bg);padding:20px;overflow:auto}
${t} *{box-sizing:border-box}
${t} :focus-visible{outline:2px solid var(--ink);outline-offset:2px}
`;function ee(t,{className:e,css:n,arrange:o,isFocusable:r=!1},...a){let s=f("style",{textContent:yn(`.${e}`)+n}),i=f("div",{className:e,role:"group"},s,...a);r&&(i.tabIndex=0),t.append(i);let l=typeof ResizeObserver=="function"?new ResizeObserver(()=>o()):null;return l?.observe(i),{root:i,remove(){l?.disconnect(),i.remove()}}}function bt(t,{theme:e,language:n},o={}){let r=e==="dark"?"dark":"light",
a={...L[r],...o[r]};for(let s in a)t.style.setProperty(`--${s}`,a[s]);return t.lang=Q(n).replace("zh","zh-CN"),L[r]}var yt=t=>t.clock.playing?t.clock.pause():t.clock.play();function oe({root:t,clock:e,words:n,turn:o}){let r=(l,c)=>{let p=f("button",{type:"button",className:l==="play"?"btn play":"btn",onclick:c});return T(p,n[l]),p.append(O(l)),p},a=r("play",()=>yt({clock:e})),s=f("span",{className:"note",role:"status"}),i=f("span",{className:"seg speeds",role:"group"});return ie(i,e,n),{play:a,note:s,speeds:i,time:f("span",{className:"clock"}),moves:f("span",{className:"\
g"},r("first",()=>e.seek(0)),r("back",()=>o(-1)),a,r("next",()=>o(1))),tools:f("span",{className:"g tools"},r("link",()=>Cn({clock:e,root:t,words:n,note:s})),r("full",()=>ce(t)))}}function re({play:t,time:e},{playing:n},o,r){x(e,r),t.dataset.on!==String(n)&&(t.dataset.on=String(n),t.replaceChildren(O(n?"pause":"play")),T(t,n?o.pause:o.play))}var se=({root:t,clock:e,turn:n})=>({" ":()=>yt({clock:e}),
ArrowRight:()=>n(1),PageDown:()=>n(1),ArrowLeft:()=>n(-1),PageUp:()=>n(-1),Home:()=>e.seek(0),End:()=>e.seek(e.total),f:()=>ce(t),"[":()=>Y(e,-1),"]":()=>Y(e,1)});function ae(t,e,{isTrack:n=()=>!0,isScrolled:o=!1}={}){let r=!1,a=s=>!o||s.pointerType==="mouse";t.addEventListener("pointerdown",s=>{r=n(s.target),r&&(a(s)&&t.setPointerCapture?.(s.pointerId),e(s))}),t.addEventListener("pointermove",s=>{
r&&a(s)&&e(s)});for(let s of["pointerup","pointercancel"])t.addEventListener(s,()=>{r=!1})}function ie(t,e,n){let o=r=>{e.setSpeed(r),ie(t,e,n)};F(t,C,e.speed,o,n.speed)}function le(t,e,n,o){t.pause();let r=()=>e.find(s=>s>=t.t+o)??t.total,a=()=>e.filter(s=>s<=t.t-o).at(-1)??0;t.seek(n>0?r():a())}function ce(t){document.fullscreenElement?document.exitFullscreen?.():t.requestFullscreen?.().catch(()=>{})}
async function Cn({clock:t,root:e,words:n,note:o}){let r=new URL(location.href);r.searchParams.set("t",String(Number(t.t.toPrecision(6)))),x(o,await q(r.href,e)?n.copied:r.href),clearTimeout(o.timer),o.timer=setTimeout(()=>x(o,""),2500)}var Tn="radio slider tab combobox listbox option menu menuitem grid dialog spinbutton".split(" "),vn=["input,textarea,select,summary,[contenteditable]:not([contenteditable=false])",...Tn.map(t=>`[role=${t}]`)].join(),En="button,a[href]",On=t=>t.collsimPictures??=new Set;function fe(t){let{left:e,right:n,top:o,bottom:r}=t.getBoundingClientRect(),a=Math.min(n,globalThis.innerWidth)-Math.max(e,0),s=Math.
min(r,globalThis.innerHeight)-Math.max(o,0);return Math.max(0,a)*Math.max(0,s)}var Fn=t=>[...t].reduce((e,n)=>!e||fe(n)>fe(e)?n:e,null);function Ln(t,e){return t.defaultPrevented||t.ctrlKey||t.metaKey||t.altKey||!e?.closest||e.closest(vn)?!1:!((t.key===" "||t.key==="Enter")&&e.closest(En))}function pe(t){let e=t.ownerDocument,n=On(e),o=a=>{let s=a.composedPath();if(s.some(h=>n.has(h))||!Ln(a,s[0])||
Fn(n)!==t)return;let{key:i,code:l,shiftKey:c}=a,p=new KeyboardEvent("keydown",{key:i,code:l,shiftKey:c,cancelable:!0});t.dispatchEvent(p),p.defaultPrevented&&a.preventDefault()},r=e.activeElement;return r?.closest?.("header,[role=menu],[data-testid=stTopNavSection]")&&r.blur(),n.add(t),e.addEventListener("keydown",o),()=>{n.delete(t),e.removeEventListener("keydown",o)}}var Nn=t=>[...t.children].find(e=>e.getAttribute("role")==="group"&&e.getAttribute("tabindex")==="0");function Rn(t){let e=null,n=()=>{let r=e?null:Nn(t);r&&(e=pe(r))};n();let o=new MutationObserver(n);return o.observe(t,{childList:!0}),()=>{o.disconnect(),e?.()}}function he(t){let e=new WeakMap;return({data:n,parentElement:o,setStateValue:r,setTriggerValue:a})=>{let s=e.get(o)??{generation:0},i=j(
n??{});s.state=r,s.trigger=a,s.shown??=t(o,i,{state:(c,p)=>s.state?.(c,p),trigger:(c,p)=>s.trigger?.(c,p)}),s.deaf??=Rn(o),e.set(o,s),s.shown.update(i);let l=++s.generation;return()=>{s.generation===l&&(s.deaf(),s.shown.destroy(),e.delete(o))}}}var de="collsim playback";function ue(t,e){let n=Pn(),o={kind:t,view:e,data:null,isShown:!1,isResumed:!1};return n.mounted.add(o),{async update(r){o.isShown&&o.data.id!==r.id&&(wt(n,o),o.isShown=!1),o.data=r,await e.update(r),!(o.data!==r||!n.mounted.has(o))&&(o.isResumed||In(n,o),Object.assign(o,{isResumed:!0,isShown:!0}))},destroy(){wt(n,o),n.mounted.delete(o),e.destroy()}}}function Pn(){return globalThis.collsimPlaybacks??=
Bn(),globalThis.collsimPlaybacks}function Bn(){let t={mounted:new Set,stopped:new Map(zn())};return globalThis.addEventListener?.("pagehide",()=>{for(let e of t.mounted)wt(t,e);Hn([...t.stopped].slice(-40))}),t}function zn(){let[t]=globalThis.performance?.getEntriesByType?.("navigation")??[];if(t?.type!=="reload")return[];try{return JSON.parse(sessionStorage.getItem(de))??[]}catch{return[]}}function Hn(t){
try{sessionStorage.setItem(de,JSON.stringify(t))}catch{}}var xt=({kind:t,view:e,data:n})=>`${t} ${e.runId?.()??n.id}`;function me({view:t,data:e}){let{clock:n}=t;return{...n&&{t:n.t,isPlaying:n.playing,speed:n.speed,loop:n.loop},view:t.save?.(),begin:e.t??null,at:Date.now()}}function wt({stopped:t},e){if(!e.isShown)return;let n=xt(e);t.delete(n),t.set(n,me(e))}function In({mounted:t,stopped:e},{kind:n,
view:o,data:r}){let a=xt({kind:n,view:o,data:r}),s=[...t].find(c=>c.isShown&&c.view!==o&&xt(c)===a),i=s?me(s):e.get(a);if(!i||i.begin!==(r.t??null))return;let l=Date.now()-i.at<2e4;i.view&&o.restore?.(i.view,l),o.clock&&Dn(o.clock,i,l)}function Dn(t,{t:e,isPlaying:n,speed:o,loop:r},a){t.setSpeed(o),t.seek(e),t.loop=r,n&&a&&t.play()}var ge=24,be=t=>`
${t} svg.dim [data-key]{opacity:.4}${t} svg.dim [data-key].lit{opacity:1}
`;function ye({width:t,height:e,total:n,left:o=0,right:r=0,...a}){let s=d("svg",{width:t,height:e,...a}),i=t-o-r;return{picture:s,width:t,height:e,total:n,left:o,room:i,across:l=>o+(n>0?l/n:0)*i,timeAt({clientX:l}){let c=l-s.getBoundingClientRect().left;return Math.min(1,Math.max(0,(c-o)/i))*n}}}var G=(t,e,n,{size:o=13,bold:r=!1,fill:a="var(--ink2)",anchor:s="start",...i}={})=>d("text",{x:t,y:e,"f\
ont-size":o,"font-weight":r?700:400,fill:a,"text-anchor":s,...i},n),H=(t,e,n,o,r,a={})=>d("rect",{x:t,y:e,width:Math.max(0,n),height:Math.max(0,o),fill:r,...a}),ke=null;function _n(t,e,n=!1){return ke??=document.createElement("canvas").getContext("2d"),b(ke,t,e,n)}var jn=(t,e,n,o=!1)=>_n(t,e,o)+8<=n;function Mt({across:t},e,n,o=1){let r=t(e);return{x:r,wide:Math.max(o,t(n)-r)}}var xe=({across:t,width:e,
height:n},o,{y:r,top:a,bottom:s=n,rule:i="var(--grid)"})=>o.flatMap(({t:l,text:c})=>{let p=t(l),h={start:p<ge,end:e-p<ge},u=Object.keys(h).find(D=>h[D])??"middle";return[H(p,a,1,s-a,i),...c?[G(p,r,c,{anchor:u})]:[]]});function we(t,e,n,o={}){let{x:r,wide:a}=t,s=n.find(i=>i&&jn(i,o.size??13,a,o.bold));return s?[G(r+a/2,e,s,{anchor:"middle",...o})]:[]}function Me({across:t,width:e,height:n},{top:o=0,flag:r=null}={}){let s=G(0,r+4.5,"",{bold:!0,fill:"var(--card)",anchor:"middle"}),i=d("g",{},H(-40,r-10,80,20,"var(--ink)",{rx:4}),s),l=H(-1,o,2,n-o,"var(--ink)"),c=d("g",{class:"cursor","pointer-events":"none"},l,...r===null?[]:[i]);return{node:c,move(p,h=""){let u=t(p),D=Math.min(e-40,Math.max(40,u));c.setAttribute("transform",`translate(${u.toFixed(
2)} 0)`),i.setAttribute("transform",`translate(${(D-u).toFixed(2)} 0)`),x(s,h)}}}function Se(t){let e=[0,t.time];for(let n of t.collectives)e.push(n.ready,n.begin,n.end);for(let n of t.boxes)e.push(n.t0,n.t1);return e.sort((n,o)=>n-o),e.filter((n,o)=>o===0||n-e[o-1]>1e-9*t.time)}var y=74,X=34,St=96,Wn=16,I={weights:"var(--ink3)",other:"var(--ink)",gradients:"var(--wait)",activations:"var(--idle)"},$t=t=>Object.keys(I).reduce((e,n)=>e+t[n],0);function Un(t,e){let n=e/Math.max(1,t);return{apart:n,middle:o=>n*(o+.5)}}function Kn(t,e,n){let o=e;return Object.keys(I).map(r=>{let a=t[r]/n*e;return o-=a,{kind:r,y:o,h:a}})}function $e(t,e,n){let{document:o,patterns:r}=t.data,a=Math.
max(0,...Object.values(r).map(h=>h.servers)),s=o.peak_memory.slice(0,Wn),i=Un(s.length+a,e),l=s.map($t),c=Math.min(...l),p=d("svg",{width:e,height:y+X+St+44,"aria-hidden":"true"});t.hub={arcs:d("g",{}),places:i,gpus:s.length,drawn:"",width:e},p.append(t.hub.arcs),s.forEach((h,u)=>p.append(...Gn(i,u,h.rank,l[u]>c*1.001),...Vn(i,u,h,n))),s.forEach((h,u)=>p.append(Yn(i,u,l[u],l[u]===Math.max(...l)&&l[u]>
c*1.001)));for(let h=0;h<a;h++)p.append(...Xn(i,s.length+h));return p}var At=(t,e,n,o)=>d("text",{x:t,y:e,"text-anchor":"middle","font-size":15,fill:"var(--ink)",...o},n),Ct=t=>Math.min(46,t.apart-6);function Gn(t,e,n,o){let r=Ct(t),a=t.middle(e)-r/2;return[d("rect",{x:a,y,width:r,height:X,...{rx:6,fill:o?"var(--ink)":"var(--card)",stroke:"var(--ink)","stroke-width":1.8}}),At(t.middle(e),y+23,String(
n),{"font-weight":700,"font-size":r<24?12:17,fill:o?"var(--card)":"var(--ink)"})]}function Xn(t,e){let n=Ct(t),o={rx:6,fill:"var(--host)",stroke:"var(--hostink)","stroke-width":1.8};return[d("rect",{x:t.middle(e)-n/2,y,width:n,height:X,...o}),At(t.middle(e),y+22,n<30?"S":"PS",{"font-weight":700,"font-size":14,fill:"var(--hostink)"})]}function Vn(t,e,n,o){let r=Ct(t),a=y+X+16;return Kn(n,St,o).map(
({kind:s,y:i,h:l})=>d("rect",{x:t.middle(e)-r/2,y:a+i,width:r,height:l,fill:I[s]}))}function Yn(t,e,n,o){let r=t.apart<62?(n/1073741824).toFixed(n<10737418240?2:0):M(n),a={"font-size":t.apart<38?12:13,"font-weight":o?700:400,fill:o?"var(--fulltext)":"var(--ink2)"};return At(t.middle(e),y+X+St+34,r,a)}var Tt=(t,e)=>t.collectives.find(n=>n.begin<=e&&e<n.end)??null;function Ae(t,e,n){let{hub:o,data:r}=t,
a=Tt(r.document,e),s=a?a.pattern:"";o.drawn!==s&&(o.drawn=s,o.curves=s?Jn(o,r.patterns[s]):[],o.arcs.replaceChildren(...o.curves.flatMap(({path:l,dot:c})=>[l,c])));let i=a?n(a,e):0;for(let{dot:l,at:c}of o.curves??[]){let[p,h]=c(i);l.setAttribute("transform",`translate(${p.toFixed(1)} ${h.toFixed(1)})`)}}function Jn(t,e){let{places:n,gpus:o}=t,r=s=>s<o?s:o+(s-e.ranks);return e.pairs.filter(([s,i])=>[
s,i].every(l=>l<o||l>=e.ranks)).map(([s,i])=>{let[l,c]=[n.middle(r(s)),n.middle(r(i))],p=Math.min(y-8,16+Math.abs(c-l)*.16),h={d:`M${l} ${y}Q${(l+c)/2} ${y-2*p} ${c} ${y}`,fill:"none",stroke:"var(--full)","stroke-width":1.5},u=e.adds?d("rect",{x:-5,y:-5,width:10,height:10,rx:2,fill:"var(--sumfill)",stroke:"var(--ink)","stroke-width":1.6}):d("circle",{r:5,fill:"var(--done)",stroke:"var(--card)","st\
roke-width":1.2}),D=V=>[(1-V)*l+V*c,y-4*p*V*(1-V)];return{path:d("path",h),dot:u,at:D}})}var Zn=5;function Ce(t){if(t<0)return{box:"var(--ink3)",text:"var(--card)",tint:"var(--sunk)"};let e=t%Zn;return{box:`var(--b${e})`,text:`var(--t${e})`,tint:`var(--n${e})`}}var Te=()=>Rt("ts-hatch",{size:8,width:3.2,paper:"var(--fulltint)",ink:"var(--full)"});var ve={speed:"Speed",play:"Play (Space)",pause:"Pause (Space)",first:"Start (Home)",back:"Back (←)",next:"Forward (→)",link:"Copy a link to this moment",copied:"Link copied",full:"Full screen (F)",time:"Time"};var Ee={...ve,label:"collsim race of training steps",sends:"Its busiest GPU sends in a step",peak:"Held by each GPU at its peak",peakShort:"Held by each GPU at its peak, GiB",leads:"1st",times:t=>`${t} ×`,step:"step",waitsFor:"GPUs wait",pass:{forward:"forward",backward:"backward",optimizer:"update",copy:"copies"},kinds:{scatter:"scatter",broadcast:"broadcast",gather:"gather",reduce:"reduce",allreduce:"\
allreduce"},nothing:"nothing on the network",done:"finished",nccl:"NCCL",copies:"copies",how:"How DataParallel copies",legend:{wait:"GPUs wait",bucket:"a bucket",copy:"copy",reduce:"reduce",weights:"weights",other:"optimizer, buckets, whole batch",gradients:"gradients",activations:"activations",server:"parameter server, in host memory"}};var Oe={speed:"速度",play:"播放（空格）",pause:"暂停（空格）",first:"回到开头（Home）",back:"后退（←）",next:"前进（→）",link:"复制此刻的链接",copied:"链接已复制",full:"全屏（F）",time:"时间"};var Fe={...Oe,label:"collsim 训练步竞速",sends:"最忙的 GPU 每步发送",peak:"各 GPU 的显存峰值",peakShort:"各 GPU 的显存峰值，GiB",leads:"第 1",times:t=>`${t} 倍`,step:"一步",waitsFor:"GPU 等待",pass:{forward:"前向",backward:"反向",optimizer:"更新",copy:"复制"},kinds:{scatter:"散发",broadcast:"广播",gather:"收集",reduce:"归约",allreduce:"全归约"},nothing:"\
网络上没有数据",done:"已完成",nccl:"NCCL",copies:"逐份复制",how:"DataParallel 如何复制",legend:{wait:"GPU 在等待",bucket:"一个桶",copy:"copy",reduce:"reduce",weights:"权重",other:"优化器、桶、整个批次",gradients:"梯度",activations:"激活值",server:"参数服务器，在主机内存中"}};var Le=lt({en:Ee,zh:Fe});var w=t=>ct(Le,t.data?.language);var Ne=t=>`
${t} .export{position:relative;display:inline-flex}
${t} .exports{position:absolute;right:0;top:calc(100% + 6px);z-index:30;width:330px;max-width:calc(100vw - 40px);
  background:var(--card);border:2px solid var(--ink);border-radius:10px;padding:8px;text-align:left;
  box-shadow:0 6px 22px rgba(0,0,0,.18)}
${t} .exports[hidden]{display:none}${t} .exports.above{top:auto;bottom:calc(100% + 6px)}
${t} .exports.start{right:auto;left:0}
${t} .exports>b{display:block;font-size:15px;line-height:20px;padding:2px 10px 4px}
${t} .exports button{display:grid;width:100%;border:0;background:none;padding:6px 10px;border-radius:6px;
  text-align:left;font-size:15px;line-height:19px;color:var(--ink)}
${t} .exports button:disabled{color:var(--ink3);cursor:default}
${t} .exports button:not(:disabled):hover{background:var(--sunk)}
${t} .exports small{font-size:13px;line-height:17px;color:var(--ink2)}
`;var Re=t=>`${t}.slide{position:fixed;inset:0;z-index:2147483000;background:var(--card);overflow:auto;padding:24px 36px}`;var Pe=t=>`
${t}:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
${t} svg{display:block}${t} svg text{font-family:inherit}
${t} button{font:inherit;color:var(--ink);cursor:pointer;margin:0}
${t} .btn{display:inline-flex;align-items:center;justify-content:center;width:36px;height:36px;border-radius:8px;
  border:1px solid var(--edge);background:var(--card);padding:0}
${t} .btn.play{width:48px;background:var(--ink);border-color:var(--ink);color:var(--card)}
${t} .btn svg{width:18px;height:18px;fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;
  stroke-linecap:round}
${t} .seg{display:inline-flex;border:1px solid var(--edge);border-radius:6px;overflow:hidden;background:var(--card);
  flex:none}
${t} .seg button{border:0;background:none;padding:3px 10px;font-size:14px;line-height:20px;min-height:34px;
  color:var(--ink2);white-space:nowrap}
${t} .seg button+button{border-left:1px solid var(--line)}
${t} .seg button[aria-pressed=true]{background:var(--ink);color:var(--card);font-weight:700}
${t} .seg button:focus-visible{outline-offset:-4px}
`;var Be=t=>`
${Pe(t)}
${t} h2{margin:0;font-size:19px;line-height:26px;font-weight:700}
${t} h2 span{font-size:13px;font-weight:400;color:var(--ink2);margin-left:10px}
${t} .btn{font-size:22px;line-height:1}
${t} .bar{display:flex;gap:8px 14px;align-items:center;flex-wrap:wrap;padding:6px 0 8px}
${t} .bar .g{display:flex;gap:6px}${t} .sp{flex:1}
${t} .clock{font-size:15px;font-weight:700;white-space:nowrap}
${t} .note{font-size:13px;color:var(--ink2);overflow-wrap:anywhere;max-width:320px}
${t} .foot{display:flex;flex-wrap:wrap;gap:6px 24px;font-size:13px;line-height:20px;color:var(--ink2);
  padding-top:10px}
${t} .foot span{display:inline-flex;gap:8px;align-items:center}
${t} .foot i{display:inline-block;flex:none}
${t} .foot .five{display:inline-flex}${t} .foot .five u{width:12px;height:13px}
${t} .foot .hatch{width:26px;height:13px;
  background:repeating-linear-gradient(135deg,var(--full) 0 3px,var(--fulltint) 3px 7px)}
${t} .foot .outline{width:24px;height:13px;border:2.4px solid var(--ink)}
${t} .foot .dash{width:24px;border-top:2px dashed var(--b2)}
${t} .foot .thin{width:24px;height:6px;background:var(--wait)}
`,op=`${Be(".ts")}${Ne(".ts")}${Re(".ts")}${be(".ts")}
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
`,ze=`${Be(".rv")}
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
`;var vt=24,He=2*vt+6,Qn=74;function Ie(t,e){let{runners:n}=t.data,o=w(t),r=Math.max(...n.map(c=>c.time)),a=Math.min(...n.map(c=>c.time)),s=Math.min(Qn,e-120),i=(c,p)=>ye({width:e,height:c,total:r,right:s,class:"at",...p}),l=[f("span"),f("span",{className:"h"}),f("span",{className:"h",textContent:o.step}),f("span",{className:"h waits",textContent:o.waitsFor})];t.cursors=[];for(let c of n){let p=Math.
abs(c.time-a)<=1e-9*a?o.leads:o.times(Wt(c.time/a)),h=i(He,{role:"img","aria-label":`${c.name}: ${N(c.time)}`});qn(t,c,h,p),l.push(f("span",{className:"rule"}),...to(c,h,c.time===r&&r>1.5*a))}t.chart=i(26,{}),t.chart.picture.append(...xe(t.chart,Kt(r,e/100),{y:17,top:0,bottom:0})),l.push(f("span"),f("span",{},t.chart.picture)),t.tracks.replaceChildren(...l)}function qn(t,e,n,o){let r=e.document,a=n.
across(e.time),s=Me(n),i=eo(r.boxes,e.time).filter(c=>c.lane===0),l=r.waits.filter(([c])=>c===0);n.picture.append(...i.flatMap(c=>oo(t,c,n)),...l.map(([,c,p])=>De(Mt(n,c,p,.8),0,"url(#ts-hatch)")),H(a,0,2,He,"var(--ink)"),G(a+8,20,o,{size:14,bold:!0,fill:"var(--ink)"}),s.node),t.cursors.push(s)}function to(t,{picture:e},n){return[f("span",{className:"name"},f("b",{textContent:t.name})),f("span",{},
e),f("span",{className:n?"num late":"num"},f("b",{textContent:N(t.time)})),f("span",{className:"num waits",textContent:N(t.exposed+t.bubble)})]}function eo(t,e){let n=[];for(let o of t){let r=n.at(-1);r&&["lane","stream","kind","bucket"].every(s=>r[s]===o[s])&&o.stream!=="compute"&&o.bucket<0&&o.t0-r.t1<=1e-6*e?r.t1=o.t1:n.push({...o})}return n}var De=({x:t,wide:e},n,o)=>H(t,n,e,vt,o,{stroke:"var(\
--card)","stroke-width":.5}),no={forward:"var(--casing)",backward:"var(--ag)",optimizer:"var(--idle)"};function oo(t,e,n){let o=Mt(n,e.t0,e.t1,.8),r=w(t),a=e.stream!=="compute",s=e.bucket>=0,i=s||a?Ce(e.bucket).box:no[e.kind]??"var(--casing)",l=a?r.kinds[e.kind]:r.pass[e.kind],c=a?vt+3:0,p=we(o,c+17,s?[]:[l],{fill:a?"var(--card)":"var(--ink)"});return[De(o,c,i),...p]}var ro=24,so=6;function ao(t){let e={root:null,moments:[],clock:at(),data:null,cards:[],copies:!1,cursors:[]};Object.assign(e,{row:f("div",{className:"cards"}),bar:f("div",{className:"bar"}),tracks:f("div",{className:"tracks"}),foot:f("div",{className:"foot"})});let n={className:"rv",css:ze,isFocusable:!0,arrange:()=>Et(e,!1)},o=ee(t,n,e.row,f("div",{className:"card"},e.bar,e.tracks),e.foot),{root:r}=o;
e.root=r;let a=se({...e,turn:s=>We(e,s)});return r.addEventListener("keydown",s=>it(s,a)),mo(e),{root:r,clock:e.clock,update:s=>io(e,s),save:()=>({copies:e.copies}),restore:({copies:s})=>_e(e,s),destroy(){e.clock.pause(),e.off?.(),o.remove()}}}function io(t,e){let n=t.data===null||e.id!==t.data.id,o=e.t!=null&&e.t!==t.data?.t;if(t.data=e,n){let r=Math.max(...e.runners.map(a=>a.time));t.off?.(),t.off=
t.clock.on(()=>je(t),r,r/ro),t.moments=e.runners.flatMap(a=>Se(a.document)).sort((a,s)=>a-s)}lo(t),(o||n)&&t.clock.seek(o?e.t:.1*t.clock.total)}function lo(t){let{root:e,data:n}=t;bt(e,n,Ht),e.setAttribute("aria-label",w(t).label),e.dataset.runners=n.runners.map(o=>o.strategy).join(),ho(t),uo(t),Et(t,!0)}var co=({data:t,copies:e})=>t.runners.filter(n=>n.strategy!==(e?"data_parallel":"copies"));function Et(t,e){
let{root:n,data:o}=t,r=n.clientWidth;if(!o||!r||!e&&t.whole===r)return;t.whole=r,n.classList.toggle("slim",r<760);let a=co(t),s=r<760?1:r<900?Math.min(2,a.length):a.length,i=(r-16*(s-1))/s-(r<760?26:38),l=Math.max(...o.runners.flatMap(c=>c.document.peak_memory.map($t)));t.row.style.gridTemplateColumns=`repeat(${s},minmax(0,1fr))`,t.cards=a.map(c=>fo(t,c,i,l)),t.row.replaceChildren(...t.cards.map(c=>c.
card)),Ie(t,r<760?Math.max(150,r-190):r-480),t.tracks.prepend(d("svg",{width:0,height:0,style:"position:absolute"},Te())),je(t)}function fo(t,e,n,o){let r=w(t),a=Math.max(...t.data.runners.map(u=>u.sent)),s=e.sent===a&&e.sent>2*Math.min(...t.data.runners.map(u=>u.sent)),i=f("i"),l={data:e,pace:f("span")},c=f("h2",{},e.name,l.pace),p=n/Math.min(16,e.document.peak_memory.length+1)<62;i.style.width=`${100*
e.sent/a}%`;let h=e.strategy==="data_parallel"||e.strategy==="copies"?[po(t)]:[];return l.card=f("section",{className:s?"card hot":"card"},f("div",{className:"rhead"},c,...h),f("div",{className:"load"},f("span",{textContent:r.sends}),f("b",{textContent:M(e.sent)})),f("div",{className:"meter"},i),$e(l,n,o),f("div",{className:"load"},f("span",{textContent:p?r.peakShort:r.peak})),f("p",{className:"re\
ason",textContent:e.reason})),l}function po(t){let e=f("span",{className:"seg",role:"group"}),n=w(t),o=[[!1,n.nccl],[!0,n.copies]].filter(([r])=>t.data.runners.some(a=>a.strategy===(r?"copies":"data_parallel")));return F(e,o,t.copies,r=>_e(t,r),n.how),e}function _e(t,e){t.copies=e,Et(t,!0)}function ho(t){t.parts=oe({...t,words:w(t),turn:r=>We(t,r)});let{moves:e,time:n,speeds:o}=t.parts;t.bar.replaceChildren(
e,n,o)}function uo(t){let{legend:e}=w(t),n=(o,r)=>Nt(`width:14px;height:14px;${o}`,r);t.foot.replaceChildren(f("span",{},f("i",{className:"hatch"}),e.wait),n("background:var(--b1)",e.bucket),n("border-radius:50%;background:var(--done)",e.copy),n("border:2px solid var(--ink);border-radius:3px;background:var(--sumfill)",e.reduce),...Object.keys(I).map(o=>n(`background:${I[o]}`,e[o])),n("border:2px s\
olid var(--hostink);background:var(--host)",e.server))}function je(t){let{data:e,clock:n,root:o,cards:r}=t;if(!e||!t.chart)return;let a=w(t),s=A(n.total),i=(l,c)=>so*((c-l.begin)/Math.max(1e-15,l.end-l.begin))%1;for(let l of r){Ae(l,n.t,i);let c=Tt(l.data.document,n.t);x(l.pace,n.t>=l.data.time?a.done:c?`${a.kinds[c.kind]??c.kind}, ${c.name}`:a.nothing)}for(let l of t.cursors)l.move(n.t);re(t.parts,
n,a,`${s.num(n.t)} / ${s.fmt(n.total)}`),Object.assign(o.dataset,{t:String(Number(n.t.toPrecision(9))),playing:String(n.playing),finished:String(e.runners.filter(l=>n.t>=l.time).length)})}function We({clock:t,moments:e},n){le(t,e,n,t.total/200)}function mo(t){let e=n=>t.clock.seek(t.chart.timeAt(n));ae(t.tracks,e,{isTrack:n=>!!n.closest?.("svg.at"),isScrolled:!0})}var go=he(t=>ue("rivals",ao(t)));export{go as default};
