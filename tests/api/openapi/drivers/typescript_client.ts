// Drives the client that `@hey-api/openapi-ts` has generated: `node driver.js BASE_URL KEY WEBHOOK_URL`.

import {
  createForm,
  createKey,
  createWebhook,
  exportSubmissions,
  listSubmissions,
  publishForm,
  submitForm,
} from "./client";
import { client } from "./client/client.gen";

declare const process: { argv: string[] };
const [baseUrl, key, webhookUrl] = process.argv.slice(2);
client.setConfig({ baseUrl, auth: key });
const throwOnError = true;

const form = await createForm({
  body: {
    name: "Contact",
    fields: [
      { label: "Name", type: "Text", required: true },
      { label: "Color", type: "Select", options: ["red", "blue"] },
    ],
  },
  throwOnError,
});
const formId = form.data.data.id;
const published = await publishForm({ path: { id: formId }, throwOnError });

const receipt = await submitForm({
  query: { formId },
  headers: { "Idempotency-Key": "once" },
  body: { name: "Ada", color: "red", age: 36 },
  throwOnError,
});
const refused = await submitForm({ query: { formId }, body: { name: "" } });

const more = await submitForm({ query: { formId }, body: { name: "Bob" }, throwOnError });
const followed: string[] = [];
let cursor = "";
// A submission can be read on within seconds.
while (followed.length < 2) {
  const page = (await listSubmissions({ query: { formId, cursor, limit: 1 }, throwOnError })).data;
  followed.push(...page.data.map((row) => row.id));
  cursor = page.pagination.next ?? "";
  if (!page.pagination.hasMore) await new Promise((resolve) => setTimeout(resolve, 100));
}

const listed = await listSubmissions({ query: { formId }, throwOnError });
const exported = await exportSubmissions({ query: { formId, format: "csv" }, parseAs: "text", throwOnError });
const webhook = await createWebhook({
  body: { formId, url: webhookUrl, events: ["submission.created"] },
  throwOnError,
});
const issued = await createKey({ body: { name: "Reader", permissions: ["forms:read"] }, throwOnError });

console.log(
  JSON.stringify({
    form: formId,
    fields: published.data.data.fields.map((field) => [field.name, field.type, field.required]),
    status: published.data.data.status,
    submissions: [receipt.data.data.id, more.data.data.id],
    followed,
    refused: [refused.error?.error, refused.error?.details?.[0].field],
    listed: listed.data.data.map((row) => [row.id, row.data]),
    exported: exported.data,
    webhook: [webhook.data.data.id, webhook.data.data.url, webhook.data.data.events],
    secret: webhook.data.data.secret,
    key: issued.data.data.key,
    permissions: issued.data.data.permissions,
  }),
);
