/* collsim: built from viz/training/rivals.js by "npm run build"; edit the sources. */
var I=(t,e,n)=>e.find(([o])=>t>=o)?.[1]??n;var nt=t=>Number.isFinite(t)?t:0;var C=[[1/16,"1/16"],[1/4,"1/4"],[1,"1"],[4,"4"],[16,"16"]];function ot(){let t={subs:new Map,frame:0,last:0},e={t:0,playing:!1,speed:1,base:0,total:0,loop:null,until:null,on:(n,o=0,r=0)=>Pe(e,t,n,{total:o,base:r}),seek(n){e.until=null,e.t=Math.min(e.total,Math.max(0,nt(n))),E(e,t,"seek")},play:(n=null)=>Be(e,t,n),pause(){e.playing&&(vt(e),cancelAnimationFrame(t.frame),E(e,t,"pause"))},setSpeed(n){
e.speed=n,E(e,t,"speed")}};return e}function Pe(t,e,n,o){return e.subs.set(n,o),Tt(t,e),()=>{e.subs.delete(n),Tt(t,e)}}function Tt(t,{subs:e}){t.total=Math.max(0,...[...e.values()].map(n=>n.total)),t.base=Math.max(0,...[...e.values()].map(n=>n.base)),t.t=Math.min(t.t,t.total)}function E(t,{subs:e},n){for(let o of[...e.keys()])o(t,n)}function Be(t,e,n){t.total>0&&(t.t>=t.total&&(t.t=0),t.until=n,t.
playing||(t.playing=!0,e.last=0,e.frame=requestAnimationFrame(o=>Et(t,e,o))),E(t,e,"play"))}function vt(t){t.playing=!1,t.until=null}function Et(t,e,n){if(!t.playing)return;let o=e.last?Math.min(.1,(n-e.last)/1e3):0;e.last=n;let r=t.t+o*t.base*t.speed,a=t.total;if(t.loop){let[s,l]=t.loop;(r>=l||r<s)&&(r=s)}else t.until!=null&&(a=Math.min(a,t.until));if(t.t=Math.min(r,a),t.t>=a&&!t.loop){vt(t),E(t,
e,"end");return}E(t,e,"tick"),t.playing&&(e.frame=requestAnimationFrame(s=>Et(t,e,s)))}function G(t,e){let n=C.findIndex(([o])=>o===t.speed);t.setSpeed(C[Math.min(C.length-1,Math.max(0,(n<0?2:n)+e))][0])}var ze={first:["M4 3.5v11","M14.5 3.5L7 9l7.5 5.5z*"],back:["M12 3.5L5.5 9l6.5 5.5z*"],play:["M5.5 3l9 6-9 6z*"],pause:["M5.2 3.5h2.4v11H5.2z*","M10.6 3.5H13v11h-2.4z*"],next:["M6 3.5L12.500 9 6 14.500z*"],loop:["M3.500 10.500V9a3.500 3.500 0 013.500-3.500h7.500","M12 2.800l2.700 2.700L12 8.200","M14.500 8v1.200a3.500 3.500 0 01-3.500 3.500H3.500","M6 10l-2.700 2.700L6 15.400"],wrong:["M9 2.500a6.\
500 6.500 0 100 13 6.500 6.500 0 000-13z","M6.700 6.700l4.600 4.600","M11.300 6.700l-4.600 4.600"],busy:["M2.500 15.500h13","M4.500 12.500V10","M7.600 12.500V8","M10.700 12.500V3.500","M13.800 12.500V7"],link:["M7.200 10.800l3.600-3.600","M6.200 8.200l-2 2a2.700 2.700 0 003.800 3.800l2-2","M11.800 9.800l2-2a2.700 2.700 0 00-3.800-3.800l-2 2"],png:["M9 2.800v8","M5.300 7.400L9 11.100l3.700-3.700","\
M3 14.800h12"],full:["M3 6.800V3h3.800","M11.200 3H15v3.800","M15 11.200V15h-3.800","M6.800 15H3v-3.800"]},He="http://www.w3.org/2000/svg";function h(t,e,...n){let o=document.createElementNS(He,t);for(let r in e)o.setAttribute(r,e[r]);return o.append(...n),o}function O(t){let e=ze[t].map(n=>h("path",n.endsWith("*")?{d:n.slice(0,-1),fill:"currentColor"}:{d:n}));return h("svg",{viewBox:"0 0 18 18","\
aria-hidden":"true"},...e)}function c(t,e={},...n){let o=document.createElement(t);for(let r in e)r in o&&r!=="list"?o[r]=e[r]:o.setAttribute(r,e[r]);return o.append(...n),o}function Ot(t,e){let n=c("i");return n.style.cssText=t,c("span",{},n,e)}function Ft(t,{size:e,width:n,paper:o,ink:r}){let a={id:t,width:e,height:e,patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)"},s=(l,i)=>h("rect",{width:l,height:e,fill:i});return h("defs",{},h("pattern",a,s(e,o),s(n,r)))}function S(t,e){t.textContent!==e&&(t.textContent=e)}function T(t,e){t.title=e,t.setAttribute("ari\
a-label",e)}function F(t,e,n,o,r){T(t,r);let a=t.contains(t.getRootNode().activeElement);t.replaceChildren(...e.map(([s,l])=>c("button",{type:"button",textContent:l,"aria-pressed":String(s===n),onclick:()=>o(s)}))),a&&t.querySelector("[aria-pressed=true]")?.focus()}function rt(t,e){if(t.target?.closest?.("[role=menu]"))return;t.stopPropagation();let n=t.target?.tagName,o=["SELECT","INPUT","TEXTAREA"].includes(n),r=n==="BUTTON"&&(t.key===" "||t.key==="Enter");if(t.ctrlKey||t.metaKey||t.altKey||o||r)return;let a=e[t.key.length===1?t.key.toLowerCase():t.key];a&&(t.preventDefault(),a())}var po=2**31-1;var $={tokens:{bg:["#F4F6F5","#0E1316"],card:["#FFFFFF","#161D21"],sunk:["#F0F3F2","#1C2529"],ink:["#162026","#EEF3F5"],ink2:["#45535B","#BCC8CE"],ink3:["#5C6A72","#98A7AE"],line:["#D3DADD","#334046"],grid:["#E6EAEC","#242E33"],edge:["#7F8D95","#71818A"],idle:["#CBD4D8","#38444B"],casing:["#EBEFF1","#222C31"],room:["#3F8FC8","#56B4E9"],roomtint:["#E6F2FA","#173245"],near:["#A87000","#F2BC45"],neartint:[
"#FDF4E0","#3E2F0C"],full:["#A63A00","#F26A2E"],fulltint:["#FCE0CF","#4A2410"],fulltext:["#9C3700","#FF9A66"],sum1:["#EAF4F0","#1D2E2A"],sum2:["#3FAE8C","#1E7561"],sumfill:["#8FD3BB","#1D705B"],done:["#00664A","#5FE0B5"],ontext:["#FFFFFF","#06241B"],rs:["#E3E8F1","#232C3A"],ag:["#E2F1EB","#16302A"],wait:["#87949B","#7C8B93"],host:["#F1E9F2","#33242F"],hostink:["#7A3E68","#E3A5CF"],donetint:["#DFF1\
EA","#123B30"]},collectives:[{done:["#5B3A8C","#C3A6F2"],sum1:["#EFEAF6","#2A2338"],sum2:["#A78BD0","#5E4690"],sumfill:["#C9B6E4","#5A4488"]},{done:["#A3225F","#F59BC4"],sum1:["#FBE9F1","#38202B"],sum2:["#E07AA8","#8A3A60"],sumfill:["#F0B3CE","#84395D"]},{done:["#3A4A55","#B9C6CE"],sum1:["#ECEFF1","#262D31"],sum2:["#8FA1AC","#55666F"],sumfill:["#BCC8CF","#52626B"]}],buckets:{b0:["#2E3F8F","#6E86F2"],
t0:["#FFFFFF","#0E1316"],n0:["#E7EAF6","#1D2340"],b1:["#7288DA","#BAC6FB"],t1:["#162026","#0E1316"],n1:["#EEF1FC","#262C42"],b2:["#6B3FA0","#A47AE2"],t2:["#FFFFFF","#0E1316"],n2:["#EFE9F6","#2A213C"],b3:["#AE80D4","#DDC3F5"],t3:["#162026","#0E1316"],n3:["#F6F0FB","#312A3B"],b4:["#A23B72","#E583B6"],t4:["#FFFFFF","#0E1316"],n4:["#F7EAF1","#382431"]},series:["room","full","done","near","hostink","in\
k2"],fonts:["Source Sans 3","Segoe UI","Helvetica Neue","Arial","Noto Sans CJK SC","PingFang SC","Microsoft YaHei","sans-serif"],number_unit_space:" (?=(?:(?:[kKMGT]i?)?B(?:/s)?|[kMGT]?bit/s|ms|[µun]?s|×|倍|times|%(?! \\w\\b))(?![A-Za-z0-9_]))(?<=[0-9∞] )"};var X=(t,e)=>Object.fromEntries(Object.entries(t).map(([n,o])=>[n,o[e]])),Rt=t=>({light:X(t,0),dark:X(t,1)}),st=$.fonts.map(t=>t.includes(" ")?`"${t}"`:t).join(),L=Rt($.tokens),Pt=Rt($.buckets);var Bt={light:$.collectives.map(t=>X(t,0)),dark:$.collectives.map(t=>X(t,1))},go=Object.fromEntries(["light","dark"].map(t=>[t,[L[t],...Bt[t].map(e=>({...L[t],...e}))]]));var zt=["en","zh"];var Ht=t=>t!==null&&typeof t=="object"&&!Array.isArray(t);function It(t,e){if(!Ht(t)||!Ht(e))return e??t;let n=Object.keys(t).map(o=>[o,It(t[o],e[o])]);return{...e,...Object.fromEntries(n)}}var at=t=>Object.fromEntries(Object.entries(t).map(([e,n])=>[e,It(t.en,n)])),V=t=>zt.includes(t)?t:"en",it=(t,e)=>t[V(e)]??t.en;var k=" ",De=new RegExp($.number_unit_space,"g");function D(t){return typeof t=="string"?t.replace(De,k):Array.isArray(t)?typeof t[0]=="number"?t:t.map(D):t?.constructor!==Object?t:Object.fromEntries(Object.entries(t).map(([e,n])=>[e,D(n)]))}var lt=t=>Math.abs(t)>=1e3?String(Math.round(t)):String(Number(t.toPrecision(3))),Dt=t=>Math.abs(t)>=1e3?String(Math.round(t)):t.toPrecision(3);function x(t){
let e=["B","KiB","MiB","GiB","TiB"],n=0;for(;n<4&&Math.abs(t)>=1023.5;)t/=1024,n++;return lt(t)+k+e[n]}var je=[[1,[1,"s"]],[.001,[1e3,"ms"]],[1e-6,[1e6,"µs"]]];function A(t){let[e,n]=I(t,je,[1e9,"ns"]),o=t>0?Math.max(0,4-Math.floor(Math.log10(t*e))):0;return{f:e,unit:n,digits:Math.min(3,o),num:r=>(r*e).toFixed(Math.min(3,o)),fmt:r=>(r*e).toFixed(Math.min(3,o))+k+n}}function N(t){let e=A(t);return lt(t*e.f)+k+e.unit}function jt(t,e){let n=t/Math.max(1,e),o=10**Math.floor(Math.log10(n||1));return o*
[1,2,5,10].find(r=>r*o>=n*.999)}function _t(t,e){let{f:n,unit:o}=A(t),r=jt(t*n,e),a=r>0?Math.floor(t*n*1.0001/r):0;return Array.from({length:a+1},(s,l)=>({t:l*r/n,text:`${Number((l*r).toPrecision(6))}${l?"":k+o}`}))}async function Y(t,e){try{return await navigator.clipboard.writeText(t),!0}catch{let n=c("textarea",{value:t});e.append(n),n.select();let o=document.execCommand?.("copy")??!1;return n.remove(),o}}var fn=t=>`
${t}{all:initial;display:block;position:relative;box-sizing:border-box;font:15px/1.4 ${st};color:var(--ink);
  font-variant-numeric:tabular-nums;outline:none;text-align:left}
${t}:fullscreen{background:var(--bg);padding:20px;overflow:auto}
${t} *{box-sizing:border-box}
${t} :focus-visible{outline:2px solid var(--ink);outline-offset:2px}
`;function Qt(t,{className:e,css:n,arrange:o,isFocusable:r=!1},...a){let s=c("style",{textContent:fn(`.${e}`)+n}),l=c("div",{className:e,role:"group"},s,...a);r&&(l.tabIndex=0),t.append(l);let i=typeof ResizeObserver=="function"?new ResizeObserver(()=>o()):null;return i?.observe(l),{root:l,remove(){i?.disconnect(),l.remove()}}}function gt(t,{theme:e,language:n},o={}){let r=e==="dark"?"dark":"light",
a={...L[r],...o[r]};for(let s in a)t.style.setProperty(`--${s}`,a[s]);return t.lang=V(n).replace("zh","zh-CN"),L[r]}var kt=t=>t.clock.playing?t.clock.pause():t.clock.play();function te({root:t,clock:e,words:n,turn:o}){let r=(i,f)=>{let p=c("button",{type:"button",className:i==="play"?"btn play":"btn",onclick:f});return T(p,n[i]),p.append(O(i)),p},a=r("play",()=>kt({clock:e})),s=c("span",{className:"note",role:"status"}),l=c("span",{className:"seg speeds",role:"group"});return re(l,e,n),{play:a,note:s,speeds:l,time:c("span",{className:"clock"}),moves:c("span",{className:"\
g"},r("first",()=>e.seek(0)),r("back",()=>o(-1)),a,r("next",()=>o(1))),tools:c("span",{className:"g tools"},r("link",()=>kn({clock:e,root:t,words:n,note:s})),r("full",()=>ae(t)))}}function ee({play:t,time:e},{playing:n},o,r){S(e,r),t.dataset.on!==String(n)&&(t.dataset.on=String(n),t.replaceChildren(O(n?"pause":"play")),T(t,n?o.pause:o.play))}var ne=({root:t,clock:e,turn:n})=>({" ":()=>kt({clock:e}),
ArrowRight:()=>n(1),PageDown:()=>n(1),ArrowLeft:()=>n(-1),PageUp:()=>n(-1),Home:()=>e.seek(0),End:()=>e.seek(e.total),f:()=>ae(t),"[":()=>G(e,-1),"]":()=>G(e,1)});function oe(t,e,{isTrack:n=()=>!0,isScrolled:o=!1}={}){let r=!1,a=s=>!o||s.pointerType==="mouse";t.addEventListener("pointerdown",s=>{r=n(s.target),r&&(a(s)&&t.setPointerCapture?.(s.pointerId),e(s))}),t.addEventListener("pointermove",s=>{
r&&a(s)&&e(s)});for(let s of["pointerup","pointercancel"])t.addEventListener(s,()=>{r=!1})}function re(t,e,n){let o=r=>{e.setSpeed(r),re(t,e,n)};F(t,C,e.speed,o,n.speed)}function se(t,e,n,o){t.pause();let r=()=>e.find(s=>s>=t.t+o)??t.total,a=()=>e.filter(s=>s<=t.t-o).at(-1)??0;t.seek(n>0?r():a())}function ae(t){document.fullscreenElement?document.exitFullscreen?.():t.requestFullscreen?.().catch(()=>{})}
async function kn({clock:t,root:e,words:n,note:o}){let r=new URL(location.href);r.searchParams.set("t",String(Number(t.t.toPrecision(6)))),S(o,await Y(r.href,e)?n.copied:r.href),clearTimeout(o.timer),o.timer=setTimeout(()=>S(o,""),2500)}var bn="radio slider tab combobox listbox option menu menuitem grid dialog spinbutton".split(" "),yn=["input,textarea,select,summary,[contenteditable]:not([contenteditable=false])",...bn.map(t=>`[role=${t}]`)].join(),xn="button,a[href]",wn=t=>t.collsimPictures??=new Set;function ie(t){let{left:e,right:n,top:o,bottom:r}=t.getBoundingClientRect(),a=Math.min(n,globalThis.innerWidth)-Math.max(e,0),s=Math.
min(r,globalThis.innerHeight)-Math.max(o,0);return Math.max(0,a)*Math.max(0,s)}var Mn=t=>[...t].reduce((e,n)=>!e||ie(n)>ie(e)?n:e,null);function Sn(t,e){return t.defaultPrevented||t.ctrlKey||t.metaKey||t.altKey||!e?.closest||e.closest(yn)?!1:!((t.key===" "||t.key==="Enter")&&e.closest(xn))}function le(t){let e=t.ownerDocument,n=wn(e),o=a=>{let s=a.composedPath();if(s.some(d=>n.has(d))||!Sn(a,s[0])||
Mn(n)!==t)return;let{key:l,code:i,shiftKey:f}=a,p=new KeyboardEvent("keydown",{key:l,code:i,shiftKey:f,cancelable:!0});t.dispatchEvent(p),p.defaultPrevented&&a.preventDefault()},r=e.activeElement;return r?.closest?.("header,[role=menu],[data-testid=stTopNavSection]")&&r.blur(),n.add(t),e.addEventListener("keydown",o),()=>{n.delete(t),e.removeEventListener("keydown",o)}}var $n=t=>[...t.children].find(e=>e.getAttribute("role")==="group"&&e.getAttribute("tabindex")==="0");function An(t){let e=null,n=()=>{let r=e?null:$n(t);r&&(e=le(r))};n();let o=new MutationObserver(n);return o.observe(t,{childList:!0}),()=>{o.disconnect(),e?.()}}function ce(t){let e=new WeakMap;return({data:n,parentElement:o,setStateValue:r,setTriggerValue:a})=>{let s=e.get(o)??{generation:0},l=D(
n??{});s.state=r,s.trigger=a,s.shown??=t(o,l,{state:(f,p)=>s.state?.(f,p),trigger:(f,p)=>s.trigger?.(f,p)}),s.deaf??=An(o),e.set(o,s),s.shown.update(l);let i=++s.generation;return()=>{s.generation===i&&(s.deaf(),s.shown.destroy(),e.delete(o))}}}var fe="collsim playback";function pe(t,e){let n=Cn(),o={kind:t,view:e,data:null,isShown:!1,isResumed:!1};return n.mounted.add(o),{async update(r){o.isShown&&o.data.id!==r.id&&(yt(n,o),o.isShown=!1),o.data=r,await e.update(r),!(o.data!==r||!n.mounted.has(o))&&(o.isResumed||On(n,o),Object.assign(o,{isResumed:!0,isShown:!0}))},destroy(){yt(n,o),n.mounted.delete(o),e.destroy()}}}function Cn(){return globalThis.collsimPlaybacks??=
Tn(),globalThis.collsimPlaybacks}function Tn(){let t={mounted:new Set,stopped:new Map(vn())};return globalThis.addEventListener?.("pagehide",()=>{for(let e of t.mounted)yt(t,e);En([...t.stopped].slice(-40))}),t}function vn(){let[t]=globalThis.performance?.getEntriesByType?.("navigation")??[];if(t?.type!=="reload")return[];try{return JSON.parse(sessionStorage.getItem(fe))??[]}catch{return[]}}function En(t){
try{sessionStorage.setItem(fe,JSON.stringify(t))}catch{}}var bt=({kind:t,view:e,data:n})=>`${t} ${e.runId?.()??n.id}`;function he({view:t,data:e}){let{clock:n}=t;return{...n&&{t:n.t,isPlaying:n.playing,speed:n.speed,loop:n.loop},view:t.save?.(),begin:e.t??null,at:Date.now()}}function yt({stopped:t},e){if(!e.isShown)return;let n=bt(e);t.delete(n),t.set(n,he(e))}function On({mounted:t,stopped:e},{kind:n,
view:o,data:r}){let a=bt({kind:n,view:o,data:r}),s=[...t].find(f=>f.isShown&&f.view!==o&&bt(f)===a),l=s?he(s):e.get(a);if(!l||l.begin!==(r.t??null))return;let i=Date.now()-l.at<2e4;l.view&&o.restore?.(l.view,i),o.clock&&Fn(o.clock,l,i)}function Fn(t,{t:e,isPlaying:n,speed:o,loop:r},a){t.setSpeed(o),t.seek(e),t.loop=r,n&&a&&t.play()}function de(t){let e=[0,t.time];for(let n of t.collectives)e.push(n.ready,n.begin,n.end);for(let n of t.boxes)e.push(n.t0,n.t1);return e.sort((n,o)=>n-o),e.filter((n,o)=>o===0||n-e[o-1]>1e-9*t.time)}function Ln(t,e){let n=0;for(let o of String(t))n+=o.codePointAt(0)>11903?1:o===" "?.25:.55;return n*e}var ue=(t,e,n)=>Ln(t,e)+8<=n;var b=74,U=34,xt=96,Nn=16,H={weights:"var(--ink3)",other:"var(--ink)",gradients:"var(--wait)",activations:"var(--idle)"},wt=t=>Object.keys(H).reduce((e,n)=>e+t[n],0);function Rn(t,e){let n=e/Math.max(1,t);return{apart:n,middle:o=>n*(o+.5)}}function Pn(t,e,n){let o=e;return Object.keys(H).map(r=>{let a=t[r]/n*e;return o-=a,{kind:r,y:o,h:a}})}function me(t,e,n){let{document:o,patterns:r}=t.data,a=Math.
max(0,...Object.values(r).map(d=>d.servers)),s=o.peak_memory.slice(0,Nn),l=Rn(s.length+a,e),i=s.map(wt),f=Math.min(...i),p=h("svg",{width:e,height:b+U+xt+44,"aria-hidden":"true"});t.hub={arcs:h("g",{}),places:l,gpus:s.length,drawn:"",width:e},p.append(t.hub.arcs),s.forEach((d,u)=>p.append(...Bn(l,u,d.rank,i[u]>f*1.001),...Hn(l,u,d,n))),s.forEach((d,u)=>p.append(In(l,u,i[u],i[u]===Math.max(...i)&&i[u]>
f*1.001)));for(let d=0;d<a;d++)p.append(...zn(l,s.length+d));return p}var Mt=(t,e,n,o)=>h("text",{x:t,y:e,"text-anchor":"middle","font-size":15,fill:"var(--ink)",...o},n),St=t=>Math.min(46,t.apart-6);function Bn(t,e,n,o){let r=St(t),a=t.middle(e)-r/2;return[h("rect",{x:a,y:b,width:r,height:U,...{rx:6,fill:o?"var(--ink)":"var(--card)",stroke:"var(--ink)","stroke-width":1.8}}),Mt(t.middle(e),b+23,String(
n),{"font-weight":700,"font-size":r<24?12:17,fill:o?"var(--card)":"var(--ink)"})]}function zn(t,e){let n=St(t),o={rx:6,fill:"var(--host)",stroke:"var(--hostink)","stroke-width":1.8};return[h("rect",{x:t.middle(e)-n/2,y:b,width:n,height:U,...o}),Mt(t.middle(e),b+22,n<30?"S":"PS",{"font-weight":700,"font-size":14,fill:"var(--hostink)"})]}function Hn(t,e,n,o){let r=St(t),a=b+U+16;return Pn(n,xt,o).map(
({kind:s,y:l,h:i})=>h("rect",{x:t.middle(e)-r/2,y:a+l,width:r,height:i,fill:H[s]}))}function In(t,e,n,o){let r=t.apart<62?(n/1073741824).toFixed(n<10737418240?2:0):x(n),a={"font-size":t.apart<38?12:13,"font-weight":o?700:400,fill:o?"var(--fulltext)":"var(--ink2)"};return Mt(t.middle(e),b+U+xt+34,r,a)}var $t=(t,e)=>t.collectives.find(n=>n.begin<=e&&e<n.end)??null;function ge(t,e,n){let{hub:o,data:r}=t,
a=$t(r.document,e),s=a?a.pattern:"";o.drawn!==s&&(o.drawn=s,o.curves=s?Dn(o,r.patterns[s]):[],o.arcs.replaceChildren(...o.curves.flatMap(({path:i,dot:f})=>[i,f])));let l=a?n(a,e):0;for(let{dot:i,at:f}of o.curves??[]){let[p,d]=f(l);i.setAttribute("transform",`translate(${p.toFixed(1)} ${d.toFixed(1)})`)}}function Dn(t,e){let{places:n,gpus:o}=t,r=s=>s<o?s:o+(s-e.ranks);return e.pairs.filter(([s,l])=>[
s,l].every(i=>i<o||i>=e.ranks)).map(([s,l])=>{let[i,f]=[n.middle(r(s)),n.middle(r(l))],p=Math.min(b-8,16+Math.abs(f-i)*.16),d={d:`M${i} ${b}Q${(i+f)/2} ${b-2*p} ${f} ${b}`,fill:"none",stroke:"var(--full)","stroke-width":1.5},u=e.adds?h("rect",{x:-5,y:-5,width:10,height:10,rx:2,fill:"var(--sumfill)",stroke:"var(--ink)","stroke-width":1.6}):h("circle",{r:5,fill:"var(--done)",stroke:"var(--card)","st\
roke-width":1.2}),Re=K=>[(1-K)*i+K*f,b-4*p*K*(1-K)];return{path:h("path",d),dot:u,at:Re}})}var jn=5;function ke(t){if(t<0)return{box:"var(--ink3)",text:"var(--card)",tint:"var(--sunk)"};let e=t%jn;return{box:`var(--b${e})`,text:`var(--t${e})`,tint:`var(--n${e})`}}var be=()=>Ft("ts-hatch",{size:8,width:3.2,paper:"var(--fulltint)",ink:"var(--full)"});var ye={speed:"Speed",play:"Play (Space)",pause:"Pause (Space)",first:"Start (Home)",back:"Back (←)",next:"Forward (→)",link:"Copy a link to this moment",copied:"Link copied",full:"Full screen (F)",time:"Time"};var xe={...ye,label:"collsim race of training steps",sends:"Its busiest GPU sends in a step",peak:"Held by each GPU at its peak",peakShort:"Held by each GPU at its peak, GiB",leads:"1st",times:t=>`${t} ×`,step:"step",waitsFor:"GPUs wait",pass:{forward:"forward",backward:"backward",optimizer:"update",copy:"copies"},kinds:{scatter:"scatter",broadcast:"broadcast",gather:"gather",reduce:"reduce",allreduce:"\
allreduce"},nothing:"nothing on the network",done:"finished",nccl:"NCCL",copies:"copies",how:"How DataParallel copies",legend:{wait:"GPUs wait",bucket:"a bucket",copy:"copy",reduce:"reduce",weights:"weights",other:"optimizer, buckets, whole batch",gradients:"gradients",activations:"activations",server:"parameter server, in host memory"}};var we={speed:"速度",play:"播放（空格）",pause:"暂停（空格）",first:"回到开头（Home）",back:"后退（←）",next:"前进（→）",link:"复制此刻的链接",copied:"链接已复制",full:"全屏（F）",time:"时间"};var Me={...we,label:"collsim 训练步竞速",sends:"最忙的 GPU 每步发送",peak:"各 GPU 的显存峰值",peakShort:"各 GPU 的显存峰值，GiB",leads:"第 1",times:t=>`${t} 倍`,step:"一步",waitsFor:"GPU 等待",pass:{forward:"前向",backward:"反向",optimizer:"更新",copy:"复制"},kinds:{scatter:"散发",broadcast:"广播",gather:"收集",reduce:"归约",allreduce:"全归约"},nothing:"\
网络上没有数据",done:"已完成",nccl:"NCCL",copies:"逐份复制",how:"DataParallel 如何复制",legend:{wait:"GPU 在等待",bucket:"一个桶",copy:"copy",reduce:"reduce",weights:"权重",other:"优化器、桶、整个批次",gradients:"梯度",activations:"激活值",server:"参数服务器，在主机内存中"}};var Se=at({en:xe,zh:Me});var y=t=>it(Se,t.data?.language);var $e=t=>`
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
`;var Ae=t=>`${t}.slide{position:fixed;inset:0;z-index:2147483000;background:var(--card);overflow:auto;padding:24px 36px}`;var Ce=t=>`
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
`;var Te=t=>`
${Ce(t)}
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
`,If=`${Te(".ts")}${$e(".ts")}${Ae(".ts")}
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
.ts svg.dim .part{opacity:.4}.ts svg.dim .part.lit{opacity:1}.ts svg.dim .chain{opacity:.4}
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
`,ve=`${Te(".rv")}
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
`;var et=24,At=2*et+6,_n=74;function Ee(t,e){let{runners:n}=t.data,o=y(t),r=Math.max(...n.map(f=>f.time)),a=Math.min(...n.map(f=>f.time)),s=Math.max(120,e-_n),l=f=>(r>0?f/r:0)*s,i=[c("span"),c("span",{className:"h"}),c("span",{className:"h",textContent:o.step}),c("span",{className:"h waits",textContent:o.waitsFor})];t.cursors=[];for(let f of n){let p=Math.abs(f.time-a)<=1e-9*a?o.leads:o.times(Dt(f.time/
a));i.push(c("span",{className:"rule"}),...Wn(t,f,e,l,p,f.time===r&&r>1.5*a))}i.push(c("span"),Gn(e,l,r)),t.tracks.replaceChildren(...i),t.across=l}function Wn(t,e,n,o,r,a){let s=h("svg",{width:n,height:At,class:"at",role:"img","aria-label":`${e.name}: ${N(e.time)}`}),l=e.document;for(let p of Un(l.boxes,e.time))p.lane===0&&s.append(...Kn(t,p,o));for(let[p,d,u]of l.waits)p===0&&s.append(Oe(o(d),0,
o(u)-o(d),"url(#ts-hatch)"));let i=o(e.time),f=h("rect",{x:-1,y:0,width:2,height:At,fill:"var(--ink)",class:"cursor"});return s.append(h("rect",{x:i,y:0,width:2,height:At,fill:"var(--ink)"}),h("text",{x:i+8,y:20,"font-size":14,"font-weight":700,fill:"var(--ink)"},r),f),t.cursors.push(f),[c("span",{className:"name"},c("b",{textContent:e.name})),c("span",{},s),c("span",{className:a?"num late":"num"},
c("b",{textContent:N(e.time)})),c("span",{className:"num waits",textContent:N(e.exposed+e.bubble)})]}function Un(t,e){let n=[];for(let o of t){let r=n.at(-1);r&&["lane","stream","kind","bucket"].every(s=>r[s]===o[s])&&o.stream!=="compute"&&o.bucket<0&&o.t0-r.t1<=1e-6*e?r.t1=o.t1:n.push({...o})}return n}var Oe=(t,e,n,o)=>h("rect",{x:t,y:e,width:Math.max(.8,n),height:et,fill:o,stroke:"var(--card)","\
stroke-width":.5});function Kn(t,e,n){let o=n(e.t0),r=n(e.t1)-o,a=y(t),s=e.stream!=="compute",l={forward:"var(--casing)",backward:"var(--ag)",optimizer:"var(--idle)",copy:"var(--casing)"},i=e.bucket>=0||s?ke(e.bucket).box:l[e.kind]??"var(--casing)",f=s?e.bucket>=0?"":a.kinds[e.kind]:e.bucket>=0?"":a.pass[e.kind],p=[Oe(o,s?et+3:0,r,i)];if(f&&ue(f,13,r)){let d=s?"var(--card)":"var(--ink)";p.push(h("\
text",{x:o+r/2,y:(s?et+3:0)+17,"font-size":13,"text-anchor":"middle",fill:d},f))}return p}function Gn(t,e,n){let o=h("svg",{width:t,height:26,class:"at"});return _t(n,t/100).forEach(({t:r,text:a},s)=>{let l={"font-size":13,"text-anchor":s?"middle":"start",fill:"var(--ink2)"};o.append(h("text",{x:e(r),y:17,...l},a))}),c("span",{},o)}var Xn=24,Vn=6;function Yn(t){let e={root:null,moments:[],clock:ot(),data:null,cards:[],copies:!1,cursors:[]};Object.assign(e,{row:c("div",{className:"cards"}),bar:c("div",{className:"bar"}),tracks:c("div",{className:"tracks"}),foot:c("div",{className:"foot"})});let n={className:"rv",css:ve,isFocusable:!0,arrange:()=>Ct(e,!1)},o=Qt(t,n,e.row,c("div",{className:"card"},e.bar,e.tracks),e.foot),{root:r}=o;
e.root=r;let a=ne({...e,turn:s=>Ne(e,s)});return r.addEventListener("keydown",s=>rt(s,a)),oo(e),{root:r,clock:e.clock,update:s=>Jn(e,s),save:()=>({copies:e.copies}),restore:({copies:s})=>Fe(e,s),destroy(){e.clock.pause(),e.off?.(),o.remove()}}}function Jn(t,e){let n=t.data===null||e.id!==t.data.id,o=e.t!=null&&e.t!==t.data?.t;if(t.data=e,n){let r=Math.max(...e.runners.map(a=>a.time));t.off?.(),t.off=
t.clock.on(()=>Le(t),r,r/Xn),t.moments=e.runners.flatMap(a=>de(a.document)).sort((a,s)=>a-s)}Zn(t),(o||n)&&t.clock.seek(o?e.t:.1*t.clock.total)}function Zn(t){let{root:e,data:n}=t;gt(e,n,Pt),e.setAttribute("aria-label",y(t).label),e.dataset.runners=n.runners.map(o=>o.strategy).join(),eo(t),no(t),Ct(t,!0)}var Qn=({data:t,copies:e})=>t.runners.filter(n=>n.strategy!==(e?"data_parallel":"copies"));function Ct(t,e){
let{root:n,data:o}=t,r=n.clientWidth;if(!o||!r||!e&&t.whole===r)return;t.whole=r,n.classList.toggle("slim",r<760);let a=Qn(t),s=r<760?1:r<900?Math.min(2,a.length):a.length,l=(r-16*(s-1))/s-(r<760?26:38),i=Math.max(...o.runners.flatMap(f=>f.document.peak_memory.map(wt)));t.row.style.gridTemplateColumns=`repeat(${s},minmax(0,1fr))`,t.cards=a.map(f=>qn(t,f,l,i)),t.row.replaceChildren(...t.cards.map(f=>f.
card)),Ee(t,r<760?Math.max(150,r-190):r-480),t.tracks.prepend(h("svg",{width:0,height:0,style:"position:absolute"},be())),Le(t)}function qn(t,e,n,o){let r=y(t),a=Math.max(...t.data.runners.map(u=>u.sent)),s=e.sent===a&&e.sent>2*Math.min(...t.data.runners.map(u=>u.sent)),l=c("i"),i={data:e,pace:c("span")},f=c("h2",{},e.name,i.pace),p=n/Math.min(16,e.document.peak_memory.length+1)<62;l.style.width=`${100*
e.sent/a}%`;let d=e.strategy==="data_parallel"||e.strategy==="copies"?[to(t)]:[];return i.card=c("section",{className:s?"card hot":"card"},c("div",{className:"rhead"},f,...d),c("div",{className:"load"},c("span",{textContent:r.sends}),c("b",{textContent:x(e.sent)})),c("div",{className:"meter"},l),me(i,n,o),c("div",{className:"load"},c("span",{textContent:p?r.peakShort:r.peak})),c("p",{className:"re\
ason",textContent:e.reason})),i}function to(t){let e=c("span",{className:"seg",role:"group"}),n=y(t),o=[[!1,n.nccl],[!0,n.copies]].filter(([r])=>t.data.runners.some(a=>a.strategy===(r?"copies":"data_parallel")));return F(e,o,t.copies,r=>Fe(t,r),n.how),e}function Fe(t,e){t.copies=e,Ct(t,!0)}function eo(t){t.parts=te({...t,words:y(t),turn:r=>Ne(t,r)});let{moves:e,time:n,speeds:o}=t.parts;t.bar.replaceChildren(
e,n,o)}function no(t){let{legend:e}=y(t),n=(o,r)=>Ot(`width:14px;height:14px;${o}`,r);t.foot.replaceChildren(c("span",{},c("i",{className:"hatch"}),e.wait),n("background:var(--b1)",e.bucket),n("border-radius:50%;background:var(--done)",e.copy),n("border:2px solid var(--ink);border-radius:3px;background:var(--sumfill)",e.reduce),...Object.keys(H).map(o=>n(`background:${H[o]}`,e[o])),n("border:2px s\
olid var(--hostink);background:var(--host)",e.server))}function Le(t){let{data:e,clock:n,root:o,cards:r}=t;if(!e||!t.across)return;let a=y(t),s=A(n.total),l=(i,f)=>Vn*((f-i.begin)/Math.max(1e-15,i.end-i.begin))%1;for(let i of r){ge(i,n.t,l);let f=$t(i.data.document,n.t);S(i.pace,n.t>=i.data.time?a.done:f?`${a.kinds[f.kind]??f.kind}, ${f.name}`:a.nothing)}for(let i of t.cursors)i.setAttribute("tran\
sform",`translate(${t.across(n.t).toFixed(2)} 0)`);ee(t.parts,n,a,`${s.num(n.t)} / ${s.fmt(n.total)}`),Object.assign(o.dataset,{t:String(Number(n.t.toPrecision(9))),playing:String(n.playing),finished:String(e.runners.filter(i=>n.t>=i.time).length)})}function Ne({clock:t,moments:e},n){se(t,e,n,t.total/200)}function oo(t){let e=n=>{let{left:o}=t.tracks.querySelector("svg.at").getBoundingClientRect();
t.clock.seek((n.clientX-o)/t.across(t.clock.total)*t.clock.total)};oe(t.tracks,e,{isTrack:n=>!!n.closest?.("svg.at"),isScrolled:!0})}var ro=ce(t=>pe("rivals",Yn(t)));export{ro as default};
