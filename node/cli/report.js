/* report.js - draws the page from its data; report_data.h says what stands in that.
   No library, nothing loaded: the page works from a file. */
"use strict";
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const V = D.verdict, END = Math.max(V.makespan, 1);
const STATES = ["run a kernel", "wait for a vote", "wait for data", "program or moot", "open or close",
  "suspected by a peer"];
const $ = (id) => document.getElementById(id);

/* --- Small things --- */

const el = (name, attributes, ...children) => {
  const svg = /^(svg|g|rect|line|path|text|circle|title|polyline)$/.test(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  e.append(...children);
  return e;
};
const time = (us) => {
  const a = Math.abs(us);
  return a === 0 ? "0" : a >= 1e6 ? (us / 1e6).toFixed(3) + " s" : a >= 1e3 ? (us / 1e3).toFixed(3) + " ms"
    : us.toFixed(a < 10 ? 2 : 1) + " µs";
};
const percent = (share) => (100 * share).toFixed(1) + " %";
const count = (n, word) => n + " " + word + (n === 1 ? "" : "s");
const table = (heads, rows) => {
  const cell = (name, text, number) =>
    el(name, number ? { class: "number" } : {}, text instanceof Node ? text : String(text));
  const numbers = heads.map((h) => h.startsWith("#"));
  return el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((h, i) =>
      cell("th", numbers[i] ? h.slice(1) : h, numbers[i])))),
    el("tbody", {}, ...rows.map((row) =>
      el("tr", {}, ...row.map((c, i) => cell("td", c, numbers[i]))))));
};
const code = (text) => el("code", {}, text);
/* Round steps for an axis of about n marks. */
const steps = (from, to, n) => {
  const raw = (to - from) / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= raw), marks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) marks.push(at);
  return marks;
};
const width = () => Math.max(320, Math.min(1150, document.body.clientWidth - 52));

/* --- The verdict --- */

const verdict = () => {
  const bold = (text) => el("b", {}, text);
  const line = $("verdict");
  const bad = V.dead + V.removed;
  line.append(V.error ? "Ended with " + V.error + " after " : "Took ", bold(time(V.makespan)),
    " on " + count(V.ranks, "rank") + ". ", ...(V.elements
      ? ["The critical path is not known: inputs of elements of arrays are not recorded."]
      : ["The critical path is ", bold(time(V.path)),
        ": with these kernels no run can be shorter."]),
    " Kernels ran for ", bold(time(V.work)),
    "; ranks waited, or had closed, for ", bold(percent(V.idle)),
    " of their time since moot_open. ",
    bold(count(V.tasks, "task")), " (" + count(V.runs, "run") +
    (V.elements ? ", " + V.elements + " of them of array elements" : "") +
    (V.failed ? ", " + V.failed + " failed" : "") +
    (V.found ? ", " + V.found + " not run: found in the checkpoint" : "") + "), ",
    bold(count(V.votes, "vote")), ", ",
    bold(count(V.dead, "death")), V.removed ? ", " + count(V.removed, "removal") : "", ", ",
    bold(count(V.stalls, "stall")), ".");
  if (bad) line.dataset.deaths = bad;
  const lacks = [];
  D.ranks.forEach((r, i) => {
    if (!r.present) lacks.push(r.unread
      ? "The trace of rank " + i + " was not read: " + r.unread + "."
      : "Rank " + i + " left no trace.");
    else if (r.torn) lacks.push("The trace of rank " + i + " is torn: its last " + r.torn +
      " bytes were not read.");
    else if (!r.whole) lacks.push("The trace of rank " + i + " breaks off at " +
      time(r.last) + ".");
  });
  if (V.backward) lacks.push("The clocks of the hosts drifted: " +
    count(V.backward, "message") + " came before being sent.");
  $("lacks").textContent = lacks.join("\n");
};

/* --- The timeline --- */

const LEFT = 84, AXIS = 24;
const view = { from: 0, to: END };
const rowHeight = () => D.ranks.length > 64 ? 10 : D.ranks.length > 16 ? 16 : 26;

const x = (at) => LEFT + (at - view.from) / (view.to - view.from) * (width() - LEFT - 8);
const back = (px) => view.from + (px - LEFT) / (width() - LEFT - 8) * (view.to - view.from);

/* A bar for what is at least a pixel wide; what is less shares one, as its longest. */
const bars = (items, draw) => {
  let pixel = -1, held = null;
  const give = () => { if (held) draw(held.a, held.b, held.item); held = null; };
  for (const item of items) {
    const a = x(Math.max(item.from, view.from)), b = x(Math.min(item.to, view.to));
    if (item.to <= view.from || item.from >= view.to) continue;
    if (b - a >= 1) { give(); pixel = -1; draw(a, b, item); continue; }
    if (Math.floor(a) !== pixel || !held) {
      give();
      pixel = Math.floor(a);
      held = { a: pixel, b: pixel + 1, item, most: b - a };
    } else if (b - a > held.most) { held.item = item; held.most = b - a; }
  }
  give();
};

const segments = D.slot ? null : D.timeline.map((flat) => {
  const list = [];
  for (let i = 0; i < flat.length; i += 5)
    list.push({ from: flat[i], to: flat[i + 1], state: flat[i + 2], task: flat[i + 3],
      element: flat[i + 4] });
  return list;
});
const say = (rank, item) => {
  const what = item.task < 0 ? "" :
    (item.element ? "element " + (item.element - 1) + " of " : "") + D.names[item.task];
  $("timeline-told").textContent = "rank " + rank + ": " + STATES[item.state] +
    (what ? (item.state ? " of or before " : ", ") + what : "") +
    ", " + time(item.to - item.from) +
    " from " + time(item.from);
};

const drawSlots = (svg, rank, top, height) => {
  const flat = D.timeline[rank], slots = flat.length / 5;
  const first = Math.max(0, Math.floor(view.from / D.slot));
  const last = Math.min(slots, Math.ceil(view.to / D.slot));
  for (let s = first; s < last; s++) {
    const a = x(Math.max(s * D.slot, view.from)), b = x(Math.min((s + 1) * D.slot, view.to));
    for (let state = 0, y = top + height; state < 5; state++) {
      const part = height * flat[5 * s + state] / 100;
      y -= part;
      if (part > 0) svg.append(el("rect", { x: a, y, width: Math.max(.5, b - a + .3),
        height: part, class: "s" + state }));
    }
  }
};

const drawRank = (svg, rank, top, height) => {
  const r = D.ranks[rank];
  svg.append(el("text", { x: LEFT - 8, y: top + height / 2 + 4, "text-anchor": "end" },
    "rank " + rank));
  const put = (y, h) => (a, b, item) => {
    const bar = el("rect", { x: a, y, width: b - a, height: h, class: "s" + item.state });
    bar.addEventListener("pointerenter", () => say(rank, item));
    svg.append(bar);
  };
  if (D.slot) drawSlots(svg, rank, top, height);
  else {
    bars(segments[rank], put(top, height));
  }
  for (const [from, to] of r.suspected)
    if (to > view.from && from < view.to)
      svg.append(el("rect", { x: x(Math.max(from, view.from)), y: top + height - 4, height: 4,
        width: Math.max(1, x(Math.min(to, view.to)) - x(Math.max(from, view.from))),
        class: "suspect" }, el("title", {}, "suspected by a peer")));
  if (r.lost !== undefined && r.lost >= view.from && r.lost <= view.to) {
    const at = x(r.lost);
    svg.append(el("line", { x1: at, x2: at, y1: top - 1, y2: top + height + 1,
      class: "lost" }), el("text", { x: at + 4, y: top + height / 2 + 4 },
      r.died ? "died" : "removed"));
  }
};

const drawTimeline = () => {
  const box = $("timeline-chart"), each = rowHeight(), w = width();
  const h = D.ranks.length * (each + 4) + AXIS + 8;
  const svg = el("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  for (const mark of steps(view.from, view.to, w / 120)) {
    svg.append(el("line", { x1: x(mark), x2: x(mark), y1: 0, y2: h - AXIS, class: "grid" }),
      el("text", { x: x(mark), y: h - 8, "text-anchor": "middle", class: "soft" },
        time(mark)));
  }
  D.ranks.forEach((_, rank) => drawRank(svg, rank, 6 + rank * (each + 4), each));
  box.replaceChildren(svg);
};

const look = (from, to) => {
  const least = Math.max(END / 1e7, .01), size = Math.max(least, Math.min(END, to - from));
  view.from = Math.max(0, Math.min(END - size, from));
  view.to = view.from + size;
  drawTimeline();
};
const zoom = (factor, at) =>
  look(at - (at - view.from) * factor, at + (view.to - at) * factor);

const timelineInput = () => {
  const box = $("timeline-chart");
  let begun = null, pick = null;
  const place = (event) => event.clientX - box.getBoundingClientRect().left;
  box.addEventListener("pointerdown", (event) => { begun = place(event); });
  box.addEventListener("pointermove", (event) => {
    if (begun === null || !box.firstChild) return;
    if (!pick || !pick.isConnected) {
      pick = el("rect", { class: "pick", y: 0, height: "100%" });
      box.firstChild.append(pick);
    }
    pick.setAttribute("x", Math.min(begun, place(event)));
    pick.setAttribute("width", Math.abs(place(event) - begun));
  });
  window.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const a = back(Math.min(begun, place(event))), b = back(Math.max(begun, place(event)));
    const moved = Math.abs(place(event) - begun) > 4;
    begun = pick = null;
    if (moved) look(a, b);
  });
  box.addEventListener("dblclick", () => look(0, END));
  box.addEventListener("keydown", (event) => {
    const size = view.to - view.from, middle = view.from + size / 2;
    const does = { "+": () => zoom(.5, middle), "=": () => zoom(.5, middle),
      "-": () => zoom(2, middle), "0": () => look(0, END), "Home": () => look(0, size),
      "End": () => look(END - size, END),
      "ArrowLeft": () => look(view.from - size / 5, view.to - size / 5),
      "ArrowRight": () => look(view.from + size / 5, view.to + size / 5) }[event.key];
    if (does && !event.ctrlKey && !event.metaKey) { event.preventDefault(); does(); }
  });
};

const timeline = () => {
  $("legend").append(...STATES.map((text, i) =>
    el("span", {}, el("i", { class: "s" + i }), text)));
  if (D.slot) $("timeline-merged").textContent = "There are " + D.segments +
    " kernels and waits, too many to draw one by one: each bar is " + time(D.slot) +
    ", divided by the share of each state.";
  const opened = Math.min(...D.ranks.map((r) => (r.present ? r.opened : END)));
  if (opened > END / 4 && opened < END) {
    view.from = opened - (END - opened) / 50;
    $("timeline-merged").textContent += " The view begins where the first moot_open " +
      "returned, " + time(opened) + " after it was called; 0 shows all.";
  }
  const sum = (i) => D.ranks.reduce((s, r) => s + r.totals[i], 0);
  const all = D.ranks.reduce((s, r) => s + r.totals.reduce((a, b) => a + b, 0), 0) || 1;
  const row = (name, t, whole) => [name, ...t.map((us) => time(us)),
    percent(t[0] / (whole || 1))];
  const rows = D.ranks.length > 64 ? [] : D.ranks.map((r, i) =>
    row("rank " + i, r.totals, r.totals.reduce((a, b) => a + b, 0)));
  rows.push(row("all", [0, 1, 2, 3, 4].map(sum), all));
  $("totals").append(table(["", ...STATES.slice(0, 5).map((s) => "#" + s),
    "#share of kernels"], rows));
  drawTimeline();
  timelineInput();
};

/* --- Why ranks waited --- */

const waits = () => {
  if (D.causes.length === 0) {
    $("waits-table").textContent = "No rank waited.";
    return;
  }
  const rows = D.causes.map(([state, kernel, site, us, n]) =>
    [STATES[state], kernel || "a task nobody's trace names", code(site), time(us), n,
      time(us / n)]);
  if (D.causes_rest[1])
    rows.push(["others", "", "", time(D.causes_rest[0]), D.causes_rest[1],
      time(D.causes_rest[0] / D.causes_rest[1])]);
  $("waits-table").append(table(["ranks had to", "of kernel", "spawned at", "#in all",
    "#times", "#mean"], rows));
};

/* --- Ready tasks --- */

/* Charts of what can happen only when a moot is open begin there. */
const sinceOpen = (us) =>
  LEFT + (us - D.ready_from) / Math.max(1, END - D.ready_from) * (width() - LEFT - 40);

const ready = () => {
  const w = width(), h = 130, most = Math.max(1e-9, ...D.ready);
  const at = (i) => LEFT + i / D.ready.length * (w - LEFT - 40);
  const y = (n) => h - AXIS - n / most * (h - AXIS - 12);
  const svg = el("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  for (const mark of steps(0, most, 4))
    svg.append(el("line", { x1: LEFT, x2: w - 8, y1: y(mark), y2: y(mark), class: "grid" }),
      el("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end", class: "soft" },
        String(+mark.toPrecision(3))));
  for (const mark of steps(D.ready_from, END, w / 120))
    svg.append(el("text", { x: sinceOpen(mark), y: h - 8,
      "text-anchor": "middle", class: "soft" }, time(mark)));
  let d = `M${LEFT},${y(0)}`;
  D.ready.forEach((n, i) => { d += `L${at(i)},${y(n)}L${at(i + 1)},${y(n)}`; });
  svg.append(el("path", { d: d + `L${at(D.ready.length)},${y(0)}Z`, class: "area" }));
  $("ready-chart").append(svg);
};

/* --- The critical path --- */

const path = () => {
  $("path-told").textContent = (V.elements ? "Of tasks alone, without the elements of " +
    "arrays, whose inputs are not recorded. " : "") + "The heaviest chain of inputs: " +
    count(D.path_count, "task") + ", " + time(V.path) + " in kernels, " +
    percent(V.path / END) + " of the whole." +
    (D.path.length < D.path_count ? " The first " + D.path.length + " are shown." : "");
  $("path-table").append(table(["task", "spawned at", "#rank", "#began", "#ran",
    "#after it could", "vote"], D.path.map(([name, site, rank, start, ran, gap, vote]) =>
    [name, code(site), rank, time(start), time(ran), time(gap), vote])));
};

/* --- What failed --- */

const failures = () => {
  if (D.failures.length === 0) {
    $("failures").remove();
    return;
  }
  const rows = D.failures.slice().sort((a, b) => a[2] - b[2]).map(
    ([name, rank, at, error]) => [time(at), rank, name, error]);
  if (D.failure_count > rows.length)
    rows.push(["", "", "and " + (D.failure_count - rows.length) + " more", ""]);
  $("failures-table").append(table(["#when", "#rank", "what", "error"], rows));
};

/* --- The task graph --- */

const graph = () => {
  const G = D.graph, tasks = G.nodes.reduce((n, node) => n + node[3], 0);
  const diverge = G.nodes.reduce((n, node) => n + node[4], 0);
  $("graph-told").textContent = (G.nodes.length === 0 && V.tasks !== 0
    ? "There are too many kinds of tasks to draw. "
    : G.merged ? count(tasks, "task") + " in " + G.nodes.length + " boxes" +
      (G.merged === 1 ? ": of one kernel, place, depth and spawners each. "
        : ": of one kernel and place each. ")
      : count(tasks, "task") + ". ") +
    (diverge ? diverge + " were not spawned by all ranks: red frames, with who did. " : "") +
    "Orange: a vote gave it its owner.";
  const BOX = 150, HIGH = 40, ROWS = 14, depths = [], columns = [], place = [];
  G.nodes.forEach((node, i) => (depths[node[2]] = depths[node[2]] || []).push(i));
  depths.forEach((depth) => { /* a long column stands as several */
    for (let i = 0; i < depth.length; i += ROWS) columns.push(depth.slice(i, i + ROWS));
  });
  const shown = columns.length;
  columns.forEach((column, k) =>
    column.forEach((i) => { place[i] = { x: 10 + k * (BOX + 60) }; }));
  const rows = Math.max(1, ...columns.map((c) => c.length));
  const w = Math.max(width(), 20 + shown * (BOX + 60)), h = 20 + rows * (HIGH + 12);
  columns.forEach((column) => column.forEach((i, row) => {
    place[i].y = 10 + (row + (rows - column.length) / 2) * (HIGH + 12);
  }));
  const svg = el("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  for (let i = 0; i < G.edges.length; i += 3) {
    const a = place[G.edges[i]], b = place[G.edges[i + 1]], n = G.edges[i + 2];
    const x1 = a.x + BOX, y1 = a.y + HIGH / 2, y2 = b.y + HIGH / 2;
    svg.append(el("path", { class: "edge", "stroke-width": Math.min(5, 1 + Math.log10(n)),
      d: `M${x1},${y1}C${x1 + 30},${y1} ${b.x - 30},${y2} ${b.x},${y2}` }));
  }
  G.nodes.forEach((node, i) => {
    const [name, site, , n, diverges, rank, ran, spawners, voted] = node, at = place[i];
    const cut = name.length > 22 ? name.slice(0, 21) + "…" : name;
    const about = (n > 1 ? n + " tasks, " : "") + (rank >= 0 ? "rank " + rank + ", " : "") +
      time(ran);
    svg.append(el("g", { class: "node" + (diverges ? " diverges" : "") +
      (voted ? " voted" : "") }, el("title", {}, name + "\n" + site + "\nspawned by " +
      (spawners || "a task")), el("rect", { x: at.x, y: at.y, width: BOX, height: HIGH, rx: 4 }),
    el("text", { x: at.x + 6, y: at.y + 16 }, cut),
    el("text", { x: at.x + 6, y: at.y + 32, class: "soft" },
      about.replace(" tasks", "×") + (diverges ? " by " + spawners : ""))));
  });
  $("graph-chart").append(svg);
};

/* --- Votes --- */

const votes = () => {
  const n = D.votes.length / 5;
  $("votes-told").textContent = count(V.votes, "vote") +
    (D.evidence.length ? ": " + D.evidence.map(([e, k]) => k + " " + e).join(", ") : "") +
    ". " + (n ? "How long each took from the first motion for its task. " : "") +
    (n < D.voted ? "The first " + n + " tasks are drawn. " : "") +
    (V.timeout ? n ? "The line is the vote timeout, " + time(V.timeout) + "."
      : "The vote timeout was " + time(V.timeout) + "."
      : "There was no vote timeout: votes go by evidence alone.");
  if (n === 0) { $("votes-chart").remove(); return; }
  const w = width(), h = 200, took = [];
  for (let i = 0; i < D.votes.length; i += 5) took.push(Math.max(.1, D.votes[i + 1]));
  const low = Math.log10(Math.min(...took)) - .1;
  const high = Math.log10(Math.max(...took, V.timeout || 0)) + .1;
  const y = (us) => h - AXIS - (Math.log10(us) - low) / (high - low) * (h - AXIS - 10);
  const at = sinceOpen;
  const svg = el("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  for (let p = Math.ceil(low); p <= high; p++)
    svg.append(el("line", { x1: LEFT, x2: w - 8, y1: y(10 ** p), y2: y(10 ** p),
      class: "grid" }), el("text", { x: LEFT - 8, y: y(10 ** p) + 4, "text-anchor": "end",
      class: "soft" }, time(10 ** p)));
  for (const mark of steps(D.ready_from, END, w / 120))
    svg.append(el("text", { x: at(mark), y: h - 8, "text-anchor": "middle", class: "soft" },
      time(mark)));
  took.forEach((us, i) => svg.append(el("circle", { cx: at(D.votes[5 * i]), cy: y(us), r: 3,
    class: "dot" }, el("title", {}, D.evidence_names[D.votes[5 * i + 2]] + ", " + time(us) +
      ": rank " + D.votes[5 * i + 3] + " gave it to rank " + D.votes[5 * i + 4]))));
  if (V.timeout) svg.append(el("line", { x1: LEFT, x2: w - 8, y1: y(V.timeout),
    y2: y(V.timeout), class: "limit" }));
  $("votes-chart").append(svg);
};

/* --- Faults, deaths, stalls --- */

const faults = () => {
  if (D.faults.length)
    $("faults-told").append(table(["rule of the plan", "#fired"],
      D.faults.map(([word, n]) => [code(word), n])));
  const rows = D.events.slice().sort((a, b) => a[0] - b[0]).map(([at, rank, word, n, text,
    error]) => [time(at), rank,
    word + (/rank|view|fault|of$|without/.test(word) ? " " + (/of$|without/.test(word)
      ? "rank " : word === "fault" ? "of rule " : "") + (word === "fault" ? n + 1 : n) : "") +
      (error ? " (" + error + ")" : ""), text ? el("pre", {}, text) : ""]);
  if (rows.length) {
    if (D.event_count > rows.length) rows.push(["", "", "and " +
      (D.event_count - rows.length) + " more", ""]);
    $("events-table").append(table(["when", "#rank", "what", ""], rows));
  } else $("events-table").textContent = "None: nothing struck, nobody died, no wait stalled.";
};

/* --- The checkpoint, snapshots and signatures --- */

const checkpoint = () => {
  const differing = D.events.filter(([, , word]) => word.startsWith("finds another"));
  if (!V.found && D.snapshots.length === 0 && !D.agreed && differing.length === 0) {
    $("checkpoint").remove();
    return;
  }
  const made = D.snapshots.filter((row) => !row[4]).length;
  const told = [];
  if (V.found) told.push(count(V.found, "task") + " not run: found in the checkpoint.");
  if (D.snapshots.length) told.push(count(made, "snapshot") + " made" +
    (made < D.snapshots.length ? "; a rank could not write its part " +
      count(D.snapshots.length - made, "time") : "") + ".");
  if (D.agreed) told.push("The latest step at which all ranks were seen to agree on their state: " +
    (D.agreed - 1) + ".");
  const first = differing.sort((a, b) => a[0] - b[0])[0];
  if (first) told.push("The first to differ: " + first[4]);
  for (const text of told) $("checkpoint-told").append(el("p", {}, text));
  if (D.snapshots.length) {
    const rows = D.snapshots.slice().sort((a, b) => a[0] - b[0]).map(
      ([at, rank, text, us, error]) => [time(at), rank, error ? "" : code(text), time(us),
        error ? error + ": " + text : "made"]);
    if (D.snapshot_count > rows.length)
      rows.push(["", "", "", "", "and " + (D.snapshot_count - rows.length) + " more"]);
    $("snapshots-table").append(table(["#when", "#by rank", "snapshot", "#took", "outcome"],
      rows));
  }
};

/* --- Sessions and process sets --- */

/* "0-2, 5" */
const ranges = (ranks) => {
  const runs = [];
  for (const rank of ranks) {
    const last = runs[runs.length - 1];
    if (last && last[1] === rank - 1) last[1] = rank;
    else runs.push([rank, rank]);
  }
  return runs.map(([a, b]) => a === b ? String(a) : a + "-" + b).join(", ") || "none";
};

const sessions = () => {
  const S = D.sessions.slice().sort((a, b) => a[1] - b[1]);
  if (S.length === 0) {
    $("sessions").remove();
    return;
  }
  const more = (n, word) => n ? " The page has no room for " + count(n, "more " + word) + "." : "";
  $("sessions-told").textContent = count(S.length, "session") + ", " +
    D.changes.length + " came or went, " +
    count(D.sets.length, "process set") + "." + more(D.sessions_rest, "session") +
    more(D.sets_rest, "set");
  $("sessions-table").append(table(["#session", "#began", "#lasted", "why it began", "#size",
    "ranks"], S.map(([at, n, why, ranks], i) => [n, time(at),
    time((i + 1 < S.length ? S[i + 1][0] : END) - at), why, ranks.length, ranges(ranks)])));
  if (D.changes.length)
    $("changes-table").append(el("h3", {}, "Who came and went"),
      table(["#when", "#rank", "what", ""], D.changes.slice().sort((a, b) => a[0] - b[0])
        .map(([at, rank, word, text]) => [time(at), rank, word, text])));
  if (D.sets.length)
    $("sets-table").append(el("h3", {}, "Process sets"),
      table(["#set", "name", "#defined", "ranks", "valid"], D.sets.map(
        ([at, n, name, ranks, end]) => [n, code(name), time(at), ranges(ranks),
          end.length === 0 ? "to the end" : "until " + time(end[0]) +
            (end[2] < 0 ? ": " + end[1] : ": rank " + end[2] + " " + end[1])])));
};

/* --- How it was run --- */

const settings = () => {
  const first = D.ranks.find((r) => r.present);
  const facts = [["command", code(D.command)],
    ["began", new Date(D.wall).toISOString()],
    ["moot", first.version + ", wire version " + first.wire + ", transport " + D.transport],
    ["compiler", first.compiler]];
  $("settings-told").append(table(["", ""], facts), el("h3", {}, "Ranks"),
    table(["#rank", "host", "#process", "incarnation", "#clock", "ended"],
      D.ranks.map((r, i) => [i, r.host, r.pid, code(r.uid), time(r.offset),
        r.lost !== undefined ? (r.died ? "died, seen at " : "removed at ") + time(r.lost)
          : !r.whole ? "not known" : r.error || "well"])),
    el("h3", {}, "Knobs"), table(["knob", "value", "from"],
      D.knobs.map(([name, value, origin]) => [code(name), code(value), origin])));
};

for (const part of [verdict, timeline, failures, waits, ready, path, graph, votes, faults,
  checkpoint, sessions, settings])
  part();
let resized = 0;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(drawTimeline, 100);
});
document.documentElement.dataset.drawn = "yes";
})();
