// Fill the list of versions, if the site lies beside others: ../versions.json names them, the newest first.
document.addEventListener("DOMContentLoaded", async () => {
  const list = document.querySelector("#versions");
  if (!list || !location.protocol.startsWith("http")) return;
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const answer = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!answer || !answer.ok) return;
  const names = await answer.json().catch(() => []);
  if (!Array.isArray(names) || names.length < 2) return;
  const present = decodeURIComponent(root.pathname.split("/").filter(Boolean).pop() || "");
  for (const name of names) list.add(new Option(name === names[0] ? `${name} (newest)` : name, name, false, name === present));
  list.addEventListener("change", async () => {
    const page = location.href.slice(root.href.length);
    const same = new URL(`../${encodeURIComponent(list.value)}/${page}`, root);
    const there = await fetch(same, { method: "HEAD" }).catch(() => null);
    location.href = there && there.ok ? same : new URL(`../${encodeURIComponent(list.value)}/index.html`, root);
  });
  list.parentElement.hidden = false;
});
