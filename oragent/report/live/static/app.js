import { button, card, command, fill, h } from "./dom.js";
import { ask, EMBEDDED, follow, pageAddress, Run } from "./data.js";
import { archive, lineage } from "./structure.js";
import { candidate, candidates } from "./candidates.js";
import { compare } from "./compare.js";
import { model, solutions, trust } from "./evidence.js";
import { now, overview } from "./overview.js";
import { plural, shellWord } from "./format.js";
import { steering } from "./steering.js";

const VIEWS = [["", "Overview"], ["candidates", "Candidates"], ["lineage", "Lineage"], ["archive", "Archive"], ["model", "Model"], ["trust", "Trust"], ["solutions", "Solutions"], ["compare", "Compare"], ["steer", "Steer"], ["settings", "Settings"]];
const REDRAW_MS = 10000;
const LIVE_VIEWS = new Set(["", "candidates", "steer"]);
const top = /** @type {HTMLElement} */ (document.getElementById("top"));
const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** @type {{run: Run | null, runs: any[], root: string, steering: boolean, stop: () => void, refresh: (() => void) | null, isLive: boolean, shown: string}} */
const state = { run: null, runs: [], root: "", steering: false, stop: () => {}, refresh: null, isLive: false, shown: "" };

/** The address: run, view and query. */
function where() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decodeURIComponent);
  const run = EMBEDDED ? "run" : parts[0] === "run" || parts[0] === "page" ? parts[1] || "" : "";
  const rest = EMBEDDED ? parts.filter(Boolean) : parts.slice(2);
  const view = rest[0] === "overview" ? "" : rest[0] || "";
  return { kind: EMBEDDED ? "run" : parts[0] || "", run, view, id: rest[1] || "", query: new URLSearchParams(query || "") };
}

/** @param {string} view */
const link = (view) => (EMBEDDED ? `#/${view}` : `#/run/${encodeURIComponent(state.run?.id || "")}/${view}`);

/** @param {Record<string, string>} change */
function remember(change, isQuiet = false) {
  const at = where();
  for (const [name, value] of Object.entries(change)) { if (value) at.query.set(name, value); else at.query.delete(name); }
  const address = `${link(at.view + (at.id ? `/${at.id}` : ""))}${at.query.toString() ? `?${at.query}` : ""}`;
  if (isQuiet) history.replaceState(null, "", address);
  else location.hash = address;
}

function drawTop() {
  const at = where();
  const theme = button(document.documentElement.dataset.theme === "dark" ? "Light" : "Dark", () => {
    document.documentElement.dataset.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    void show();
  }, { "aria-label": "Change between light and dark" });
  const name = state.run?.summary ? [h("span", { class: "name" }, `${state.run.summary.problem} · ${state.run.summary.name}`), h("span", { class: `badge ${state.run.summary.state}` }, state.run.summary.state), state.run.summary.asked.length && !EMBEDDED ? h("a", { class: "badge bad", href: link("steer") }, "a prompt waits for you") : null, h("span", { class: "note" }, [state.run.summary.strategy, state.run.summary.model].filter(Boolean).join(" with "))] : h("span", { class: "name" }, state.root || "oragent");
  fill(top, h("div", { class: "bar" }, EMBEDDED ? null : h("a", { href: "#/" }, "Runs"), name, h("span", { class: "push" }), EMBEDDED || !state.run || state.isLive ? null : h("span", { class: "badge bad" }, "not connected"), theme),
    state.run?.summary ? h("nav", { class: "tabs", "aria-label": "Views" }, VIEWS.filter(([view]) => !EMBEDDED || !["compare", "steer"].includes(view)).map(([view, title]) => h("a", { href: link(view), "aria-current": at.view === view || (view === "candidates" && at.view === "candidate") ? "page" : null }, title))) : null);
  const tabs = top.querySelector("nav"), active = /** @type {HTMLElement | null} */ (top.querySelector("[aria-current]"));
  if (tabs && active) tabs.scrollLeft = active.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - active.offsetWidth) / 2; // on a narrow screen
}

const KINDS = ["search", "comparison", "study", "formulation", "conversation", "workspace"];

/** @param {any} item */
const addressOf = (item) => `#/${item.kind === "search" ? "run" : "page"}/${encodeURIComponent(item.id)}`;

/** @param {any} item */
function entry(item) {
  return h("a", { href: addressOf(item) }, h("div", { class: "card" }, h("strong", {}, item.id), item.running ? h("span", { class: "badge running" }, "running") : null,
    item.score ? h("span", { class: "num" }, `${item.score} `) : null, h("span", { class: "note" }, ` changed ${new Date(item.changed * 1000).toLocaleString()}${item.kind !== "search" && !item.page ? "; no page yet" : ""}`)));
}

async function showList() {
  const found = await ask("/api/runs");
  Object.assign(state, { runs: found.runs, root: found.root, steering: found.steering });
  document.title = "Runs · oragent";
  /** @type {Map<string, any[]>} */ const kinds = new Map(KINDS.map((kind) => [kind, []]));
  for (const item of found.runs) kinds.set(item.kind, [...(kinds.get(item.kind) || []), item]);
  const present = [...kinds].filter(([, items]) => items.length);
  fill(main, h("h1", {}, "Runs"), found.runs.length ? null : h("p", { class: "empty" }, `There is no run below ${found.root} yet. Begin one: oragent run PROBLEM.`),
    present.map(([kind, items]) => card(`${kind[0].toUpperCase()}${kind.slice(1)} (${items.length})`, h("div", { class: "runs" }, items.slice(0, 50).map(entry)), items.length > 50 ? h("details", {}, h("summary", {}, `${items.length - 50} more`), h("div", { class: "runs" }, items.slice(50).map(entry))) : null)));
}

/** The page of a folder that is no search, in a frame below the header. @param {string} id */
async function showPage(id) {
  Object.assign(state, await ask("/api/runs"));
  const item = state.runs.find((other) => other.id === id), path = id === "." ? state.root : `${state.root}/${id}`;
  const inside = state.runs.filter((other) => other.kind === "search" && (id === "." || other.id.startsWith(`${id}/`)));
  document.title = `${id} · oragent`;
  if (!item) { fill(main, h("p", { class: "error" }, `There is no run ${id} below ${state.root}.`)); return; }
  fill(main, h("h1", {}, item.id, h("span", { class: "badge" }, item.kind)),
    item.page ? h("iframe", { class: "page", src: pageAddress(id, item.page), title: `page of ${id}`, sandbox: "allow-popups" }) : h("p", { class: "empty" }, "It has no page yet. This command writes it:"),
    card("", h("h2", {}, item.page ? "Write the page anew" : "Write the page"), command(`oragent report ${shellWord(path)}`), h("h2", {}, "In the terminal"), command(`oragent show ${shellWord(path)}`)),
    inside.length ? card(`Searches in it (${inside.length})`, inside.length > 1 ? h("p", {}, h("a", { href: `${addressOf(inside[0])}/compare?${new URLSearchParams({ with: inside.slice(1).map((other) => other.id).join(",") })}` }, "Compare them")) : null, h("div", { class: "runs" }, inside.slice(0, 200).map(entry))) : null);
}

/** What makes a view outdated. @param {Run} run */
const stateOf = (run) => JSON.stringify([run.count, run.summary.state, run.summary.asked.map((/** @type {any} */ asked) => asked.key), run.summary.steering, run.summary.waiting]);

/** @param {string} id */
async function openRun(id) {
  state.stop();
  const run = new Run(id);
  state.run = run;
  let painted = false;
  await run.update(() => { if (!painted && run.best >= 0) { painted = true; void draw(); } });
  if (where().query.get("follow") === "0") { state.stop = () => {}; state.isLive = true; return; }
  let busy = false, again = false, drawn = Date.now();
  const update = async () => {
    if (busy || document.hidden) { again = true; return; }
    busy = true;
    do {
      again = false;
      const before = stateOf(run);
      try { await run.update(); } catch (problem) { break; }
      drawTop();
      // The list of what runs changes every second: the rest of the overview is drawn again less often.
      if (stateOf(run) !== before || (where().view === "" && Date.now() - drawn > REDRAW_MS)) { drawn = Date.now(); refresh(); } else if (where().view === "") document.getElementById("now")?.replaceWith(now(run, link));
    } while (again);
    busy = false;
  };
  let wasOpen = false;
  state.stop = follow(id, () => { if (wasOpen) void update(); wasOpen = true; }, (isLive) => { state.isLive = isLive; drawTop(); });
  const timer = EMBEDDED ? 0 : setInterval(() => { if (run.summary?.state === "running") void update(); }, 10000);
  const onShown = () => { if (!document.hidden && again) void update(); };
  document.addEventListener("visibilitychange", onShown);
  const stop = state.stop;
  state.stop = () => { stop(); clearInterval(timer); document.removeEventListener("visibilitychange", onShown); };
}

function refresh() {
  if (where().view === "steer" && [...main.querySelectorAll("textarea")].some((field) => field.value)) return; // somebody types
  if (!LIVE_VIEWS.has(where().view) || ["INPUT", "TEXTAREA"].includes(document.activeElement?.tagName || "")) { state.refresh?.(); return; }
  if (state.refresh) state.refresh(); else void draw();
}

async function draw() {
  const at = where(), run = /** @type {any} */ (state.run);
  drawTop();
  state.refresh = null;
  const scroll = state.shown === location.hash.split("?")[0] ? scrollY : 0;
  state.shown = location.hash.split("?")[0];
  document.title = `${VIEWS.find(([view]) => view === at.view)?.[1] || at.view} · ${run.summary.problem} · oragent`;
  if (run.best < 0 && !["", "settings", "steer"].includes(at.view)) { fill(main, h("p", { class: "empty" }, "No candidate has a score yet.")); return; }
  if (at.view === "candidates") {
    const view = candidates(run, link, at.query, (change) => remember(change, true));
    fill(main, view.nodes);
    state.refresh = view.refresh;
    return;
  }
  const builders = { "": () => overview(run, link), candidate: () => candidate(run, at.id, link, at.query, (change) => remember(change, true)), lineage: () => lineage(run, link, at.query, remember), archive: () => archive(run, link, at.query, remember), model: () => model(run), trust: () => trust(run, link), solutions: () => solutions(run, link),
    compare: async () => { if (!state.runs.length) Object.assign(state, await ask("/api/runs")); return compare(run, state.runs, at.query, remember); },
    steer: async () => { if (!state.runs.length) Object.assign(state, await ask("/api/runs")); return steering(run, state.steering); },
    settings: () => [h("h1", {}, "Settings"), card("config.yaml", h("pre", { tabindex: "0" }, run.summary.config)), h("p", { class: "note" }, `oragent ${run.summary.version}; ${plural(run.summary.islands, "island")}`)] };
  const build = builders[/** @type {keyof typeof builders} */ (at.view)];
  const nodes = build ? await build() : [h("p", { class: "error" }, `There is no view ${at.view}.`)];
  if (where().view !== at.view || where().id !== at.id) return;
  fill(main, nodes);
  scrollTo(0, scroll);
}

async function show() {
  const at = where();
  try {
    if (at.kind !== "run") { state.stop(); state.stop = () => {}; state.run = null; if (at.kind === "page") await showPage(at.run); else await showList(); drawTop(); return; }
    if (state.run?.id !== at.run) { fill(main, h("p", { class: "empty" }, "Reading the run …")); await openRun(at.run); }
    await draw();
  } catch (problem) {
    drawTop();
    fill(main, h("p", { class: "error", role: "alert" }, /** @type {Error} */ (problem).message));
  }
}

document.documentElement.dataset.theme = where().query.get("theme") === "dark" ? "dark" : where().query.get("theme") === "light" ? "light" : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
addEventListener("hashchange", () => void show());
void show();
