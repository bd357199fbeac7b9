/* One file on its way: tried again when the line is cut, until the service answers. */
const PAUSES = [1e3, 2e3, 4e3, 8e3]; // milliseconds before the second and each later try; `online` ends one early
const PATIENCE = 3e4; // milliseconds; a longer Retry-After is for the visitor to wait out
const STALL = 6e4; // milliseconds without a byte, after which a line counts as cut
const CUT = "The connection was lost. Please try again.";

/** Posts a body once. Returns `{status, wait, …the answer}`; without an answer, status 0. */
const post = (url, body, onProgress, signal) =>
  new Promise((done) => {
    const request = new XMLHttpRequest(); // `fetch` does not tell the progress
    let timer;
    const abort = () => request.abort();
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(abort, STALL);
    };
    request.open("POST", url);
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => {
      watch();
      onProgress(loaded / total);
    };
    request.onloadend = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {} // a proxy's page, or nothing
      const { status } = request;
      // Only where it is expected: the console reports the question about a header that is not there to be read.
      const wait = /429|503/.test(status) && request.getResponseHeader("Retry-After") * 1e3;
      done({ ...answer, status, wait });
    };
    signal.addEventListener("abort", abort);
    watch();
    request.send(body);
  });

const pause = (milliseconds, signal) =>
  new Promise((done) => {
    setTimeout(done, milliseconds);
    addEventListener("online", done, { once: true });
    signal.addEventListener("abort", done);
  });

/** Returns the details of a refusal: the API calls them `details`, plain posts `errors`. */
export const detailsOf = ({ details, errors }) => details || errors || [];

const isReadable = (file) =>
  file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );

/**
 * Sends a file until it has arrived: `{id}`; is refused: `{message, code}`; or the signal is aborted: `{}`.
 *
 * `tokens`: values of the form that show a human, by name. `proofs`: see `./proofs.js`.
 */
export const sendFile = async (url, field, file, { signal, tokens, proofs, onProgress, onPause }) => {
  for (let tries = 0; ; tries++) {
    const body = new FormData();
    body.append("field", field);
    for (const [name, token] of Object.entries(tokens)) body.append(name, token);
    const { proof, isFresh } = await proofs.take(file);
    if (proof) body.append("_altcha", proof);
    body.append("file", file); // last: the service knows the rest before the bytes come
    if (signal.aborted) return {};
    const answer = await post(url, body, onProgress, signal);
    if (signal.aborted) return {};
    if (answer.data?.id) return { id: answer.data.id };
    const [{ code, message } = {}] = detailsOf(answer);
    if (code === "proof_of_work_required" && !isFresh && tries < PAUSES.length) {
      proofs.renew();
      continue;
    }
    const { status } = answer;
    if (!status && !(await isReadable(file)))
      return { message: `“${file.name}” was changed or moved. Please choose it again.` };
    const isForLater = !status || /408|429|5../.test(status);
    const wait = Math.max(PAUSES[tries], answer.wait || 0);
    if (!isForLater || tries >= PAUSES.length || wait > PATIENCE)
      return { code, message: message || answer.message || CUT };
    onPause();
    await pause(wait, signal);
  }
};
