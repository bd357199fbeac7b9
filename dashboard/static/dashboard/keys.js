/* Shortcuts of one key: j k x e / in lists, and ? for the help, which can turn them off (WCAG 2.1.4). */
const help = document.getElementById("shortcuts");
const box = document.getElementById("single-keys");
const OFF = "fieldpost-single-keys";
const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

const rows = () => [...document.querySelectorAll("main table tbody tr")].filter((row) => row.querySelector("a[href]"));
const here = () =>
  document.activeElement?.closest("main tbody tr") ?? document.querySelector("main tbody tr[aria-current]");

// Where a row is open next to its list, the next one is opened.
function move(step) {
  if (!document.dispatchEvent(new CustomEvent("list:step", { detail: step, cancelable: true }))) return;
  const all = rows();
  const at = all.indexOf(here());
  const next = all[Math.min(Math.max(at < 0 ? 0 : at + step, 0), all.length - 1)];
  next?.querySelector("a[href]").focus();
}

const ACTIONS = {
  j: () => move(1),
  k: () => move(-1),
  x: () => here()?.querySelector("input[type=checkbox]")?.click(),
  e: () => {
    const isChosen = document.querySelector("main tbody input[type=checkbox]:checked");
    document.querySelector(isChosen ? "main button[value=export]" : "main [data-exports]")?.click();
  },
  "/": () => {
    const search = document.querySelector("main input[name=q]");
    if (search?.checkVisibility()) search.select();
    else document.querySelector("[data-finds]").click(); // the palette
  },
  "?": () => help.showModal(),
};

if (help) {
  box.checked = localStorage.getItem(OFF) !== "off";
  box.addEventListener("change", () => localStorage.setItem(OFF, box.checked ? "on" : "off"));
  document.querySelector("[data-helps]")?.addEventListener("click", () => {
    document.querySelector(":popover-open")?.hidePopover();
    help.showModal();
  });
  document.addEventListener("keydown", (event) => {
    const act = Object.hasOwn(ACTIONS, event.key) && ACTIONS[event.key];
    if (!act || !box.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open], :popover-open")) return;
    event.preventDefault();
    act();
  });
}
