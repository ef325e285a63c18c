// Draws each chart of the page, in the colors of light or dark mode.
const dark = matchMedia("(prefers-color-scheme: dark)");

async function draw() {
  for (const chart of document.querySelectorAll(".chart")) {
    const data = chart.nextElementSibling;
    const inDark = (text) => text.replace(/#[0-9A-F]{6}/g, (color) => shades[color] ?? color);
    const spec = JSON.parse(dark.matches ? inDark(data.textContent) : data.textContent);
    const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
    const theme = dark.matches ? "dark" : "light";
    await vegaEmbed(chart, spec, { mode: "vega-lite", renderer: "svg", actions, tooltip: { theme }, downloadFileName: chart.dataset.name, scaleFactor: 2 });
  }
}

// A browser that cannot shows the content in words.
function inWords(reason) {
  console.error(reason);
  for (const chart of document.querySelectorAll(".chart")) chart.textContent = chart.dataset.words;
}

load()
  .then(draw)
  .then(() => dark.addEventListener("change", draw), inWords);
