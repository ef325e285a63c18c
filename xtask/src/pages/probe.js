// Runs in a page: draws, points at a mark, exports, and leaves what it found as the page's text.
(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const charts = [...document.querySelectorAll(".chart")];
  const drawn = () => document.querySelectorAll(".chart svg.marks").length;
  for (let tries = 0; tries < 200 && drawn() < charts.length; tries++) await wait(50);
  await wait(300);
  const found = { charts: charts.length, drawn: drawn(), tips: 0, svg: 0, png: 0, wide: 0 };
  found.wide = document.documentElement.scrollWidth - innerWidth;
  found.paper = getComputedStyle(document.body).backgroundColor;
  for (const chart of charts) {
    const mark = chart.querySelector(".mark-symbol.role-mark path, .mark-rect.role-mark path");
    if (!mark) continue;
    const at = mark.getBoundingClientRect();
    const where = { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true };
    for (const [kind, name] of [[PointerEvent, "pointermove"], [PointerEvent, "pointerover"], [MouseEvent, "mousemove"], [MouseEvent, "mouseover"]]) {
      mark.dispatchEvent(new kind(name, where));
    }
    await wait(100);
    const tip = document.querySelector("#vg-tooltip-element");
    if (tip && tip.innerText.trim()) found.tips += 1;
    for (const link of chart.querySelectorAll(".vega-actions a")) {
      link.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
      for (let tries = 0; tries < 40 && !/^(blob|data):/.test(link.href); tries++) await wait(50);
      if (link.download.endsWith(".svg") && link.href.startsWith("blob:")) found.svg += 1;
      if (link.download.endsWith(".png") && link.href.startsWith("data:image/png")) found.png += 1;
    }
  }
  document.body.innerHTML = '<pre id="found"></pre>';
  document.querySelector("#found").textContent = JSON.stringify(found);
})();
