/*
 * Copies of chosen files in the browser's database, from which a reloaded page gets them back: input elements lose
 * theirs. Each is of one tab, so the next person at a shared computer does not meet them, and is deleted when the form
 * was taken or after a day. Where the database is missing or full, the visitor chooses again.
 */
import { placeOf, STORE, tab } from "./ids.js";

const KEPT = 864e5; // milliseconds
const MOST = 100e6; // bytes of one form

const finished = (request) =>
  new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });

let last = Promise.resolve(); // one change after the other, so that a deletion comes after what was still being written
/** Calls `change` with the store of copies. Returns its result, or nothing where there is no database. */
const use = (change) => {
  last = last
    .then(async () => {
      const opening = indexedDB.open(STORE);
      opening.onupgradeneeded = () => opening.result.createObjectStore("files", { keyPath: "key" });
      const database = await finished(opening);
      try {
        return await change(database.transaction("files", "readwrite").objectStore("files"));
      } finally {
        database.close(); // when its changes are done
      }
    })
    .catch(() => {});
  return last;
};

const keyOf = (place) => `${tab} ${place}`;
const removeIf = async (store, isGone) => {
  const copies = await finished(store.getAll());
  for (const copy of copies) if (Date.now() - copy.at > KEPT || isGone(copy)) store.delete(copy.key);
};

/** Keeps copies of exactly these files of a form, `[[field, file]]`, as far as there is room. */
export const keepCopies = (formId, files) =>
  use(async (store) => {
    let room = MOST;
    const copies = new Map();
    for (const [order, [field, file]] of files.entries()) {
      room -= file.size;
      const key = keyOf(placeOf(formId, field, file));
      if (room >= 0) copies.set(key, { key, tab, formId, field, file, order, at: Date.now() });
    }
    await removeIf(store, (copy) => copy.tab === tab && copy.formId === formId && !copies.has(copy.key));
    const present = await finished(store.getAllKeys());
    for (const copy of copies.values()) if (!present.includes(copy.key)) store.put(copy);
  });

/** Returns `[{formId, field, file}]` of this tab, as they were chosen. */
export const copiesOfTab = async () => {
  const copies = await use((store) => finished(store.getAll()));
  const mine = (copies || []).filter((copy) => copy.tab === tab && Date.now() - copy.at < KEPT);
  return mine.sort((one, other) => one.order - other.order);
};
