import {
  type FieldValues,
  type ServerError,
  type SubmissionData,
  SubmissionError,
  type SubmissionResult,
  SubmissionSuccess,
} from "./results.js";

export type SubmissionOptions = { endpoint?: string };
export type Client = {
  submitForm<T extends FieldValues>(
    formKey: string,
    data: SubmissionData<T>,
    options?: SubmissionOptions,
  ): Promise<SubmissionResult<T>>;
};

const NOT_SENT = "The form could not be sent. Check your connection and try again.";

/** Return where a form is sent. `formKey` is its id, its address or its whole URL. */
export function formAddress(formKey: string, endpoint?: string): string {
  if (!formKey) throw new Error('Name the form, such as useForm("frm_…").');
  if (/^https?:/.test(formKey)) return formKey;
  if (!endpoint) throw new Error('Set the service\'s address: <FieldpostProvider endpoint="https://…">.');
  return `${endpoint.replace(/\/+$/, "")}/f/${encodeURIComponent(formKey)}`;
}

export function createClient(endpoint?: string): Client {
  return { submitForm: (formKey, data, options) => send(formAddress(formKey, options?.endpoint ?? endpoint), data) };
}

async function send<T extends FieldValues>(address: string, data: SubmissionData<T>): Promise<SubmissionResult<T>> {
  const isForm = data instanceof FormData;
  const accept = { Accept: "application/json" };
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: isForm ? accept : { ...accept, "Content-Type": "application/json" },
      body: isForm ? data : JSON.stringify(data),
    });
    return read(response.ok, await response.json());
  } catch {
    return new SubmissionError({ message: NOT_SENT }); // no connection, or a proxy's page in the place of an answer
  }
}

/** Of docs/contract.md 6.12. */
type Answer = { next: string; errors?: ServerError[]; error?: string; message?: string };

function read<T extends FieldValues>(isStored: boolean, answer: Answer): SubmissionResult<T> {
  if (isStored) return new SubmissionSuccess({ next: answer.next });
  if (answer.errors?.length) return new SubmissionError(...answer.errors);
  return new SubmissionError({ code: answer.error, message: answer.message ?? NOT_SENT });
}
