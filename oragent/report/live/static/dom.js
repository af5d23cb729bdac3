// Elements are built from text nodes only: no text of a run is ever parsed as HTML.

/** @typedef {Node | string | number | null | undefined | false | any[]} Child */

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; `on` holds listeners, `css` custom style properties
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const isSvg = ["svg", "g", "path", "circle", "rect", "line", "text", "title"].includes(tag);
  const node = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "css") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, String(text));
    else if (name === "value") /** @type {any} */ (node).value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) node.append(/** @type {any} */ (child));
  return node;
}

/** @param {Element} node @param {...Child} children */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false).map((child) => /** @type {any} */ (child)));
}

/** A card with a heading. @param {string} title @param {...(Child | Child[])} children */
export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, ...children);
}

/** A plain table. @param {[string, boolean?][]} heads name, and whether it is a number @param {Child[][]} rows */
export function table(heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads.map(([name]) => name).filter(Boolean).join(", ") }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map(([name, isNumber]) => h("th", { class: isNumber ? "num" : null, scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, at) => h("td", { class: heads[at]?.[1] ? "num" : null }, cell)))))));
}

/** @param {string} label @param {Child} value @param {Child} [note] @param {string} [kind] */
export function tile(label, value, note, kind = "") {
  return h("div", { class: `tile ${kind}` }, h("div", { class: "k" }, label), h("div", { class: "v" }, value), note ? h("small", {}, note) : null);
}

/** @param {string} label @param {() => void} act @param {Record<string, any>} [props] */
export function button(label, act, props = {}) {
  return h("button", { type: "button", ...props, on: { click: act } }, label);
}

/** A command with a button that copies it. @param {string} text */
export function command(text) {
  const copy = button("Copy", () => { void navigator.clipboard?.writeText(text); copy.textContent = "Copied"; });
  return h("div", { class: "row" }, h("code", {}, text), copy);
}

/** A select. @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} act */
export function choose(label, options, value, act) {
  const select = h("select", { on: { change: () => act(select.value) } }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return h("label", {}, label, select);
}

/** Horizontal bars. @param {{name: string, parts: {value: number, color: string, title: string}[], text: string}[]} rows @param {number} top */
export function bars(rows, top) {
  return h("div", { class: "bars" }, rows.map((row) => [h("span", {}, row.name),
    h("span", { class: "track", role: "img", "aria-label": `${row.name}: ${row.parts.map((part) => part.title).join(", ")}` }, row.parts.map((part) => h("i", { title: part.title, css: { width: `${top ? (100 * part.value) / top : 0}%`, background: part.color } }))),
    h("span", { class: "num" }, row.text)]));
}

/** Offer a text or bytes as a file. @param {string} name @param {string | Blob} text @param {string} type */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
