/* collsim: built from viz/program/lanes.js by "npm run build"; edit the sources. */
var n=["wide","narrow"];function c({data:r,parentElement:o}){for(let e of n){let t=new DOMParser().parseFromString(r[e],"image/svg+xml").documentElement;o.querySelector(`.${e}`).replaceChildren(document.importNode(t,!0))}}export{c as default};
