/*
 * Files of a form: each is sent by itself before the form, which then carries their ids.
 *
 * A file that has arrived is not sent again, whatever happens to the others, the form or the page.
 */
import { check } from "./files/checks.js";
import { copiesOfTab, keepCopies } from "./files/copies.js";
import { expectReload, forget, forgetForm, idOf, placeOf, remember } from "./files/ids.js";
import { detailsOf, sendFile } from "./files/posting.js";
import { proofsOf } from "./files/proofs.js";
import { addRow } from "./files/rows.js";

const CAPTCHAS = ["cf-turnstile-response", "h-captcha-response"]; // a token is good for the files and then the form
const CANCELED = "Nothing was sent, because a file was removed. Send the form again when you are ready.";
const NO_FORM = "Files cannot be sent. Remove them and try again.";

// form -> {page, formId, key, rows: {place: {row, controller, file, field, input}}, remembered: Set of places, …}
const states = new WeakMap();

const isOf = (input, field) => input.type === "file" && (input.name || input.id) === field;
const isSame = (one, other) =>
  one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;
const inputOf = (inputs, field, file) => {
  const named = inputs.filter((input) => isOf(input, field));
  return named.find((input) => [...input.files].some((one) => isSame(one, file))) || named[0];
};

/** Writes the files of an input. Its page gets the events of a visitor's choice. */
const setFiles = (input, files) => {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  input.files = transfer.files;
  for (const type of ["input", "change"]) input.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
};

const dropRow = (state, place) => {
  state.rows.get(place)?.row.remove();
  state.rows.delete(place);
};

/** Ends the way of a file that the visitor does not want to send any more. */
const giveUp = (state, place, entry) => {
  entry.isTakenOut = true;
  entry.controller?.abort();
  dropRow(state, place);
};

/** Removes the rows of files that the visitor has taken out of their inputs, and the copies of these. */
const tidy = (form) => {
  const state = states.get(form);
  for (const [place, entry] of state.rows) {
    const { input, file } = entry;
    if (input && ![...input.files].some((one) => isSame(one, file))) giveUp(state, place, entry);
  }
  const inputs = state.page.controls(form).filter(({ type }) => type === "file");
  keepCopies(
    state.formId,
    inputs.flatMap((input) => [...input.files].map((file) => [input.name || input.id, file])),
  );
};

const stateOf = (page, form) => {
  let state = states.get(form);
  if (!state) {
    state = { rows: new Map(), remembered: new Set() };
    states.set(form, state);
    const later = () => setTimeout(() => tidy(form)); // a reset is announced before it is done
    for (const type of ["change", "reset"]) form.addEventListener(type, later);
  }
  return Object.assign(state, { page, formId: page.setting(form, "form-id"), key: page.setting(form, "key") });
};

/** Returns the row of a file, made when there is none. */
const rowOf = (state, form, field, file) => {
  const place = placeOf(state.formId, field, file);
  if (!state.rows.has(place)) {
    const { page } = state;
    const input = inputOf(page.controls(form), field, file);
    state.rows.set(place, { field, file, input, row: addRow(form, input, file, page.add) });
  }
  return { place, entry: state.rows.get(place) };
};

/** Takes a file out of its input, and stops it when it is on its way. */
const takeOut = (state, place, entry) => {
  const { input, file } = entry;
  forget([place]);
  giveUp(state, place, entry);
  if (input)
    setFiles(
      input,
      [...input.files].filter((one) => !isSame(one, file)),
    );
};

const showSent = (state, place, entry) =>
  entry.row.show("sent", { buttons: { Remove: () => takeOut(state, place, entry) } });

/** Sends one file, unless it has arrived before. Returns what is wrong with it, or nothing. */
const sendOne = async (state, place, entry) => {
  const { field, file, row } = entry;
  const { formId, key, tokens, proofs } = state;
  const cancel = { Cancel: () => takeOut(state, place, entry) };
  let share = 0;
  entry.controller = new AbortController();
  row.show("sending", { progress: share, buttons: cancel });
  const url = new URL(`f/${formId}/uploads`, import.meta.url);
  if (/^[^_]+_pub_test_/.test(key)) url.searchParams.set("test", key);
  const outcome = await sendFile(url, field, file, {
    signal: entry.controller.signal,
    tokens,
    proofs,
    onProgress: (now) => {
      share = now;
      row.show("sending", { progress: share, buttons: cancel });
    },
    onPause: () => row.show("waiting for the connection", { progress: share, buttons: cancel }),
  });
  entry.controller = undefined;
  if (entry.isTakenOut) return;
  if (outcome.id) {
    remember(place, outcome.id);
    showSent(state, place, entry);
    return;
  }
  const buttons = { Retry: state.again, Remove: cancel.Cancel };
  row.show("not sent", { buttons });
  return { field, ...outcome };
};

/**
 * Sends the chosen files, `[[field, file]]`, of a form and puts their ids into `data`.
 *
 * Returns nothing when all have arrived, else an answer like those of the service, for the form to show. `submit` is
 * that of forms.js, to send the form again by its `button`.
 */
export const sendFiles = async (page, form, files, data, submit, button) => {
  const state = stateOf(page, form);
  const { formId } = state;
  if (!formId) {
    console.error("Fieldpost: files are sent only to a form that is named. Give the script tag data-form-id.");
    return { details: files.map(([field]) => ({ field, message: NO_FORM })) };
  }
  page.say(form); // no message of before
  state.tokens = Object.fromEntries(CAPTCHAS.filter((name) => data[name]).map((name) => [name, data[name]]));
  state.proofs ||= proofsOf(formId, page.solve);
  state.again = () => submit(form, button);
  state.remembered.clear();
  const found = files.map(([field, file]) => ({ field, file, ...rowOf(state, form, field, file) }));
  const list = [...new Map(found.map((one) => [one.place, one])).values()]; // chosen twice, it is sent once
  for (const place of state.rows.keys()) if (!list.some((one) => one.place === place)) dropRow(state, place);
  expectReload();
  keepCopies(formId, files);

  let details = list.map(({ field, file, entry }) => ({ field, ...check(file, entry.input, files) }));
  details = details.filter(({ code }) => code);
  if (details[0]) return { details };
  for (const { place, entry } of list) {
    if (idOf(place)) showSent(state, place, entry);
    else entry.row.show("waiting", { buttons: { Cancel: () => takeOut(state, place, entry) } });
  }
  for (const { place, entry } of list) {
    if (entry.isTakenOut) continue;
    if (idOf(place)) state.remembered.add(place);
    else details.push(await sendOne(state, place, entry)); // one at a time: a bad line has no room for two
  }
  details = details.filter(Boolean);
  if (details[0]) return { details };
  if (list.some(({ entry }) => entry.isTakenOut)) return { message: CANCELED };
  for (const { field, place } of list) data[field] = field in data ? [].concat(data[field], idOf(place)) : idOf(place);
};

/** Puts the files back that this tab's visitor had chosen before the page was loaded again. */
export const refill = async (page) => {
  if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done));
  const copies = await copiesOfTab();
  for (const form of document.forms) {
    const formId = page.setting(form, "form-id");
    const mine = copies.filter((copy) => copy.formId === formId);
    for (const { field } of mine) {
      const input = page.controls(form).find((one) => isOf(one, field));
      if (!input || input.files.length) continue; // some browsers remember by themselves
      const chosen = mine.filter((copy) => copy.field === field).map(({ file }) => file);
      setFiles(input, input.multiple ? chosen : chosen.slice(0, 1));
    }
    for (const input of page.controls(form).filter(({ type }) => type === "file"))
      for (const file of input.files) {
        const field = input.name || input.id;
        if (!idOf(placeOf(formId, field, file))) continue;
        const state = stateOf(page, form);
        const { place, entry } = rowOf(state, form, field, file);
        showSent(state, place, entry);
      }
  }
};

/** Calls `act` with the form's state before the page gets an event of forms.js. */
const on = (name, act) =>
  addEventListener(
    `fieldpost:${name}`,
    (event) => {
      const state = states.get(event.composedPath()[0]);
      if (state) act(state, event);
    },
    true,
  );

on("success", (state) => {
  forgetForm(state.formId); // an id is good once
  for (const place of [...state.rows.keys()]) dropRow(state, place);
  keepCopies(state.formId, []);
});
on("queued", (state) => keepCopies(state.formId, [])); // the files are there, and the form is kept by forms.js
// An id of earlier that the service does not know any more, or that another submission has used: send that file again.
on("error", (state, event) => {
  const fields = detailsOf(event.detail)
    .filter(({ code }) => code === "invalid_upload")
    .map(({ field }) => field);
  const lost = [...state.remembered].filter((place) => fields.includes(JSON.parse(place)[1]));
  if (!lost.length) return;
  forget(lost);
  event.preventDefault();
  event.stopImmediatePropagation();
  setTimeout(state.again); // when the form is no longer busy
});
