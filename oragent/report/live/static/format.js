/** @param {number | null | undefined} value */
export function score(value) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  return value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4) ? value.toExponential(4) : String(Number(value.toPrecision(6)));
}

/** @param {number} value */
export function count(value) { return Math.round(value).toLocaleString("en"); }

/** @param {number} number @param {string} noun */
export function plural(number, noun) { return `${count(number)} ${noun}${number === 1 ? "" : "s"}`; }

/** @param {number} share */
export function percent(share) { return `${Number((100 * share).toPrecision(3))} %`; }

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** @param {number} dollars @param {number} [unpriced] */
export function money(dollars, unpriced = 0) {
  const text = dollars >= 1 ? `$${dollars.toFixed(2)}` : `$${dollars.toFixed(4)}`;
  const others = `${plural(unpriced, "call")} of unknown price`;
  if (unpriced) return dollars ? `${text} + ${others}` : others;
  return text;
}

/** Gain of a score on a reference, above 0 is better. @param {string} direction @param {number} value @param {number} reference */
export function gain(direction, value, reference) { return direction === "minimize" ? reference - value : value - reference; }

/** How much lower or higher a score is than a reference, and whether that is worse. @param {string} direction @param {number | null} value @param {number | null} reference */
export function gainText(direction, value, reference) {
  if (value === null || reference === null) return "–";
  if (value === reference) return "equal";
  const share = reference ? ` (${percent(Math.abs((value - reference) / reference))})` : "";
  const worse = gain(direction, value, reference) < 0 ? ", worse" : "";
  return `${score(Math.abs(value - reference))} ${value < reference ? "lower" : "higher"}${share}${worse}`;
}

/** Limits of a Poisson mean, 95 % (Wilson & Hilferty 1931). @param {number} events */
export function poissonInterval(events) {
  const z = 1.96;
  const low = events ? events * (1 - 1 / (9 * events) - z / (3 * Math.sqrt(events))) ** 3 : 0;
  const next = events + 1;
  return [Math.max(0, low), next * (1 - 1 / (9 * next) + z / (3 * Math.sqrt(next))) ** 3];
}

/** A text as one word of a shell. @param {string} text */
export function shellWord(text) { return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`; }
