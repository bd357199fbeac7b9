/* The command palette: Ctrl-K, or Cmd-K. The service finds; this shows the options, and moves among them. */
const words = JSON.parse(document.getElementById("words").textContent);
const palette = document.getElementById("palette");
const input = palette?.querySelector("input");
const list = palette?.querySelector("[role=listbox]");
const status = palette?.querySelector("[role=status]");
const PAUSE = 120; // ms without a key before the service is asked
let timer;
let asked;

const options = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");

function choose(option) {
  chosen()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

async function ask() {
  asked?.abort();
  asked = new AbortController();
  try {
    const query = new URLSearchParams({ part: "1", q: input.value });
    const answer = await fetch(`${palette.dataset.address}?${query}`, { signal: asked.signal, redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    list.innerHTML = await answer.text();
    choose(options()[0]);
    status.textContent = options().length ? "" : words.notFound;
  } catch (error) {
    if (error.name === "AbortError") return;
    list.replaceChildren();
    status.textContent = words.unanswered;
  }
}

function openPalette() {
  if (palette.open) return;
  document.querySelector(":popover-open")?.hidePopover();
  input.value = "";
  palette.showModal();
  ask();
}

if (palette) {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (palette.open) palette.close();
    else if (!document.querySelector("dialog[open]")) openPalette();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-finds]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    const all = options();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length) {
      event.preventDefault();
      choose(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      chosen()?.click();
    }
  });
  for (const hint of document.querySelectorAll("[data-finds] kbd")) {
    if (navigator.platform.startsWith("Mac")) hint.textContent = "⌘ K";
  }
}
for (const dialog of document.querySelectorAll("dialog.palette")) {
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-closes]")) dialog.close();
  });
}
