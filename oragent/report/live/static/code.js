import { h } from "./dom.js";

/** @type {any} */ const prism = /** @type {any} */ (globalThis).Prism;
/** @type {any} */ const differ = /** @type {any} */ (globalThis).Diff;
prism.manual = true;

/** @param {any} tokens @returns {any[]} */
function spans(tokens) {
  if (typeof tokens === "string") return [tokens];
  if (Array.isArray(tokens)) return tokens.flatMap(spans);
  return [h("span", { class: `t-${tokens.type}` }, spans(tokens.content))];
}

/** A program with coloured tokens; its text goes into text nodes. @param {string} source */
export function highlight(source) {
  const grammar = /^\s*#include|;\s*$/m.test(source) && !/^def /m.test(source) ? prism.languages.cpp : prism.languages.python;
  return h("pre", { tabindex: "0", "aria-label": "program" }, source.length > 60000 ? source : spans(prism.tokenize(source, grammar)));
}

/** The texts of two programs; a program that was written from its syntax tree has no layout, and then both get the same. @param {any} first @param {any} second @returns {[string, string]} */
export function inOneLayout(first, second) {
  const isWritten = [first, second].some((detail) => detail.layout === "");
  return isWritten ? [first.layout || first.source, second.layout || second.source] : [first.source, second.source];
}

/** Remark in place of a difference from a rejected reply. */
export const NO_PROGRAM = "It was rejected before it ran, so its text, which may be an edit or a part of a program, is not compared.";

/** Lines that differ, with three lines of context. @param {string} before @param {string} after */
export function difference(before, after) {
  if (before === after) return h("p", { class: "note" }, "Both programs are the same.");
  const parts = differ.diffLines(before.trimEnd() + "\n", after.trimEnd() + "\n", { timeout: 2000 });
  if (!parts) return h("p", { class: "note" }, "The programs are too different to be compared line by line.");
  const lines = parts.flatMap((/** @type {any} */ part) => part.value.replace(/\n$/, "").split("\n").map((/** @type {string} */ text) => ({ text, kind: part.added ? "add" : part.removed ? "del" : "same" })));
  const shown = lines.map((/** @type {any} */ _, /** @type {number} */ at) => lines.slice(Math.max(0, at - 3), at + 4).some((/** @type {any} */ line) => line.kind !== "same"));
  const marks = { add: "+ ", del: "− ", same: "  " };
  /** @type {any[]} */ const out = [];
  lines.forEach((/** @type {{text: string, kind: keyof typeof marks}} */ line, /** @type {number} */ at) => {
    if (shown[at]) out.push(h("span", { class: `l ${line.kind}` }, marks[line.kind] + line.text));
    else if (at === 0 || shown[at - 1]) out.push(h("span", { class: "l gap" }, "⋯"));
  });
  const added = lines.filter((/** @type {any} */ line) => line.kind === "add").length;
  const removed = lines.filter((/** @type {any} */ line) => line.kind === "del").length;
  return h("div", {}, h("p", { class: "note" }, `Lines added: ${added}, removed: ${removed}`), h("pre", { class: "diff", tabindex: "0", "aria-label": "difference of two programs" }, out));
}
