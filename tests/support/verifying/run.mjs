// Reads [{secret, id, timestamp, signatures, body, now}, ...] from standard input and prints a verdict for each.
import { verify } from "./verify.mjs";

let input = "";
for await (const part of process.stdin.setEncoding("utf8")) input += part;
const verdicts = JSON.parse(input).map((one) =>
  verify(one.secret, one.id, one.timestamp, one.signatures, Buffer.from(one.body), one.now),
);
process.stdout.write(JSON.stringify(verdicts));
