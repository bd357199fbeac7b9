// Submits with Formspree's own clients, unmodified, and prints what they made of the answers.
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const { createClient, isSubmissionError } = require("@formspree/core");
const [endpoint, formId, values, style] = process.argv.slice(2);
const data = JSON.parse(values);
let sent = data;
if (style === "FormData") {
  sent = new FormData();
  for (const [name, value] of Object.entries(data)) sent.append(name, value);
  if (data.cv) sent.set("cv", new Blob([data.cv]), "cv.txt");
}
const result = await createClient().submitForm(formId, sent, { endpoint });
const seen = isSubmissionError(result)
  ? { form: result.getFormErrors(), fields: Object.fromEntries(result.getAllFieldErrors()) }
  : { next: result.next };
process.stdout.write(JSON.stringify({ kind: result.kind, ...seen }));
