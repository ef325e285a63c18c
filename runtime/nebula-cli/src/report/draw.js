// Draws each chart of the page over its still picture, in the colors of light or dark mode.
const dark = matchMedia("(prefers-color-scheme: dark)");

async function load() {
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (char) => char.charCodeAt(0));
  const opened = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  // Evaluated as a script of the page, not of this function.
  (0, eval)(await new Response(opened).text());
}

async function draw() {
  for (const chart of document.querySelectorAll(".chart")) {
    const [data, still] = [chart.nextElementSibling, chart.nextElementSibling.nextElementSibling];
    const inDark = (text) => text.replace(/#[0-9A-F]{6}/g, (color) => shades[color] ?? color);
    const spec = JSON.parse(dark.matches ? inDark(data.textContent) : data.textContent);
    const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
    const theme = dark.matches ? "dark" : "light";
    chart.hidden = false;
    await vegaEmbed(chart, spec, { mode: "vega-lite", renderer: "svg", actions, tooltip: { theme }, downloadFileName: chart.dataset.name, scaleFactor: 2 });
    still.hidden = true;
  }
}

// In a browser that cannot, the still pictures stay.
load()
  .then(draw)
  .then(() => dark.addEventListener("change", draw), console.error);
