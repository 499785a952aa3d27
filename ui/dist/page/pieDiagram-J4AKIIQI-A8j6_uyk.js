import{C as e,H as t,U as n,_ as r,a as i,b as a,c as o,f as s,ot as c,q as l,ut as u,v as d}from"./drawing-base-j4ygBpCt.js";import{t as f}from"./diagram-GHMj3Fei.js";import{I as p,b as m,k as h,q as g}from"./drawing-shapes-CG_JVq0F.js";import{r as _}from"./d3-scale-CxaHwDzY.js";function v(e,t){e.accDescr&&t.setAccDescription?.(e.accDescr),e.accTitle&&t.setAccTitle?.(e.accTitle),e.title&&t.setDiagramTitle?.(e.title)}u(v,`populateCommonDb`);function y(e,t){return Promise.resolve().then(()=>{if(e!==`pie`)throw Error(`this kind of diagram is not drawn here`);return b(t)})}function b(e){let t={showData:!1,sections:[]},n=e.split(/\r?\n/).map(e=>e.replace(/%%.*$/,``).trim()).filter(e=>e!==``),r=n.shift()??``;if(!/^pie\b/.test(r))throw Error(`a pie begins with "pie", not with "${r.slice(0,40)}"`);r=r.slice(3).trim(),/^showData\b/.test(r)&&(t.showData=!0,r=r.slice(8).trim()),r!==``&&n.unshift(r);for(let e of n){let n=/^(title|accTitle|accDescr)\b\s*:?\s*(.*)$/.exec(e),r=/^"([^"]*)"\s*:\s*(\d+(?:\.\d+)?)$/.exec(e)??/^'([^']*)'\s*:\s*(\d+(?:\.\d+)?)$/.exec(e);if(n)t[n[1]]=n[2];else if(e===`showData`)t.showData=!0;else if(r)t.sections.push({label:r[1],value:Number(r[2])});else throw Error(`a slice of a pie is written as "label" : number, not as ${e.slice(0,60)}`)}return t}var x=s.pie,S={sections:new Map,showData:!1,config:x},C=S.sections,w=S.showData,T=structuredClone(x),E={getConfig:u(()=>structuredClone(T),`getConfig`),clear:u(()=>{C=new Map,w=S.showData,i()},`clear`),setDiagramTitle:l,getDiagramTitle:e,setAccTitle:n,getAccTitle:d,setAccDescription:t,getAccDescription:r,addSection:u(({label:e,value:t})=>{if(t<0)throw Error(`"${e}" has invalid value: ${t}. Negative values are not allowed in pie charts. All slice values must be >= 0.`);C.has(e)||(C.set(e,t),c.debug(`added new section: ${e}, with value: ${t}`))},`addSection`),getSections:u(()=>C,`getSections`),setShowData:u(e=>{w=e},`setShowData`),getShowData:u(()=>w,`getShowData`)},D=u((e,t)=>{v(e,t),t.setShowData(e.showData),e.sections.map(t.addSection)},`populateDb`),O={parse:u(async e=>{let t=await y(`pie`,e);c.debug(t),D(t,E)},`parse`)},k=u(e=>`
  .pieCircle{
    stroke: ${e.pieStrokeColor};
    stroke-width : ${e.pieStrokeWidth};
    opacity : ${e.pieOpacity};
  }
  .pieCircle.highlighted{
    scale: 1.05;
    opacity: 1;
  }
  .pieCircle.highlightedOnHover:hover{
    transition-duration: 250ms;
    scale: 1.05;
    opacity: 1;
  }
  .pieOuterCircle{
    stroke: ${e.pieOuterStrokeColor};
    stroke-width: ${e.pieOuterStrokeWidth};
    fill: none;
  }
  .pieTitleText {
    text-anchor: middle;
    font-size: ${e.pieTitleTextSize};
    fill: ${e.pieTitleTextColor};
    font-family: ${e.fontFamily};
  }
  .slice {
    font-family: ${e.fontFamily};
    fill: ${e.pieSectionTextColor};
    font-size:${e.pieSectionTextSize};
    // fill: white;
  }
  .legend text {
    fill: ${e.pieLegendTextColor};
    font-family: ${e.fontFamily};
    font-size: ${e.pieLegendTextSize};
  }
`,`getStyles`),A=u(e=>{let t=[...e.values()].reduce((e,t)=>e+t,0),n=[...e.entries()].map(([e,t])=>({label:e,value:t})).filter(e=>e.value/t*100>=1);return g().value(e=>e.value).sort(null)(n)},`createPieArcs`),j={parser:O,db:E,renderer:{draw:u((e,t,n,r)=>{c.debug(`rendering pie chart
`+e);let i=r.db,s=a(),l=m(i.getConfig(),s.pie),u=f(t),d=u.append(`g`);d.attr(`transform`,`translate(225,225)`);let{themeVariables:g}=s,[v]=h(g.pieOuterStrokeWidth);v??=2;let y=l.legendPosition,b=l.textPosition,x=l.donutHole>0&&l.donutHole<=.9?l.donutHole:0,S=p().innerRadius(x*185).outerRadius(185),C=p().innerRadius(185*b).outerRadius(185*b),w=d.append(`g`);w.append(`circle`).attr(`cx`,0).attr(`cy`,0).attr(`r`,185+v/2).attr(`class`,`pieOuterCircle`);let T=i.getSections(),E=A(T),D=[g.pie1,g.pie2,g.pie3,g.pie4,g.pie5,g.pie6,g.pie7,g.pie8,g.pie9,g.pie10,g.pie11,g.pie12],O=0;T.forEach(e=>{O+=e});let k=E.filter(e=>(e.data.value/O*100).toFixed(0)!==`0`),j=_(D).domain([...T.keys()]);w.selectAll(`mySlices`).data(k).enter().append(`path`).attr(`d`,S).attr(`fill`,e=>j(e.data.label)).attr(`class`,e=>{let t=`pieCircle`;return l.highlightSlice===`hover`?t+=` highlightedOnHover`:l.highlightSlice===e.data.label&&(t+=` highlighted`),t}),w.selectAll(`mySlices`).data(k).enter().append(`text`).text(e=>(e.data.value/O*100).toFixed(0)+`%`).attr(`transform`,e=>`translate(`+C.centroid(e)+`)`).style(`text-anchor`,`middle`).attr(`class`,`slice`);let M=d.append(`text`).text(i.getDiagramTitle()).attr(`x`,0).attr(`y`,-200).attr(`class`,`pieTitleText`),N=[...T.entries()].map(([e,t])=>({label:e,value:t})),P=d.selectAll(`.legend`).data(N).enter().append(`g`).attr(`class`,`legend`);P.append(`rect`).attr(`width`,18).attr(`height`,18).style(`fill`,e=>j(e.label)).style(`stroke`,e=>j(e.label)),P.append(`text`).attr(`x`,22).attr(`y`,14).text(e=>i.getShowData()?`${e.label} [${e.value}]`:e.label);let F=Math.max(...P.selectAll(`text`).nodes().map(e=>e?.getBoundingClientRect().width??0)),I=450,L=490,R=N.length*22;switch(y){case`center`:P.attr(`transform`,(e,t)=>{let n=22*N.length/2,r=-F/2-22,i=t*22-n;return`translate(`+r+`,`+i+`)`});break;case`top`:I+=R,P.attr(`transform`,(e,t)=>`translate(${-F/2-22}, ${t*22-185})`),w.attr(`transform`,()=>`translate(0, ${R+22})`);break;case`bottom`:I+=R,P.attr(`transform`,(e,t)=>{let n=-F/2-22,r=t*22- -207;return`translate(`+n+`,`+r+`)`});break;case`left`:L+=22+F,P.attr(`transform`,(e,t)=>{let n=22*N.length/2;return`translate(-207,`+(t*22-n)+`)`}),w.attr(`transform`,()=>`translate(${F+18+4}, 0)`);break;default:L+=22+F,P.attr(`transform`,(e,t)=>{let n=22*N.length/2;return`translate(216,`+(t*22-n)+`)`})}let z=M.node()?.getBoundingClientRect().width??0,B=225-z/2,V=225+z/2,H=Math.min(0,B),U=Math.max(L,V)-H;u.attr(`viewBox`,`${H} 0 ${U} ${I}`),o(u,I,U,l.useMaxWidth)},`draw`)},styles:k};export{j as diagram};