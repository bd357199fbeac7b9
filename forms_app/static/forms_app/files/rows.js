/* What the visitor sees at an input with files: a row for each, with its state, progress and buttons. */
import { tint } from "../more/appearance.js";
import { adopter } from "../more/sheets.js";

const LIST = "data-fieldpost-files";
const ROW = "data-fieldpost-file";
// Doubled, to win over a theme's own `div`, `progress` and `button`; colors stay the theme's.
const adopt = adopter(`
  [${LIST}][${LIST}] { display: block; width: auto; margin: 0.5em 0 }
  [${ROW}][${ROW}] { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25em 0.75em; margin: 0.25em 0 }
  [${ROW}][${ROW}] :is(span, bdi) { display: inline; overflow-wrap: anywhere; min-width: 0 }
  [${ROW}][${ROW}] progress { display: inline-block; flex: 0 1 12em; width: 12em; height: 1em; margin: 0 }
  [${ROW}][${ROW}] button { display: inline-block; width: auto; min-height: 24px; margin: 0 }
  [${ROW}][${ROW}] [hidden] { display: none }
`);

const make = (tag, parent, text = "") => {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
};

/** Returns the list at an input, or at the end of a form whose page adds files without one. */
const listOf = (form, input, add) => {
  const after = input && (input.closest("label") || input);
  const end = after?.nextElementSibling || after?.parentNode.lastElementChild || form.lastElementChild;
  if (end?.hasAttribute(LIST)) return end;
  const list = add("div", LIST, (element) => (after ? after.after(element) : form.append(element)));
  adopt(list.getRootNode());
  tint(list);
  return list;
};

/**
 * Adds a row for a file and returns it as `{show(words, options), remove()}`.
 *
 * `show` takes the state in words and `{progress: 0 to 1, buttons: {text: function}}`.
 */
export const addRow = (form, input, file, add) => {
  const list = listOf(form, input, add);
  const row = make("div", list);
  row.setAttribute(ROW, "");
  const status = make("span", row); // read out when its words change, not at each percent
  status.setAttribute("role", "status");
  make("bdi", status, file.name);
  const state = make("span", status);
  const bar = make("progress", row);
  bar.setAttribute("aria-label", file.name);
  bar.hidden = true;
  return {
    show: (words, { progress, buttons = {} }) => {
      if (state.textContent !== `: ${words}`) state.textContent = `: ${words}`;
      bar.hidden = progress === undefined;
      if (!bar.hidden) bar.value = progress;
      const present = [...row.querySelectorAll("button")];
      if (present.map((one) => one.textContent).join() === Object.keys(buttons).join()) return;
      for (const one of present) one.remove();
      for (const [text, act] of Object.entries(buttons)) {
        const button = make("button", row, text);
        button.type = "button";
        button.setAttribute("aria-label", `${text} ${file.name}`);
        button.addEventListener("click", act);
      }
    },
    remove: () => {
      const hadFocus = row.contains(row.getRootNode().activeElement);
      row.remove();
      if (!list.childElementCount) list.remove();
      if (hadFocus) input?.focus();
    },
  };
};
