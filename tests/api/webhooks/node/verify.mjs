// Reads [{secret, headers, body}, ...] from standard input and prints for each whether the message is genuine.
import { Webhook } from "standardwebhooks";

let input = "";
for await (const part of process.stdin.setEncoding("utf8")) input += part;

const verdicts = JSON.parse(input).map(({ secret, headers, body }) => {
  try {
    return { genuine: true, payload: new Webhook(secret).verify(body, headers) };
  } catch (error) {
    return { genuine: false, why: error.message };
  }
});
process.stdout.write(JSON.stringify(verdicts));
