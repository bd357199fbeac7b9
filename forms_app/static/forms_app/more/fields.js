/* Errors at the inputs of a form, until it is sent again. */
const MARKED = "Please check the marked fields, then send again.";
let count = 0;

const place = (input, note) => (input.closest("label") || input).after(note);
const restore = (input, name, value) => (value ? input.setAttribute(name, value) : input.removeAttribute(name));

/** Returns the name under which forms.js sends an input. */
const nameOf = (input) =>
  input.getAttribute("name") || input.id || input.ariaLabel || input.labels?.[0]?.textContent.trim().slice(0, 100);

/** Focuses an input in view of its label and its message, also on a page that scrolls smoothly. */
const show = (input) => {
  input.focus({ preventScroll: true });
  input.scrollIntoView({ block: "center", behavior: "instant" });
};

/** Puts each message at its input and returns the text for the form: the messages that belong to no visible input. */
export const mark = (form, inputs, details, add) => {
  // The first of a group is marked; hidden inputs cannot show a message.
  const named = new Map(inputs.map((input) => [input.type === "hidden" || nameOf(input), input]).reverse());
  const marked = new Map(); // input -> [its message, its aria-describedby before]
  const unplaced = [];
  for (const { field, message } of details) {
    const input = named.get(field);
    if (!input) unplaced.push(message);
    if (!input || marked.has(input)) continue;
    const note = add("span", "data-fieldpost-field-error", (element) => place(input, element));
    const described = input.getAttribute("aria-describedby"); // the page's own hint
    marked.set(input, [note, described]);
    note.textContent = message;
    count++;
    note.id = `fieldpost-error-${count}`;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", described ? `${described} ${note.id}` : note.id);
  }
  const unmark = () => {
    for (const [input, [note, described]] of marked) {
      note.remove();
      input.removeAttribute("aria-invalid");
      restore(input, "aria-describedby", described);
    }
  };
  form.addEventListener("fieldpost:submit", unmark, { once: true });
  const [first] = marked.keys();
  if (first) setTimeout(() => show(first)); // after the message of the form is shown
  return unplaced.join(" ") || (first && MARKED);
};
