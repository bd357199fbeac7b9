// Drives `@fieldpost/sdk`: `node driver.mjs BASE_URL KEY WEBHOOK_URL`.

import { type components, createClient } from "@fieldpost/sdk";

declare const process: { argv: string[] };
const [url, key, webhookUrl] = process.argv.slice(2);
const fieldpost = createClient({ url: `${url}/`, key, headers: new Headers({ "X-Request-Id": "of-a-driver" }) });

async function got<Data>(answer: Promise<{ data?: Data; error?: unknown }>): Promise<Data> {
  const { data, error } = await answer;
  if (!data) throw new Error(JSON.stringify(error));
  return data;
}

const fields: components["schemas"]["NewForm"]["fields"] = [
  { label: "Name", type: "Text", required: true },
  { label: "Color", type: "Select", options: ["red", "blue"] },
];
const form = await got(fieldpost.POST("/api/forms", { body: { name: "Contact", fields } }));
const formId = form.data.id;
const published = await got(fieldpost.POST("/api/forms/{id}/publish", { params: { path: { id: formId } } }));

const query = { formId };
const once = { query, header: { "Idempotency-Key": "once" } };
const receipt = await got(
  fieldpost.POST("/api/submit", { params: once, body: { name: "Ada", color: "red", age: 36 } }),
);
const refused = await fieldpost.POST("/api/submit", { params: { query }, body: { name: "" } });
const more = await got(fieldpost.POST("/api/submit", { params: { query }, body: { name: "Bob" } }));

const followed: string[] = [];
let cursor = "";
// A submission can be read on within seconds.
while (followed.length < 2) {
  const params = { query: { formId, cursor, limit: 1 } };
  const page = await got(fieldpost.GET("/api/submissions", { params }));
  followed.push(...page.data.map((row) => row.id));
  cursor = page.pagination.next ?? "";
  if (!page.pagination.hasMore) await new Promise((resolve) => setTimeout(resolve, 100));
}

const listed = await got(fieldpost.GET("/api/submissions", { params: { query } }));
const wanted = { params: { query: { formId, format: "csv" as const } }, parseAs: "text" as const };
const exported = await got(fieldpost.GET("/api/submissions/export", wanted));
const webhook = await got(
  fieldpost.POST("/api/webhooks", { body: { formId, url: webhookUrl, events: ["submission.created"] } }),
);
const issued = await got(fieldpost.POST("/api/keys", { body: { name: "Reader", permissions: ["forms:read"] } }));

console.log(
  JSON.stringify({
    form: formId,
    fields: published.data.fields.map((field) => [field.name, field.type, field.required]),
    status: published.data.status,
    submissions: [receipt.data.id, more.data.id],
    followed,
    refused: [refused.error?.error, refused.error?.details?.[0].field],
    listed: listed.data.map((row) => [row.id, row.data]),
    exported,
    webhook: [webhook.data.id, webhook.data.url, webhook.data.events],
    secret: webhook.data.secret,
    key: issued.data.key,
    permissions: issued.data.permissions,
  }),
);
