import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE = 300; // seconds

// Returns whether this raw body (a Buffer) was signed with `secret` ("whsec_…") within five minutes. `id`, `timestamp`
// and `signatures` are the headers webhook-id, webhook-timestamp and webhook-signature.
export function verify(secret, id, timestamp, signatures, body, now = Date.now() / 1000) {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(" ").some((one) => {
    const [version, value = ""] = one.split(",");
    const signature = Buffer.from(value, "base64");
    return version === "v1" && signature.length === expected.length && timingSafeEqual(signature, expected);
  });
}
