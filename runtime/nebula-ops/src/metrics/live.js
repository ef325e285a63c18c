"use strict";
// Fetches /status.json once a second and draws what has happened between two of them. Keeps the last five minutes.
load().then(() => {
  const KEPT = 300, EVERY_MS = 1000;
  const COLORS = ["#3b7dd8", "#d9822b", "#2f9e6e", "#b5489a", "#c0392b", "#7a6ff0", "#8a7a3a", "#4aa3b5"];
  const el = (id) => document.getElementById(id);

  const rate = (n) => n == null ? "–" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" : n >= 1e3 ? (n / 1e3).toFixed(1) + " k" : n.toFixed(n < 10 ? 1 : 0);
  const time = (ns) => ns == null ? "–" : ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(1) + " ms" : ns >= 1e3 ? (ns / 1e3).toFixed(1) + " µs" : ns.toFixed(0) + " ns";
  const bytes = (n) => n == null ? "–" : n >= 2 ** 30 ? (n / 2 ** 30).toFixed(2) + " GiB" : n >= 2 ** 20 ? (n / 2 ** 20).toFixed(1) + " MiB" : n >= 1024 ? (n / 1024).toFixed(1) + " KiB" : n + " B";
  const percent = (x) => x == null ? "–" : (x * 100).toFixed(x < 0.1 ? 1 : 0) + " %";
  const whole = (n) => n == null ? "–" : String(Math.round(n));

  // -- from snapshots to figures --

  const zero = (now) => ({ at_ns: now.at_ns - now.uptime_s * 1e9, offered: 0, served: 0, nacked_by: {}, engine_busy_ns: 0, cores: [], latency: { samples: 0, buckets: [] } });
  function since(times, before) {
    const old = new Map(before.samples <= times.samples ? before.buckets : []);
    return times.buckets.map(([end, count]) => [end, count - (old.get(end) || 0)]).filter(([, count]) => count > 0);
  }
  function quantiles(buckets, shares) {
    const all = buckets.reduce((sum, [, count]) => sum + count, 0);
    return shares.map((share) => {
      let seen = 0;
      for (const [end, count] of buckets) { seen += count; if (seen >= share * all) return end; }
      return null;
    });
  }
  function cores(now, before, seconds) {
    const share = (ns) => Math.min(1, ns / 1e9 / seconds);
    const engine = share((now.engine_busy_ns - before.engine_busy_ns) / Math.max(1, now.engines));
    if (now.is_inline) return [["workers (with engine)", engine]];
    const busy = now.cores.map((core, at) => share(core.busy_ns - (before.cores[at] ? before.cores[at].busy_ns : 0)));
    if (busy.length <= 6) return [["engine", engine], ...busy.map((one, at) => ["worker " + at, one])];
    // Of many cores the ends and the middle say more than a line each.
    const sorted = [...busy].sort((a, b) => a - b);
    return [["engine", engine], ["busiest worker", sorted[sorted.length - 1]], ["median worker", sorted[sorted.length >> 1]], ["idlest worker", sorted[0]]];
  }
  function change(now, last) {
    const before = last && now.offered >= last.offered && now.uptime_s >= last.uptime_s ? last : zero(now);
    const seconds = Math.max(1e-3, (now.at_ns - before.at_ns) / 1e9);
    const causes = Object.entries(now.nacked_by).map(([cause, count]) => [cause.replace("_", " "), (count - (before.nacked_by[cause] || 0)) / seconds]);
    const [p50, p90, p99, p999] = quantiles(since(now.latency, before.latency), [0.5, 0.9, 0.99, 0.999]);
    const store = now.store, old = before.store || { hits: 0, misses: 0, evictions: 0 };
    const looked = store ? store.hits - old.hits + store.misses - old.misses : 0;
    return {
      offered: (now.offered - before.offered) / seconds, served: (now.served - before.served) / seconds,
      nacked: causes.reduce((sum, [, one]) => sum + one, 0), causes, p50, p90, p99, p999, cores: cores(now, before, seconds),
      hits: looked > 0 ? (store.hits - old.hits) / looked : null,
    };
  }

  // -- charts --

  const charts = [];
  const HEIGHT = 150;
  // What a test of the page looks at.
  function measure() {
    const about = document.documentElement.dataset;
    about.charts = charts.filter((made) => made.box.querySelector("svg .mark-line")).length;
    about.wide = Math.max(0, document.documentElement.scrollWidth - innerWidth);
    about.paper = getComputedStyle(document.body).backgroundColor;
  }
  for (const [name, format] of Object.entries({ rate, time, bytes, percent, whole })) vega.expressionFunction("as_" + name, format);
  function chart(title, format, names, options = {}) {
    const box = document.createElement("section"), head = document.createElement("h2"), plot = document.createElement("div");
    box.className = "chart";
    plot.className = "plot";
    head.textContent = title;
    box.append(head, plot);
    el("charts").append(box);
    const made = { box, plot, format, names, options, rows: [], view: null };
    charts.push(made);
    made.ready = draw(made);
    return made;
  }
  async function draw(made) {
    const paint = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
    const [ink, line] = [paint("--soft"), paint("--line")];
    const dashed = (name) => /^(bound|SLO|size)/.test(name) ? [6, 5] : [1, 0];
    const scale = made.options.log ? { type: "log", nice: false } : { zero: true, nice: true, ...(made.options.top ? { domain: [0, made.options.top] } : { domainMax: { expr: "max(" + (made.options.least || 0) + ", data('rows').length ? extent(pluck(data('rows'), 'value'))[1] * 1.05 : 1)" } }) };
    const value = { field: "value", type: "quantitative", scale, axis: { title: null, formatType: "as_" + made.format.name, format: "", tickCount: 4, ...(made.format === whole ? { tickMinStep: 1 } : {}) } };
    const spec = {
      width: "container", height: HEIGHT, autosize: { type: "fit-x", contains: "padding" }, background: null,
      data: { name: "rows", values: made.rows },
      mark: { type: "line", strokeWidth: 1.7, clip: true, tooltip: true },
      encoding: {
        x: { field: "at", type: "temporal", axis: { title: null, tickCount: 5, format: "%H:%M:%S", labelOverlap: "greedy", labelSeparation: 16 } },
        y: value,
        color: { field: "name", type: "nominal", scale: { domain: made.names, range: COLORS.slice(0, made.names.length) }, legend: { title: null, orient: "bottom", columns: 3, labelLimit: 180 } },
        strokeDash: { field: "name", type: "nominal", scale: { domain: made.names, range: made.names.map(dashed) } },
        tooltip: [{ field: "name", title: "line" }, { field: "at", type: "temporal", format: "%H:%M:%S", title: "at" }, { field: "value", type: "quantitative", formatType: "as_" + made.format.name, format: "", title: "is" }],
      },
      config: { customFormatTypes: true, view: { stroke: null }, font: "system-ui, sans-serif", axis: { labelColor: ink, gridColor: line, domainColor: line, tickColor: line }, legend: { labelColor: ink } },
    };
    const embedded = await vegaEmbed(made.plot, spec, { mode: "vega-lite", renderer: "svg", actions: false });
    made.view = embedded.view;
    await made.view.runAsync();
    measure();
  }
  function push(made, at, values) {
    if (values.length !== made.names.length) return;
    // A line has no point where there is no value, and a logarithm has none of zero.
    const is = (value) => value != null && (!made.options.log || value > 0);
    const rows = values.map((value, index) => ({ at: at * 1000, name: made.names[index], value })).filter((row) => is(row.value));
    const from = (at - KEPT * EVERY_MS / 1000) * 1000;
    made.rows = made.rows.filter((row) => row.at >= from).concat(rows);
    made.ready.then(() => made.view.change("rows", vega.changeset().remove((row) => row.at < from).insert(rows)).runAsync()).then(measure, console.error);
  }

  let shown = null;
  function begin(now, what) {
    el("charts").textContent = "";
    charts.length = 0;
    const tops = { top: 1 };
    shown = {
      cores: what.cores.map(([name]) => name).join(),
      load: chart("Load (RPC/s)", rate, ["offered", "served", "NACKed"]),
      latency: chart("Latency in the server", time, ["p50", "p90", "p99", "p99.9", "SLO"], { log: true }),
      nacks: chart("NACKs by cause (RPC/s)", rate, what.causes.map(([cause]) => cause)),
      queue: chart("Queue (RPCs)", whole, ["waiting", "most, 1 to 2 s", "bound"], { least: 4 }),
      buffer: chart("Receive buffer", bytes, ["used", "most, 1 to 2 s", "size"], { least: 1024 }),
      reassembler: chart("Reassembler (RPCs of several packets)", whole, ["incomplete"], { least: 4 }),
      busy: chart("Cores", percent, what.cores.map(([name]) => name), tops),
      clients: chart("Clients", whole, ["connected"], { least: 2 }),
      store: now.store ? chart("Store: lookups that find an item", percent, ["hits"], tops) : null,
    };
  }
  function figures(now, what) {
    const list = [
      ["offered", rate(what.offered) + "/s"], ["served", rate(what.served) + "/s"], ["NACKed", percent(what.offered > 0 ? what.nacked / what.offered : 0)],
      ["p50", time(what.p50)], ["p99", time(what.p99)], ["p99.9", time(what.p999)],
      ["queue", now.queue_depth_recent + " of " + now.queue_bound], ["buffer", bytes(now.buffer_bytes_used_recent) + " of " + bytes(now.buffer_bytes)],
      ["busy", percent(what.cores.reduce((most, [, one]) => Math.max(most, one), 0))], ["clients", whole(now.clients)],
    ];
    if (now.store) list.push(["items", rate(now.store.items)], ["hits", percent(what.hits)]);
    el("figures").replaceChildren(...list.map(([name, value]) => {
      const box = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name; dd.textContent = value; box.append(dt, dd);
      return box;
    }));
  }

  // -- once a second --

  let last = null;
  function show(now) {
    const what = change(now, last), at = Date.now() / 1000;
    last = now;
    el("endpoint").textContent = document.title = now.endpoint;
    el("state").textContent = now.state;
    el("state").className = now.state === "serving" ? "serving" : "other";
    el("since").textContent = "for " + (now.uptime_s < 120 ? now.uptime_s.toFixed(0) + " s" : now.uptime_s < 7200 ? (now.uptime_s / 60).toFixed(0) + " min" : (now.uptime_s / 3600).toFixed(1) + " h") + " · " + now.workers + " worker" + (now.workers === 1 ? "" : "s");
    figures(now, what);
    if (!shown || shown.cores !== what.cores.map(([name]) => name).join() || !shown.store !== !now.store) begin(now, what);
    push(shown.load, at, [what.offered, what.served, what.nacked]);
    push(shown.latency, at, [what.p50, what.p90, what.p99, what.p999, now.slo_ns || null]);
    push(shown.nacks, at, what.causes.map(([, one]) => one));
    push(shown.queue, at, [now.queue_depth, now.queue_depth_recent, now.queue_bound < 2 ** 31 ? now.queue_bound : null]);
    push(shown.buffer, at, [now.buffer_bytes_used, now.buffer_bytes_used_recent, now.buffer_bytes]);
    push(shown.reassembler, at, [now.reassembler_entries_used]);
    push(shown.busy, at, what.cores.map(([, one]) => one));
    push(shown.clients, at, [now.clients]);
    if (shown.store) push(shown.store, at, [what.hits]);
    measure();
  }
  // Of several servers of a process one is shown.
  let server = 0;
  async function servers() {
    const list = await (await fetch("/servers.json")).json();
    el("server").replaceChildren(...list.map((endpoint, at) => new Option(endpoint, at)));
    el("which").hidden = list.length < 2;
  }
  el("server").addEventListener("change", (event) => {
    server = Number(event.target.value);
    [last, shown] = [null, null];
    el("rpcs").href = "/rpcs?server=" + server;
    el("json").href = "/status.json?server=" + server;
  });
  async function turn() {
    try {
      const asked = server, answer = await fetch("/status.json?server=" + asked, { cache: "no-store", signal: AbortSignal.timeout(4000) });
      if (!answer.ok) throw new Error(answer.status);
      const now = await answer.json();
      if (asked === server) show(now);
    } catch (error) {
      el("state").textContent = "no answer";
      el("state").className = "other";
    }
    setTimeout(turn, EVERY_MS);
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((made) => { made.ready = draw(made); }));
  servers().catch(() => {});
  turn();
}, (reason) => { document.getElementById("state").textContent = "no charts: " + reason; });
