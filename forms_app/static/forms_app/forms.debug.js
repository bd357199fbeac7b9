/*
 * Explains in the console why forms are not sent. Loaded on localhost, and with `data-debug` on the tag; so it may do
 * things that a page of visitors should not meet: it watches methods of the browser.
 */
const warned = new WeakSet(); // elements that were named

const say = (text, ...values) => console.warn(`Fieldpost: ${text}`, ...values);

const sayClosed = (element) => {
  if (warned.has(element)) return;
  warned.add(element);
  say("this element has a closed shadow root. Forms in it are not sent: open it, or call the API from it.", element);
};

/** Returns why forms.js does not handle a form, or nothing. */
const reasonOf = (form, button) => {
  if (form.matches("[data-fieldpost-ignore]")) return "it has data-fieldpost-ignore";
  const method = button?.getAttribute("formmethod") || form.getAttribute("method") || "";
  if (/^dialog$/i.test(button?.getAttribute("formmethod"))) return "its button has formmethod=dialog";
  if (form.matches("[data-form-id], .w-form form")) return;
  if (/^(get|dialog)$/i.test(method)) return `its method is ${method.toLowerCase()}`;
  if (form.closest("search, [role=search]")) return "it is a search";
  if (form.matches("[hx-get]")) return "htmx gets a page with it";
};

/** Says why the submit of a form did not reach the service, when all its listeners have run. */
const explainSubmit = (event, isSent, wasBusy, cancelers) => {
  const form = event.target;
  const reason = reasonOf(form, event.submitter);
  if (reason) say(`this form is not sent, because ${reason}. With data-form-id on the form, it is.`, form);
  else if (wasBusy)
    say("this form was still being sent, so this submit is not sent. Wait until it has no aria-busy any more.", form);
  else if (isSent() || form.getAttribute("aria-busy") === "true") return;
  else if (event.defaultPrevented)
    say("another script has canceled the submit of this form, so it is not sent.", form, cancelers.join("\n"));
  else say("another script has stopped the submit event of this form, so it is not sent.", form);
};

const OTHERS = "button, fieldset, object, output, [type=submit], [type=button], [type=reset], [type=image]";

/** Names the inputs of a form that have neither name nor id, once each. */
const findNameless = (form) => {
  for (const input of Reflect.get(HTMLFormElement.prototype, "elements", form)) {
    if (input.getAttribute("name") || input.id || input.matches(OTHERS) || warned.has(input)) continue;
    warned.add(input);
    const label = input.ariaLabel || input.labels?.[0]?.textContent.trim();
    const fate = label ? `is sent under its label, “${label}”` : "is not sent";
    say(`this input has no name and no id, so its value ${fate}. Give it a name.`, input);
  }
};

const onSubmit = (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  let isSent = false;
  const wasBusy = form.getAttribute("aria-busy") === "true";
  const cancelers = [];
  const note = () => {
    isSent = true;
  };
  for (const name of ["submit", "error"]) form.addEventListener(`fieldpost:${name}`, note, { once: true });
  event.preventDefault = () => {
    cancelers.push(new Error("Canceled here").stack);
    Event.prototype.preventDefault.call(event);
  };
  setTimeout(() => explainSubmit(event, () => isSent, wasBusy, cancelers));
  if (!reasonOf(form, event.submitter)) findNameless(form);
};

/** Focus in a closed shadow root is seen from outside on its host, which cannot have it. */
const onFocus = ({ target }) => {
  const isHost = target instanceof HTMLElement && !target.shadowRoot && target.tabIndex < 0;
  if (isHost && target !== document.body && !target.isContentEditable) sayClosed(target);
};

const watchMethods = () => {
  const { submit } = HTMLFormElement.prototype;
  HTMLFormElement.prototype.submit = function () {
    say(
      "a script calls submit() of this form. That makes no submit event, so it is not sent: call requestSubmit().",
      this,
    );
    return submit.call(this);
  };
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (options) {
    if (options?.mode === "closed") sayClosed(this);
    return attachShadow.call(this, options);
  };
};

/** A custom element without children that is drawn has them in a shadow root. */
const findClosed = () => {
  for (const element of document.querySelectorAll(":defined"))
    if (element.localName.includes("-") && !element.shadowRoot && !element.firstChild && element.offsetHeight)
      sayClosed(element);
};

/** Starts to watch the page. */
export const watch = (key) => {
  if (!key) say("the script tag has no data-key, so nothing can be sent. The dashboard shows the tag of each form.");
  watchMethods();
  addEventListener("submit", onSubmit, true);
  addEventListener("focusin", onFocus, true);
  onFocus({ target: document.activeElement });
  if (document.readyState === "complete") findClosed();
  else addEventListener("load", findClosed);
};
