/* Leaving a page whose form has changes asks for confirmation. `data-changed` marks such a form: the service sets it
   where it shows values that are not saved. Forms with `data-unguarded` hold nothing that took effort. */
const CHANGED = "form[data-changed], .builder[data-changed] > form";
const isChanged = () => document.querySelector(CHANGED) !== null;

for (const name of ["input", "change"]) {
  document.addEventListener(name, (event) => {
    const form = event.target.form?.closest("form[method=post]:not([data-unguarded], #builder-form)");
    if (form && !event.target.matches("[type=password], [data-submits]")) form.toggleAttribute("data-changed", true);
  });
}
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) forget(event.target);
});
addEventListener("beforeunload", (event) => {
  if (isChanged()) event.preventDefault();
});

// The session has ended. A form that a button has sent is kept over the login; else typed text stays here.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const login = event.detail.xhr.getResponseHeader("HX-Redirect");
  if (!login || !isChanged()) return;
  if (event.detail.elt.matches("button") && login.includes("ended=kept")) forget(event.detail.elt.form);
  else event.preventDefault();
});

function forget(form) {
  for (const one of [form, form.closest(".builder")]) one?.removeAttribute("data-changed");
}
