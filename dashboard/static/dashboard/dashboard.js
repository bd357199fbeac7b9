/* Scripts of every dashboard page: copy buttons, relative times that stay current, menus that close. */
const words = JSON.parse(document.getElementById("words").textContent);
document.documentElement.classList.add("scripted");

// Folds the menu. A cookie remembers it, so that the next page is drawn as this one is.
document.querySelector("[data-folds]")?.addEventListener("click", (event) => {
  const isFolded = document.querySelector(".shell").classList.toggle("folded");
  event.currentTarget.setAttribute("aria-expanded", !isFolded);
  const secure = location.protocol === "https:" ? "; secure" : "";
  // biome-ignore lint/suspicious/noDocumentCookie: Safari has no Cookie Store API
  document.cookie = `fieldpost_menu=${isFolded ? "folded" : "open"}; path=/; max-age=31536000; samesite=lax${secure}`;
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (button) {
    const text = button.parentElement.querySelector("pre, code, input").textContent;
    try {
      await navigator.clipboard.writeText(text);
      say(button, words.copied);
    } catch {
      // No permission, or plain http: select the text, so that the keyboard can copy it.
      getSelection().selectAllChildren(button.parentElement.querySelector("pre, code"));
      say(button, words.copyByKeys);
    }
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// A user without a time zone gets the browser's, from the next page on. The account's page changes it.
const zoneless = document.querySelector("[data-presets-zone]");
if (zoneless) {
  const preset = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const headers = JSON.parse(document.body.getAttribute("hx-headers")); // the CSRF token
  const body = new URLSearchParams({ preset });
  fetch(zoneless.dataset.presetsZone, { method: "POST", headers, body }).catch(() => {});
}

// After its time, the same button is the ordinary action (dashboard/frame/changes/undo.py).
for (const button of document.querySelectorAll("[data-later]"))
  setTimeout(() => {
    button.textContent = button.dataset.later;
  }, 10000);

function say(button, text) {
  button.dataset.label ||= button.textContent;
  button.textContent = text;
  button.setAttribute("aria-live", "polite");
  setTimeout(() => {
    button.textContent = button.dataset.label;
  }, 2000);
}

// Selects and checkboxes with these attributes act on change; without scripts there is a button next to them.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  if (event.target.matches("[data-selects-all]")) {
    for (const box of event.target.form.querySelectorAll("tbody input[type=checkbox]"))
      box.checked = event.target.checked;
  }
});

const UNITS = [
  ["year", 31536000],
  ["month", 2592000],
  ["week", 604800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
// With the digits of the service.
const distance = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", {
  numeric: "auto",
  numberingSystem: "latn",
});

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime][title]")) {
    const moment = new Date(time.dateTime);
    const seconds = (moment - Date.now()) / 1000;
    const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
    time.textContent = unit
      ? distance.format(Math.trunc(seconds / unit[1]), unit[0])
      : seconds > 1
        ? words.soon
        : words.now;
  }
}

// Too many requests: a note above the fragment says so. Other errors replace nothing.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 429) event.detail.shouldSwap = true;
});

showTimes(document);
setInterval(() => showTimes(document), 20000);
document.addEventListener("htmx:load", (event) => showTimes(event.detail.elt));
