/*
 * Fieldpost's forms.js: sends the forms of a page to the service that it was loaded from (docs/contract.md 6).
 *
 *     <script src="https://forms.example.com/forms.js" data-key="fp_pub_…" data-form-id="frm_…"></script>
 *
 * A submission is saved in localStorage before it is sent and removed after a final response. So a closed tab, a lost
 * connection or a restarted service loses nothing: the next page load, or `online`, sends it again with the same
 * idempotency key, and the service stores it once.
 *
 * What few pages need is in forms.more.js, loaded when it is needed. The build replaces MORE_FILE and
 * MORE_INTEGRITY by its name and its SRI hash.
 */
(() => {
  // A module has no current script: its tag is the one with the address of the running code.
  const script =
    document.currentScript || [...document.scripts].find(({ src }) => src && new Error().stack.includes(src));
  const key = script.getAttribute("data-key");
  const KEPT = 7 * 864e5; // milliseconds during which an unsent submission is retried
  const PAUSES = [1e3, 3e3]; // milliseconds before the second and the third try
  const PATIENCE = 1e4; // milliseconds; a longer Retry-After is waited out in the store
  const LATER = 6e4; // milliseconds until the store is tried again while the page stays
  const QUEUED = "This could not be sent yet. It is saved and will be sent by itself.";
  const FAILED = "This could not be sent. Please try again.";
  // Forms that fetch something for the page. A form that wants to be sent anyway has its own data-form-id.
  const SEARCHES = "search,[role=search],form[hx-get]";
  const underWay = new Set(); // ids that are being sent, or that a form of this page waits for
  // form[STATE]: {press: the submit event, text and item: the last fill, slots: {kind: [element, page's own words]}}
  const STATE = Symbol();

  // An input called "reset" or "elements" hides the form's own property; the prototype's is out of its reach.
  const call = (form, name, ...values) => HTMLFormElement.prototype[name].apply(form, values);
  const attribute = (form, name) => call(form, "getAttribute", name);
  const setting = (form, name) => attribute(form, `data-${name}`) || script.getAttribute(`data-${name}`);
  const address = (path) => new URL(path, script.src);
  const STORE = `fieldpost:${address(".")}`;
  const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
  /** Dispatches an event; returns false when a listener has canceled the default action. */
  const emit = (form, name, detail) =>
    call(
      form,
      "dispatchEvent",
      new CustomEvent(`fieldpost:${name}`, { bubbles: true, cancelable: true, composed: true, detail }),
    );

  // Further files -----------------------------------------------------------------------------------------------------
  let failures = ""; // browsers remember by its address that a module could not be loaded: this makes a new address
  /**
   * Loads a module; returns an empty one when that fails. The preload checks its hash, as `import` cannot; a script tag
   * would need a trusted type.
   */
  const load = (file, integrity) =>
    new Promise((done) => {
      const { href } = address(file + failures);
      const link = document.createElement("link");
      link.onerror = () => {
        failures += "?";
        done({});
      };
      link.onload = () => import(href).then(done, link.onerror);
      document.head.append(Object.assign(link, { rel: "modulepreload", href, integrity }));
      if (!link.relList.supports(link.rel)) link.onload();
    });
  /** Calls a function of forms.more.js; does nothing when that cannot be loaded. */
  const more = (name, ...values) => load(MORE_FILE, MORE_INTEGRITY).then((module) => module[name]?.(...values));

  // The store: a list of {id, url, key, body, at} --------------------------------------------------------------------
  /** Stores the list as changed by `edit` and returns it; returns an empty list where storage is forbidden or full. */
  const change = (edit) => {
    let items = [];
    try {
      items = items.concat(JSON.parse(localStorage.getItem(STORE)) || []);
    } catch {} // forbidden, or somebody else wrote there
    try {
      items = edit(items);
      localStorage.setItem(STORE, JSON.stringify(items));
      return items;
    } catch {
      return []; // the submission is sent anyway, but does not outlive the page
    }
  };
  const drop = ({ id }) => change((items) => items.filter((one) => one.id !== id));
  const keep = (item) => change((items) => [...items.filter((one) => one.id !== item.id), item]).length;

  // Sending ----------------------------------------------------------------------------------------------------------
  /** Returns the service's response {status, success, …}, or {wait} in milliseconds when a retry is needed. */
  const attempt = async (item, isFirst, isProven) => {
    const { body } = item;
    try {
      const answer = await fetch(item.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-access-key": item.key, "Idempotency-Key": item.id },
        body,
        credentials: "omit",
        keepalive: isFirst && body.length < 2e4, // outlives the page; browsers allow 64 KiB of it, in bytes
      });
      const { status } = answer;
      if (/429|50[234]/.test(status)) return { wait: answer.headers.get("Retry-After") * 1e3 };
      const response = { status, ...(await answer.json().catch(() => ({}))) };
      if (isProven || response.details?.[0].code !== "proof_of_work_required") return response;
      item.body = (await more("prove", load, item)).body;
      keep(item); // before it is sent: a retry must be the same request
      return attempt(item, isFirst, true);
    } catch {
      return {}; // no network, no server, or the page is being closed
    }
  };
  const send = async (item) => {
    underWay.add(item.id);
    for (let tries = 0; ; tries++) {
      const answer = await attempt(item, !tries);
      const wait = answer.wait || PAUSES[tries] || LATER;
      if (answer.status || wait > PATIENCE || tries > 1) {
        underWay.delete(item.id);
        return { wait, ...answer };
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  };
  /** Sends the submissions of earlier pages. Drops those with a final response, unless it may be another some day. */
  const flush = async () => {
    for (const item of change((items) => items.filter((item) => Date.now() - item.at < KEPT))) {
      if (underWay.has(item.id)) continue;
      const { status } = await send(item);
      if (status && !/40[134]|500/.test(status)) drop(item);
    }
  };

  // Collecting --------------------------------------------------------------------------------------------------------
  const controls = (form) => [...Reflect.get(HTMLFormElement.prototype, "elements", form)];
  /**
   * Returns pairs of name and value as a browser sends them, without secrets. Nameless inputs go under their id, else
   * under the beginning of their label.
   */
  const entriesOf = (form) => {
    const inputs = controls(form);
    const nameless = inputs.filter((input) => !attribute(input, "name"));
    for (const input of nameless)
      input.setAttribute(
        "name",
        input.id || input.ariaLabel || input.labels?.[0]?.textContent.trim().slice(0, 100) || "",
      );
    // By `autocomplete` too: a button that shows a password turns it into a text input.
    const secret = inputs.map(
      (input) =>
        /password|one-time-code|\bcc-/i.test(`${input.type} ${attribute(input, "autocomplete")}`) && input.name,
    );
    const entries = [...new FormData(form)].filter(([name]) => !secret.includes(name));
    for (const input of nameless) input.removeAttribute("name");
    return entries;
  };
  const valuesOf = (form) => JSON.stringify(entriesOf(form));

  // What the visitor sees --------------------------------------------------------------------------------------------
  /**
   * Adds an element, and hides it from its neighbour's `nextSibling`: a framework that hydrates the page compares its
   * nodes with these, and would throw away the form and the message for one node too many.
   */
  const add = (tag, attribute, place) => {
    const element = document.createElement(tag);
    element.setAttribute(attribute, "");
    place(element);
    const node = element.previousSibling;
    const get = () => {
      const next = Reflect.get(Node.prototype, "nextSibling", node);
      return next === element ? element.nextSibling : next;
    };
    if (node) Object.defineProperty(node, "nextSibling", { configurable: true, get });
    return element;
  };
  const findSlot = (form, kind) => {
    const attribute = `data-fieldpost-${kind}`;
    const alone = document.forms.length < 2 && document.querySelector(`[${attribute}]`);
    const given = call(form, "querySelector", `[${attribute}]`) || alone;
    const slot = given || add("p", attribute, (element) => call(form, "append", element));
    if (!slot.hasAttribute("role")) slot.setAttribute("role", kind === "error" ? "alert" : "status");
    return [slot, kind === "success" && slot.textContent.trim()];
  };
  /** Returns whether an element is on plain white, and has no keys of a framework (a form has those of its inputs). */
  const isPlain = (at) =>
    !at ||
    (/^rgb(a.0, 0, 0, 0.|.255, 255, 255.)[\d,]*$/.test(getComputedStyle(at).backgroundColor + Object.keys(at)) &&
      isPlain(at.parentElement));
  /** Shows one message; without a kind, none. Keeps a page's own success text, but replaces its error text. */
  const say = (form, kind, text, inputs) => {
    const { slots } = form[STATE];
    if (kind) slots[kind] ||= findSlot(form, kind);
    for (const [name, [slot, words]] of Object.entries(slots)) {
      slot.hidden = name !== kind;
      if (slot.hidden) continue;
      if (!words) slot.textContent = text;
      slot.scrollIntoView({ block: "nearest" });
      if (!slot.offsetHeight || !isPlain(slot)) more("finish", slot, inputs);
    }
  };
  const complain = async (form, { details = [], message }) => {
    const text = details[0] && (await more("mark", form, controls(form), details, add));
    say(form, "error", text || message || FAILED);
  };
  /** Shows a response. Ends when a page that it leads to is there. */
  const finish = async (form, answer, item, isChanged) => {
    say(form);
    if (!answer.success) {
      if (emit(form, "error", answer)) await complain(form, answer);
      return;
    }
    if (form[STATE].item === item) form[STATE].text = "";
    if (!emit(form, "success", answer)) return;
    if (!isChanged) call(form, "reset"); // else, an earlier fill has arrived while the visitor types the next one
    say(form, "success", answer.message, !isChanged && controls(form));
    const redirect = setting(form, "redirect");
    if (!isChanged && (redirect || /"_next"|"redirect/.test(item.body))) await more("leave", redirect, item.body);
  };

  const page = [load, setting, controls, add, say]; // for further files

  // A submit ---------------------------------------------------------------------------------------------------------
  /** Sends an item and shows the result. When it has to wait, goes on later, with the values of the form by then. */
  const deliver = async (form, item, before) => {
    const now = valuesOf(form);
    const isKept = keep(item);
    const answer = await send(item);
    if (answer.status || !isKept) {
      drop(item);
      return finish(form, answer, item, before && before !== valuesOf(form));
    }
    underWay.add(item.id);
    new Promise((done) => {
      item.wake = done;
      setTimeout(done, answer.wait);
      addEventListener("online", done);
    }).then(() => deliver(form, item, before || now));
    if (before) return;
    say(form);
    if (emit(form, "queued", answer)) say(form, "queued", QUEUED);
  };
  const submit = async (form, button) => {
    if (call(form, "hasAttribute", "aria-busy")) return; // a double click
    const entries = entriesOf(form);
    if (button?.name && button.type === "submit") entries.push([button.name, button.value]);
    const data = Object.create(null);
    for (const [name, value] of entries)
      if (value.trim) data[name] = name in data ? [].concat(data[name], value) : value;
    const webhook = setting(form, "webhook-url");
    if (webhook) data._webhook = webhook;
    if (!emit(form, "submit", { data })) return;
    const buttons = [...controls(form), button].filter((one) => one?.type === "submit" && !one.disabled);
    const setBusy = (is) => {
      call(form, is ? "setAttribute" : "removeAttribute", "aria-busy", is);
      for (const one of buttons) one.disabled = is;
    };
    setBusy(true);
    const files = entries.filter(([, value]) => value.name);
    // Puts the ids of the files into the data. An answer is a failure; no answer at all, code that cannot be loaded.
    const failure = files[0] && ((await more("files", page, form, files, data, submit, button)) ?? {});
    const known = form[STATE];
    const body = JSON.stringify(data);
    // Pressed again after a failure, it is the same fill and the same item, maybe with its proof of work.
    if (known.text !== body) {
      const url = address("api/submit");
      const formId = setting(form, "form-id");
      if (formId) url.searchParams.set("formId", formId);
      known.text = body;
      known.item = { id: newId(), url: url.href, key, body, at: Date.now() };
    }
    if (failure) await finish(form, failure);
    else if (underWay.has(known.item.id)) known.item.wake();
    else await deliver(form, known.item);
    setBusy(false);
  };
  // Webflow writes method="get" on all of its forms, and sends them by a script.
  const isWebflows = (form) => call(form, "matches", ".w-form form");
  /** Returns whether a form is to be sent, and not a search, a dialog, or one that its page keeps. */
  const isOurs = (form, button) => {
    if (call(form, "hasAttribute", "data-fieldpost-ignore")) return false;
    const method = button?.getAttribute("formmethod");
    if (/dialog/i.test(method)) return false; // a button that closes, in any form
    const isSearch = /get|dialog/i.test(method || attribute(form, "method")) || call(form, "closest", SEARCHES);
    return attribute(form, "data-form-id") || isWebflows(form) || !isSearch;
  };
  const take = (event) => {
    const form = event.form || event.target; // Unpoly's event is on the button
    const press = form[STATE]?.press;
    if (!press || event.defaultPrevented) return;
    event.preventDefault();
    form[STATE].press = 0; // what a framework sends next is not what a visitor has submitted
    const action = attribute(form, "action");
    if (action?.includes("//")) more("explainAction", action);
    submit(form, press.submitter);
  };
  /** Runs before every other script. */
  const prepare = (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return; // components have events of that name, too
    form[STATE] ||= { slots: {} };
    form[STATE].press = isOurs(form, event.submitter) && event;
    if (form[STATE].press) call(form, "setAttribute", "data-turbo", false); // then Turbo does not take it
    // Webflow's script cancels every submit of its forms, even those it cannot send: take these now.
    if (!isWebflows(form)) return;
    take(event);
    if (event.defaultPrevented) event.stopImmediatePropagation();
  };
  const listen = (root) => {
    root.addEventListener("submit", prepare, true);
    root.addEventListener("submit", take); // in the bubble phase, so that a page's own checks run first and can cancel
  };
  listen(window);
  // A submit event does not leave its shadow root, but these do, and come before it.
  for (const type of ["focusin", "keydown", "click"])
    addEventListener(
      type,
      (event) => event.composedPath().some((root) => root instanceof ShadowRoot && listen(root)),
      true,
    );
  // htmx and Unpoly cancel the submit, and announce in this way that they send the form themselves.
  addEventListener("htmx:beforeRequest", take);
  addEventListener("up:form:submit", take);
  addEventListener("online", flush);
  // A secret or a test key, the developer's own machine, or a question: explain what is wrong.
  if (/_test|localhost$|^[^_]+_[^_]+ /.test(`${key} ${location.hostname}`) || "debug" in script.dataset)
    more("explain", load, script);
  flush();
  try {
    if (sessionStorage[STORE]) more("refill", page); // the page was reloaded before its files were taken
  } catch {} // forbidden
})();
