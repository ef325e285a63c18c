// Unpacks the library that the page has with it: afterwards `vega` and `vegaEmbed` are there.
async function load() {
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (char) => char.charCodeAt(0));
  const opened = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  // Evaluated as a script of the page, not of this function.
  (0, eval)(await new Response(opened).text());
}
