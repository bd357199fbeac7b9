/*
 * What few pages need of forms.js, which loads it when it meets such a page. PROOF_FILE, DEBUG_FILE,
 * FILES_FILE and their hashes are filled in by the build, so that a page that pins forms.js has pinned these, too.
 */
import { reveal } from "./more/appearance.js";
import { empty } from "./more/controlled.js";
import { mark } from "./more/fields.js";
import { leave } from "./more/leaving.js";

export { leave, mark };

/** Makes a message visible and, after success, empties the inputs that a framework keeps. */
export const finish = (message, inputs) => {
  reveal(message);
  if (inputs) empty(inputs);
};

/** Returns the solution of a fresh challenge for the form that a query (`?formId=…`) names. */
const solve = async (load, search) => {
  await load(PROOF_FILE, PROOF_INTEGRITY);
  const home = [...document.querySelectorAll(`link[href*="${PROOF_FILE}"]`)].find((link) => link.solve);
  return home.solve(new URL(`f/challenge${search}`, import.meta.url));
};

/** Returns, as `body`, the item's body with a solution of a fresh challenge for its form. */
export const prove = async (load, { url, body }) => ({
  body: JSON.stringify({ ...JSON.parse(body), _altcha: await solve(load, new URL(url).search) }),
});

const loadFiles = async ([load, setting, controls, add, say]) => ({
  module: await load(FILES_FILE, FILES_INTEGRITY),
  page: { setting, controls, add, say, solve: (search) => solve(load, search) },
});
/** Sends the chosen files of a form. Returns 0, or what is wrong, or nothing when the code cannot be loaded. */
export const files = async (tools, ...values) => {
  const { module, page } = await loadFiles(tools);
  return module.sendFiles && ((await module.sendFiles(page, ...values)) || 0);
};
/** Puts the files back that were chosen before a reload. */
export const refill = async (tools) => {
  const { module, page } = await loadFiles(tools);
  await module.refill?.(page);
};

let isExplained = false;
/** Says that a form whose own address is on another host is sent to the service. */
export const explainAction = (action) => {
  const { host } = new URL(action, location.href);
  if (isExplained || [location.host, new URL(import.meta.url).host].includes(host)) return;
  isExplained = true;
  console.warn(
    `Fieldpost has sent a form that has its own address on ${host}. To leave the form to its own address, give it ` +
      "the attribute data-fieldpost-ignore.",
  );
};

/** Reports a secret key and a test key. Loads the debug file on the developer's own machine, or when the tag asks. */
export const explain = async (load, script) => {
  const key = script.getAttribute("data-key") || "";
  if (/^[^_]+(_test)?_[^_]+$/.test(key))
    console.error(
      "Fieldpost: data-key is a secret key, and everyone can read it in this page. Regenerate it in the dashboard, " +
        "and use a publishable key, which has _pub_ in it.",
    );
  if (/^[^_]+(_pub)?_test_/.test(key))
    console.warn(
      "Fieldpost: data-key is a test key. This page sends test data: no mail is sent for it, and it is deleted after " +
        "7 days. For visitors, use the live key.",
    );
  if (!/(^|\.)localhost$/.test(location.hostname) && !script.hasAttribute("data-debug")) return;
  const { watch } = await load(DEBUG_FILE, DEBUG_INTEGRITY);
  watch?.(key);
};
