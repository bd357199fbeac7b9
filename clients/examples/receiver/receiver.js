import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

/** Return a server that calls `onEvent` once for each genuine message. */
export function createReceiver(secret, onEvent) {
  const webhook = new Webhook(secret);
  const seen = new Set(); // a message can come again, after a restart too: keep the ids in your database

  return createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += part;
    let event;
    try {
      event = webhook.verify(body, request.headers); // the bytes that came, not JSON that was written again
    } catch {
      response.writeHead(400).end();
      return;
    }
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) onEvent(event);
    seen.add(id);
    response.writeHead(204).end();
  });
}
