import createFetchClient, { type Client, type ClientOptions, mergeHeaders } from "openapi-fetch";
import type { paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";

export type Options = Omit<ClientOptions, "baseUrl"> & {
  /** The address of the service, such as `https://forms.example.com`. */
  url: string;
  /** An access key. Only a publishable one may be in a page. */
  key: string;
};

/** Return an openapi-fetch client whose requests carry the key. */
export function createClient({ url, key, headers, ...options }: Options): Client<paths> {
  return createFetchClient<paths>({
    // `fetch` takes our header along to other origins.
    redirect: "error",
    ...options,
    baseUrl: url,
    headers: mergeHeaders(headers, { "x-access-key": key }),
  });
}
