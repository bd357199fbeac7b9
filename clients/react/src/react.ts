"use client";

import {
  type ComponentPropsWithoutRef,
  createContext,
  createElement,
  type ReactElement,
  type FormEvent as ReactFormEvent,
  type ReactNode,
  useContext,
  useMemo,
  useState,
} from "react";
import { type Client, createClient, formAddress } from "./client.js";
import {
  type FieldValues,
  isSubmissionError,
  type SubmissionData,
  type SubmissionError,
  type SubmissionResult,
  type SubmissionSuccess,
} from "./results.js";

/** A text, or a function that returns it or a promise of it. `undefined` adds nothing. */
export type ExtraDataValue = undefined | string | (() => string | undefined) | (() => Promise<string | undefined>);
export type ExtraData = { [name: string]: ExtraDataValue };
export type FormEvent = ReactFormEvent<HTMLFormElement>;
export type SubmitHandler<T extends FieldValues, R> = (submission: FormEvent | SubmissionData<T>) => Promise<R>;
export type TUseForm<T extends FieldValues> = [FormState<T>, SubmitHandler<T, void>, () => void];
type FormState<T extends FieldValues> = {
  errors: SubmissionError<T> | null;
  result: SubmissionSuccess | null;
  submitting: boolean;
  succeeded: boolean;
};

const Context = createContext<{ client: Client; endpoint?: string }>({ client: createClient() });
const READY = { errors: null, result: null, submitting: false, succeeded: false };

export type FieldpostProviderProps = {
  children?: ReactNode;
  /** The service's address, such as `https://forms.example.com`. */
  endpoint: string;
  /** Formspree's, and ignored: a form's id or address is enough here. */
  project?: string;
};

export function FieldpostProvider({ children, endpoint }: FieldpostProviderProps): ReactElement {
  const value = useMemo(() => ({ client: createClient(endpoint), endpoint }), [endpoint]);
  return createElement(Context.Provider, { value }, children);
}

export function useFormspree(): { client: Client } {
  return useContext(Context);
}

export function useForm<T extends FieldValues>(
  formKey: string,
  args: { client?: Client; data?: ExtraData; endpoint?: string } = {},
): TUseForm<T> {
  const [state, setState] = useState<FormState<T>>(READY);
  const submit = useSubmit<T>(formKey, { client: args.client, extraData: args.data, origin: args.endpoint });

  async function handleSubmit(submission: FormEvent | SubmissionData<T>): Promise<void> {
    setState((before) => ({ ...before, submitting: true }));
    try {
      const result = await submit(submission);
      const isError = isSubmissionError(result);
      setState((before) => ({
        errors: isError ? result : null,
        result: isError ? before.result : result,
        submitting: false,
        succeeded: !isError,
      }));
    } catch (error) {
      setState((before) => ({ ...before, submitting: false }));
      throw error;
    }
  }

  return [state, handleSubmit, () => setState(READY)];
}

export function useSubmit<T extends FieldValues>(
  formKey: string,
  options: { client?: Client; extraData?: ExtraData; origin?: string } = {},
): SubmitHandler<T, SubmissionResult<T>> {
  const context = useContext(Context);
  const { client = context.client, extraData = {}, origin } = options;
  // While one develops, not when the first visitor sends.
  if (!options.client) formAddress(formKey, origin ?? context.endpoint);

  return async (submission) => {
    let data = isEvent(submission) ? valuesOf(submission) : submission;
    for (const [name, value] of Object.entries(extraData)) {
      const text = typeof value === "function" ? await value() : value;
      if (text === undefined) continue;
      if (data instanceof FormData) data.append(name, text);
      else data = { ...data, [name]: text };
    }
    return client.submitForm(formKey, data, { endpoint: origin });
  };
}

function isEvent(submission: FormEvent | FormData | FieldValues): submission is FormEvent {
  return "preventDefault" in submission && typeof submission.preventDefault === "function";
}

function valuesOf(event: FormEvent): FormData {
  event.preventDefault();
  if (event.currentTarget.tagName !== "FORM") throw new Error("Give handleSubmit to a form, as its onSubmit.");
  return new FormData(event.currentTarget);
}

export type ValidationErrorProps<T extends FieldValues> = {
  errors: SubmissionError<T> | null;
  field?: keyof T;
  prefix?: string;
} & ComponentPropsWithoutRef<"div">;

/** Show the errors of a field, or without `field` those of the form. */
export function ValidationError<T extends FieldValues>(props: ValidationErrorProps<T>): ReactElement | null {
  const { errors, field, prefix, ...attributes } = props;
  const found = (field ? errors?.getFieldErrors(field) : errors?.getFormErrors()) ?? [];
  if (!found.length) return null;
  const text = found.map((error) => error.message).join(", ");
  // The service's messages begin with the label of their field, which is what most pages have as prefix.
  return createElement("div", attributes, prefix && !text.startsWith(prefix) ? `${prefix} ${text}` : text);
}
