/*
 * The ids of files that have arrived, so that none is sent twice: in the tab's own storage, which a reload leaves and
 * a closed tab takes along. `{tab, ids: {place: [id, time]}, proven: [form ids]}`; a place is `[form id, field, name,
 * size, lastModified]` as JSON.
 */
export const STORE = `fieldpost:${new URL(".", import.meta.url)}`; // that of forms.js
const KEPT = 7 * 864e5; // milliseconds; the service keeps a file as long
const MARGIN = 36e5; // milliseconds before that, at which a file is better sent again

let known = { tab: crypto.getRandomValues(new Uint32Array(4)).join("-"), ids: {}, proven: [] };
try {
  known = { ...known, ...JSON.parse(sessionStorage[STORE]) };
} catch {} // nothing there, or forbidden

/** Marks the rows of the browser's database that are this tab's. */
export const tab = known.tab;

const save = () => {
  try {
    sessionStorage[STORE] = JSON.stringify(known);
  } catch {} // the ids last as long as the page
};

export const placeOf = (formId, field, { name, size, lastModified }) =>
  JSON.stringify([formId, field, name, size, lastModified]);

/** Returns the id of a file that has arrived. */
export const idOf = (place) => {
  const [id, at] = known.ids[place] || [];
  return Date.now() - at < KEPT - MARGIN ? id : undefined;
};
export const remember = (place, id) => {
  known.ids[place] = [id, Date.now()];
  save();
};
/** Makes the next load of the page look for copies. */
export const expectReload = save;
export const forget = (places) => {
  for (const place of places) delete known.ids[place];
  save();
};
/** Forgets the files of a form that were taken; without any other the storage is left empty. */
export const forgetForm = (formId) => {
  forget(Object.keys(known.ids).filter((place) => JSON.parse(place)[0] === formId));
  if (Object.keys(known.ids).length) return;
  try {
    sessionStorage.removeItem(STORE);
  } catch {} // nothing was written
};

/** Whether a form has asked for a proof of work before. */
export const needsProof = (formId) => known.proven.includes(formId);
export const askForProof = (formId) => {
  if (!needsProof(formId)) known.proven.push(formId);
  save();
};
