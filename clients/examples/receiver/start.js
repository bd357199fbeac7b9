import { createReceiver } from "./receiver.js";

const server = createReceiver(process.env.WEBHOOK_SECRET, ({ data }) => {
  console.log(`${data.formName}: ${data.data.email} wrote: ${data.data.message}`);
});
const port = Number(process.env.PORT ?? 3000);
server.listen(port, "127.0.0.1", () => console.log(`Listening on http://localhost:${port}`));
