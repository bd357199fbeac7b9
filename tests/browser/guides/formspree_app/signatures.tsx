// Compiled, not run: what `@formspree/react` takes and returns, `@fieldpost/react` takes and returns.
import * as ours from "@fieldpost/react";
import type * as theirs from "@formspree/react";

type Values = { email: string; size: number };
type ArgumentsOf<Hook extends (...all: never[]) => unknown> = Omit<NonNullable<Parameters<Hook>[1]>, "client">;
type Props = Omit<theirs.ValidationErrorProps<Values>, "errors">;
type Missing = Exclude<keyof typeof theirs, keyof typeof ours>;

export const missing: Missing[] = ["CardElement"] satisfies Missing[];
export const onlyPayments: Exclude<Missing, "CardElement"> extends never ? true : false = true;

declare const formArguments: ArgumentsOf<typeof theirs.useForm>;
declare const submitOptions: ArgumentsOf<typeof theirs.useSubmit>;
declare const props: Props;
declare const event: theirs.FormEvent;

export function Form() {
  const [state, handleSubmit, reset] = ours.useForm<Values>("contact", formArguments);
  const same: Record<keyof theirs.TUseForm<Values>[0], unknown> = state;
  const sent: Promise<void>[] = [
    handleSubmit(event),
    handleSubmit(new FormData()),
    handleSubmit({ email: "", size: 1 }),
  ];
  const submit = ours.useSubmit<Values>("contact", submitOptions);
  const client: keyof ReturnType<typeof theirs.useFormspree> extends keyof ReturnType<typeof ours.useFormspree>
    ? true
    : false = true;
  // @ts-expect-error: no field of the form
  const wrong = <ours.ValidationError field="name" errors={state.errors} />;
  return (
    <ours.FormspreeProvider endpoint="https://forms.example.com" project="2718281828">
      <ours.ValidationError {...props} errors={state.errors} />
      <button type="button" onClick={reset}>
        {[same, sent, submit, client, wrong].length}
      </button>
    </ours.FormspreeProvider>
  );
}
