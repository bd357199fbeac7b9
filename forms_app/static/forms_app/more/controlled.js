/*
 * Inputs whose values React or Vue keep: a form's `reset` does not reach them, so each change is announced by the event
 * that the framework listens to.
 */
const KEPT_TYPES = ["button", "color", "file", "hidden", "image", "range", "reset", "submit"];
const VUE = /^_(assign|vei|vModifiers|vOptions)$/;

const reactProps = (input) => input[Object.keys(input).find((key) => /^__react(Props|EventHandlers)\$/.test(key))];
const isReacts = (input) => {
  const { value, checked } = reactProps(input) || {};
  return value !== undefined || checked !== undefined;
};
const isVues = (input) =>
  Reflect.ownKeys(input).some((key) => VUE.test(typeof key === "symbol" ? key.description : key));

const announce = (input, ...types) => {
  for (const type of types) input.dispatchEvent(new Event(type, { bubbles: true }));
};

/** Writes a property past the setter by which React notices its own changes. */
const write = (input, name, value) => Reflect.set(Object.getPrototypeOf(input), name, value, input);

/** Sets one input as a form's `reset` does, whatever the framework has made of it since, and announces that. */
const reset = (input) => {
  if (input.type === "checkbox" || input.type === "radio") {
    write(input, "checked", input.defaultChecked);
    // Only a chosen radio button has a value to announce.
    if (input.checked || input.type === "checkbox") announce(input, "click", "change");
  } else if (input.localName === "select") {
    for (const option of input.options) option.selected = option.defaultSelected;
    if (input.selectedIndex < 0 && !input.multiple) input.selectedIndex = 0;
    announce(input, "change");
  } else {
    write(input, "value", ""); // React keeps the attribute, to which `reset` goes back, at the latest value
    announce(input, "input", "change");
  }
};

/** Makes the framework take over the values of a form that was reset. */
export const empty = (inputs) => {
  for (const input of inputs) if ((isReacts(input) || isVues(input)) && !KEPT_TYPES.includes(input.type)) reset(input);
};
