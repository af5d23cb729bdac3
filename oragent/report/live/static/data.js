// Data of runs: from the server, or from inside the page.

export const EMBEDDED = JSON.parse(document.getElementById("data")?.textContent || "null");
const TOKEN = new URLSearchParams(location.search).get("token") || "";

/** Ask the server. @param {string} path @param {Record<string, string | number>} [query] @param {any} [body] */
export async function ask(path, query = {}, body) {
  if (EMBEDDED) return askEmbedded(path, query);
  const address = `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))}`;
  const answer = await fetch(address, { headers: { "X-Token": TOKEN }, ...(body ? { method: "POST", body: JSON.stringify(body) } : {}) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error || `the server answered ${answer.status}`);
  return value;
}

/** @param {string} path @param {Record<string, any>} query */
function askEmbedded(path, query) {
  const found = path === "/api/candidate" ? EMBEDDED.details[query.id] : EMBEDDED[path.slice(5)];
  if (path === "/api/candidates" && query.after) return { ...found, after: query.after, round: [] };
  if (found === undefined) throw new Error("This file does not hold it: open the run with oragent watch.");
  return found;
}

/** Address of a written page. @param {string} run @param {string} page name of its file */
export function pageAddress(run, page) { return `/pages/${encodeURIComponent(TOKEN)}/${[...run.split("/"), page].map(encodeURIComponent).join("/")}?theme=${document.documentElement.dataset.theme}`; }

const COLUMNS = ["round", "number", "score", "status", "origin", "message", "island", "parents", "features", "placed", "at", "wall", "cpu", "size", "money", "key", "model"];
const CODED = { status: "statuses", origin: "origins", message: "messages", model: "models" };

/** A run as the page knows it: its summary and the columns of its candidates. */
export class Run {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    /** @type {any} */ this.summary = null;
    this.revision = "";
    /** @type {Record<string, any[]>} */ this.c = Object.fromEntries(COLUMNS.map((name) => [name, []]));
    this.after = 0;
    this.version = 0;
    /** @type {Map<string, number>} */ this.rows = new Map();
    /** @type {Map<string, number[]>} */ this.children = new Map();
    /** @type {number[]} rows that improved the best score, in order */ this.improvements = [];
    this.seed = -1;
    this.best = -1;
    this.probes = 0;
  }

  /** Cell of a candidate in the archive; null without one. @param {number} row @returns {number[] | null} */
  cell(row) {
    const features = this.c.features[row], grid = this.summary.grid;
    if (!features) return null;
    if (!grid || !grid.measured.some(Boolean)) return features.every(Number.isInteger) ? features : null;
    if (grid.bounds.some((/** @type {any} */ ends, /** @type {number} */ axis) => grid.measured[axis] && !ends)) return null;
    return features.map((/** @type {number} */ value, /** @type {number} */ axis) => {
      const ends = grid.bounds[axis];
      return ends ? Math.min(grid.bins[axis] - 1, Math.max(0, Math.trunc(((value - ends[0]) / (ends[1] - ends[0])) * grid.bins[axis]))) : Math.trunc(value);
    });
  }

  get count() { return this.c.round.length; }
  get direction() { return this.summary.direction; }

  /** @param {number} row */
  title(row) { return this.summary.titles[this.name(row)] || ""; }

  /** @param {number} row */
  name(row) { return `${this.c.round[row]}.${this.c.number[row]}`; }

  /** @param {number | null} a @param {number | null} b */
  better(a, b) { return a !== null && (b === null || (this.direction === "minimize" ? a < b : a > b)); }

  /** Load what is new. @param {(() => void)} [onPart] called after each part of a long run */
  async update(onPart) {
    this.summary = await ask("/api/summary", { run: this.id });
    if (this.summary.revision !== this.revision) Object.assign(this, new Run(this.id), { summary: this.summary, revision: this.summary.revision }); // committed rows changed: read them again
    for (;;) {
      const part = await ask("/api/candidates", { run: this.id, after: this.after });
      this.append(part);
      if (part.after === this.after || !part.round.length) break;
      this.after = part.after;
      onPart?.();
    }
    this.best = this.rows.get(this.summary.best) ?? this.best; // among equal scores the shorter program
    this.version += 1;
  }

  /** @param {any} part */
  append(part) {
    for (let at = 0; at < part.round.length; at += 1) {
      const row = this.count;
      for (const name of COLUMNS) {
        const list = CODED[/** @type {keyof typeof CODED} */ (name)];
        this.c[name].push(list ? part[list][part[name][at]] : part[name][at]);
      }
      this.rows.set(this.name(row), row);
      for (const parent of this.c.parents[row]) {
        const known = this.children.get(parent);
        if (known) known.push(row); else this.children.set(parent, [row]);
      }
      if (this.c.origin[row] === "probe") { this.probes += 1; continue; }
      if (this.c.placed[row] === "") continue;
      if (this.seed < 0) this.seed = row;
      if (this.best < 0 || this.better(this.c.score[row], this.c.score[this.best])) {
        this.best = row;
        this.improvements.push(row);
      }
    }
  }

  /** Line of first parents from the seed to a row. @param {number} row */
  path(row) {
    const line = [];
    const met = new Set();
    for (let at = row; at !== undefined && at >= 0 && !met.has(at); ) {
      line.push(at);
      met.add(at);
      const parent = this.c.parents[at][0];
      at = parent === undefined ? -1 : this.rows.get(parent) ?? -1;
    }
    return line.reverse();
  }

  /** Number of descendants. @param {number} row */
  descendants(row) {
    const met = new Set([row]);
    const queue = [row];
    while (queue.length) for (const child of this.children.get(this.name(/** @type {number} */ (queue.pop()))) || []) if (!met.has(child)) { met.add(child); queue.push(child); }
    met.delete(row);
    return met;
  }

  /** Best row of each cell of an island up to a row. @param {number} island @param {number} end @param {number[]} axes @returns {Map<string, number>} */
  archive(island, end, axes) {
    const cells = new Map();
    for (let row = 0; row < end; row += 1) {
      const cell = this.c.placed[row] === "" ? null : this.cell(row);
      if (!cell || (island >= 0 && this.c.island[row] !== island && row !== this.seed)) continue;
      const key = axes.map((axis) => cell[axis]).join(",");
      const known = cells.get(key);
      if (known === undefined || this.better(this.c.score[row], this.c.score[known])) cells.set(key, row);
    }
    return cells;
  }
}

/** Call back whenever a run changes. @param {string} run @param {() => void} onChange @param {(isConnected: boolean) => void} onState @returns {() => void} stops */
export function follow(run, onChange, onState) {
  if (EMBEDDED) return () => {};
  const events = new EventSource(`/events?${new URLSearchParams({ run, token: TOKEN })}`);
  events.addEventListener("change", onChange);
  events.addEventListener("open", () => onState(true));
  events.addEventListener("error", () => onState(false));
  return () => events.close();
}
