/* The page after success. */
const PATIENCE = 10_000; // milliseconds; the address may be a download, and this page stays
const NAMES = ["redirect", "redirectTo"]; // without the underscore these may be data

/** Goes to the first of the targets that the page names; ends when the form may be used again. */
export const leave = async (own, body) => {
  const data = JSON.parse(body);
  const target = own || data._next || NAMES.map((name) => data[name]).find((value) => /^(https?:\/\/|\/)/.test(value));
  let url;
  try {
    url = new URL(target, location.href);
  } catch {
    return; // not an address: the message that is shown is all there is to see
  }
  if (!target || !/^https?:$/.test(url.protocol)) return;
  location.assign(url);
  // While the next page is on its way, a click would send the emptied form.
  await new Promise((done) => {
    addEventListener("pagehide", done, { once: true });
    setTimeout(done, PATIENCE);
  });
};
