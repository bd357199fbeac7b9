import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { createReceiver } from "./receiver.js";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = JSON.stringify({
  type: "submission.created",
  data: { formName: "Contact", data: { email: "ada@example.com" } },
});

test("a genuine message counts once, a forged one not at all", async (context) => {
  const events = [];
  const server = createReceiver(SECRET, (event) => events.push(event)).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");

  const send = (secret) => {
    const headers = { "webhook-id": "msg_1", "webhook-timestamp": `${Math.floor(Date.now() / 1000)}` };
    const signature = new Webhook(secret).sign("msg_1", new Date(), BODY);
    const options = { method: "POST", body: BODY, headers: { ...headers, "webhook-signature": signature } };
    return fetch(`http://127.0.0.1:${server.address().port}/`, options).then(({ status }) => status);
  };

  assert.deepEqual([await send(SECRET), await send(SECRET)], [204, 204]);
  assert.equal(await send("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), 400);
  assert.deepEqual(events, [JSON.parse(BODY)]);
});
