/*
 * Fieldpost's forms.js: sends the forms of a page to the service that it was loaded from (docs/contract.md 6).
 *
 *     <script src="https://forms.example.com/forms.js" data-key="fp_pub_…" data-form-id="frm_…"></script>
 *
 * A submission is saved in localStorage before it is sent and removed after a final response. So a closed tab, a lost
 * connection or a restarted service loses nothing: the next page load, or `online`, sends it again with the same
 * idempotency key, and the service stores it once.
 *
 * PROOF_FILE and PROOF_INTEGRITY stand for the name and the SRI hash of forms.proof.js; the build fills them in.
 */
(() => {
  const script = document.currentScript;
  const STORE = `fieldpost:${new URL(".", script.src)}`;
  const KEPT = 7 * 864e5; // milliseconds during which an unsent submission is retried
  const PAUSES = [1e3, 3e3]; // milliseconds before the second and the third try
  const PATIENCE = 1e4; // milliseconds; a longer Retry-After is waited out in the store
  const LATER = 6e4; // milliseconds until the store is tried again while the page stays
  const QUEUED = "This could not be sent yet. It is saved and will be sent by itself.";
  const FAILED = "This could not be sent. Please try again.";
  const MARKED = "Please check the marked fields, then send again.";
  const NO_FILES = "Files cannot be sent with this form. Remove the file, then send again.";
  const fills = new WeakMap(); // form -> [body, id]: pressing again after a failure is the same fill
  const slots = new WeakMap(); // form -> its elements for the messages success, error, queued
  const flagged = new WeakMap(); // input -> [the element with its message, its aria-describedby before]
  const underWay = new Set(); // ids being sent
  const watchers = new Map(); // id -> [form that waits for the result, its values when it was sent]
  const proven = new Map(); // id -> body with its proof of work: pressing again is the same request

  // An input called "reset" or "elements" hides the form's own property; the prototype's is out of its reach.
  const own = (form, name) => Reflect.get(HTMLFormElement.prototype, name, form);
  const call = (form, name, ...values) => HTMLFormElement.prototype[name].apply(form, values);
  const isForm = (target) => target instanceof HTMLFormElement; // components have events of that name, too
  const setting = (form, name) =>
    call(form, "getAttribute", `data-${name}`) || script.getAttribute(`data-${name}`) || "";
  const address = (path) => new URL(path, script.src);
  const newId = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
  /** Dispatches an event; returns false when a listener has canceled the default action. */
  const emit = (form, name, detail) =>
    call(form, "dispatchEvent", new CustomEvent(`fieldpost:${name}`, { bubbles: true, cancelable: true, detail }));

  // The store: a list of {id, url, key, body, at} --------------------------------------------------------------------
  const read = (text) => {
    try {
      return [].concat(JSON.parse(text) || []);
    } catch {
      return []; // somebody else wrote there
    }
  };
  /** Stores the list as changed by `edit` and returns it; returns an empty list where storage is forbidden or full. */
  const change = (edit) => {
    try {
      const items = edit(read(localStorage.getItem(STORE)));
      localStorage.setItem(STORE, JSON.stringify(items));
      return items;
    } catch {
      return []; // the submission is sent anyway, but does not outlive the page
    }
  };
  const drop = ({ id }) => change((items) => items.filter((one) => one.id !== id));
  const keep = (item) => change((items) => [...items.filter((one) => one.id !== item.id), item]).length > 0;

  // Sending ----------------------------------------------------------------------------------------------------------
  /** Returns the service's response {status, success, …}, or {wait} in milliseconds when a retry is needed. */
  const attempt = async ({ url, key, id, body }, isFirst) => {
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-access-key": key, "Idempotency-Key": id },
        body,
        credentials: "omit",
        keepalive: isFirst && body.length < 2e4, // outlives the page; browsers allow 64 KiB of it, in bytes
      });
      const { status } = answer;
      if (status === 429 || (status > 501 && status < 505)) return { wait: answer.headers.get("Retry-After") * 1e3 };
      return { status, ...(await answer.json().catch(() => ({}))) };
    } catch {
      return {}; // no network, no server, or the page is being closed
    }
  };
  const sendWithPatience = async (item) => {
    for (let tries = 0; ; tries++) {
      const answer = await attempt(item, !tries);
      if (answer.status) return answer;
      answer.wait ||= PAUSES[tries] || LATER;
      if (answer.wait > PATIENCE || tries >= PAUSES.length) return answer;
      await new Promise((done) => setTimeout(done, answer.wait));
    }
  };
  /** Loads the solver, only for a form that needs it, and returns the solution of a fresh challenge for its id. */
  const prove = ({ url }) =>
    new Promise((done, failed) => {
      const tag = document.createElement("script");
      tag.onload = () => tag.solve(address(`f/challenge${new URL(url).search}`)).then(done, failed);
      tag.onerror = failed;
      const checked = { integrity: PROOF_INTEGRITY, crossOrigin: "anonymous" };
      document.head.append(Object.assign(tag, checked, { src: address(PROOF_FILE) }));
    });
  const send = async (item) => {
    underWay.add(item.id);
    try {
      const answer = await sendWithPatience(item);
      if (answer.details?.[0].code !== "proof_of_work_required") return answer;
      item.body = JSON.stringify({ ...JSON.parse(item.body), _altcha: await prove(item) });
      proven.set(item.id, item.body);
      keep(item); // before it is sent: a retry must be the same request
      return await sendWithPatience(item);
    } catch {
      return { wait: LATER }; // the solver could not be loaded
    } finally {
      underWay.delete(item.id);
    }
  };
  /** Sends the stored submissions; without a form on the page, drops only those that no retry could fix. */
  const flush = async () => {
    for (const item of change((items) => items.filter(({ at }) => Date.now() - at < KEPT))) {
      if (underWay.has(item.id)) continue;
      const answer = await send(item);
      const [form, before] = watchers.get(item.id) || [];
      if (!answer.status) later(item, form, answer.wait, before);
      else if (form || ![401, 403, 404, 500].includes(answer.status)) drop(item);
      if (answer.status && fills.get(form)?.[1] === item.id) fills.delete(form);
      if (form && answer.status) finish(form, answer, null, JSON.parse(item.body), before !== valuesOf(form));
    }
  };
  const later = ({ id }, form, wait, before) => {
    if (!form) return; // the next load or `online`
    watchers.set(id, [form, before]);
    setTimeout(flush, wait);
  };

  // Collecting --------------------------------------------------------------------------------------------------------
  const controls = (form) => [...own(form, "elements")];
  const valuesOf = (form) => JSON.stringify([...new FormData(form)]);
  /** Returns names mapped to strings, or lists of strings. Throws an error response when a file was chosen. */
  const collect = (form, button) => {
    const data = Object.create(null);
    // By `autocomplete` too: a button that shows a password turns it into a text input.
    const secret = controls(form).map(
      ({ type, autocomplete, name }) => `${type} ${autocomplete}`.includes("password") && name,
    );
    const entries = [...new FormData(form)];
    if (button?.name && button.type === "submit") entries.push([button.name, button.value]);
    for (const [name, value] of entries) {
      if (secret.includes(name)) continue;
      if (typeof value === "string") data[name] = name in data ? [].concat(data[name], value) : value;
      else if (value.name) throw { details: [{ field: name, message: NO_FILES }] };
    }
    const webhook = setting(form, "webhook-url");
    if (webhook) data._webhook = webhook;
    return data;
  };

  // What the visitor sees --------------------------------------------------------------------------------------------
  const add = (tag, attribute, place) => {
    const element = document.createElement(tag);
    element.setAttribute(attribute, "");
    place(element);
    return element;
  };
  const findSlot = (form, kind, button) => {
    const attribute = `data-fieldpost-${kind}`;
    const alone = document.forms.length < 2 && document.querySelector(`[${attribute}]`);
    const given = call(form, "querySelector", `[${attribute}]`) || alone;
    // A form directly inside a table has no box, so its children would not be drawn either.
    const isDrawn = call(form, "getClientRects").length || !button;
    const place = (element) =>
      isDrawn ? call(form, "append", element) : (button.closest("table") || button).after(element);
    const slot = given || add("p", attribute, place);
    if (!slot.hasAttribute("role")) slot.setAttribute("role", kind === "error" ? "alert" : "status");
    return [slot, kind === "success" && slot.textContent.trim()];
  };
  /** Shows one message; without a kind, none. Keeps a page's own success text, but replaces its error text. */
  const say = (form, kind, text, button) => {
    if (!slots.has(form)) slots.set(form, {});
    const known = slots.get(form);
    if (kind) known[kind] ||= findSlot(form, kind, button);
    for (const [name, [slot, words]] of Object.entries(known)) {
      slot.hidden = name !== kind;
      if (name === kind && !words) slot.textContent = text;
    }
  };
  const clear = (form) => {
    say(form);
    for (const input of controls(form)) {
      if (!flagged.has(input)) continue;
      const [note, described] = flagged.get(input);
      note.remove();
      flagged.delete(input);
      input.removeAttribute("aria-invalid");
      if (described) input.setAttribute("aria-describedby", described);
      else input.removeAttribute("aria-describedby");
    }
  };
  const complain = (form, { details = [], message }, button) => {
    const inputs = new Map(
      controls(form)
        .map((input) => [input.type === "hidden" || input.name, input])
        .reverse(),
    );
    const unplaced = [];
    let first;
    for (const detail of details) {
      const input = inputs.get(detail.field);
      if (!input) unplaced.push(detail.message);
      if (!input || flagged.has(input)) continue;
      const place = (element) => (input.closest("label") || input).after(element);
      const note = add("span", "data-fieldpost-field-error", place);
      const described = input.getAttribute("aria-describedby"); // the page's own hint
      flagged.set(input, [note, described]);
      note.textContent = detail.message;
      note.id = `fieldpost-${newId()}`;
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", described ? `${described} ${note.id}` : note.id);
      first ||= input;
    }
    say(form, "error", unplaced.join(" ") || (first && MARKED) || message || FAILED, button);
    first?.focus();
  };
  /** Navigates to the target; returns whether it is a web address. */
  const leave = (target) => {
    try {
      const url = new URL(target, location.href);
      if (!/^https?:$/.test(url.protocol)) return false;
      location.assign(url);
      return true;
    } catch {
      return false; // not an address: the message that is shown is all there is to see
    }
  };
  /** Shows a response. Returns true when the browser navigates to another page. */
  const finish = (form, answer, button, data = {}, isChanged = false) => {
    clear(form);
    if (!answer.success) {
      if (emit(form, "error", answer)) complain(form, answer, button);
      return;
    }
    if (!isChanged) fills.delete(form);
    if (!emit(form, "success", answer)) return;
    say(form, "success", answer.message, button);
    if (isChanged) return; // an earlier fill has arrived while the visitor types the next one
    call(form, "reset");
    // Without the underscore these names may be data; then they have to look like an address.
    const alias = [data.redirect, data.redirectTo].find((value) => /^(https?:\/\/|\/)/.test(value));
    const target = setting(form, "redirect") || data._next || alias;
    return target && leave(target);
  };

  // A submit ---------------------------------------------------------------------------------------------------------
  const itemOf = (form, data) => {
    const body = JSON.stringify(data);
    const url = address("api/submit");
    const formId = setting(form, "form-id");
    if (formId) url.searchParams.set("formId", formId);
    if (fills.get(form)?.[0] !== body) fills.set(form, [body, newId()]);
    return { id: fills.get(form)[1], url: url.href, key: script.getAttribute("data-key"), body, at: Date.now() };
  };
  const deliver = async (form, button, data) => {
    const item = itemOf(form, data);
    if (underWay.has(item.id)) return; // the store is sending it just now
    item.body = proven.get(item.id) || item.body;
    const before = valuesOf(form);
    const isKept = keep(item);
    const answer = await send(item);
    if (answer.status) drop(item);
    if (answer.status || !isKept) return finish(form, answer, button, data);
    later(item, form, answer.wait, before);
    clear(form);
    if (emit(form, "queued", answer)) say(form, "queued", QUEUED, button);
  };
  const submit = async (form, button) => {
    if (call(form, "hasAttribute", "aria-busy")) return; // a double click
    let data;
    try {
      data = collect(form, button);
    } catch (refusal) {
      return finish(form, refusal, button);
    }
    if (!emit(form, "submit", { data })) return;
    const buttons = [...controls(form), button].filter((one) => one?.type === "submit" && !one.disabled);
    const disable = (is) => {
      for (const one of buttons) one.disabled = is;
    };
    call(form, "setAttribute", "aria-busy", "true");
    disable(true);
    const free = () => {
      call(form, "removeAttribute", "aria-busy");
      disable(false);
    };
    let isLeft;
    try {
      isLeft = await deliver(form, button, data);
    } finally {
      // While the next page is on its way, a click would send the emptied form.
      if (isLeft) addEventListener("pagehide", free, { once: true });
      setTimeout(free, isLeft ? PATIENCE : 0); // it may have been a download
    }
  };
  const take = (event) => {
    const form = event.target;
    if (!isForm(form)) return;
    const method = event.submitter?.getAttribute("formmethod") || own(form, "method");
    if (call(form, "hasAttribute", "data-fieldpost-ignore") || method === "dialog") return;
    event.preventDefault();
    submit(form, event.submitter);
  };
  // In the bubble phase, so that a page's own checks run first and can cancel.
  addEventListener("submit", (event) => event.defaultPrevented || take(event));
  // Webflow's script cancels every submit of its forms, even those it cannot send: take these in the capture phase.
  addEventListener(
    "submit",
    (event) => {
      if (!isForm(event.target) || !call(event.target, "closest", ".w-form")) return;
      take(event);
      if (event.defaultPrevented) event.stopImmediatePropagation();
    },
    true,
  );
  addEventListener("online", flush);
  flush();
})();
