export type FieldValue = string | number | boolean | null | undefined;
export type FieldValues = Record<string, FieldValue | FieldValue[]>;
export type SubmissionData<T extends FieldValues = FieldValues> = FormData | T;
export type SubmissionResult<T extends FieldValues = FieldValues> = SubmissionSuccess | SubmissionError<T>;

/** `code` is one of Formspree's where one fits, such as `TYPE_EMAIL`, else the service's own. */
export type FormError = { readonly code: string; readonly message: string };
export type FieldError = FormError;
export type ServerError = { code?: string; field?: string; message: string };

export class SubmissionSuccess {
  readonly kind = "success";
  /** The address of the page to show after success. */
  readonly next: string;

  constructor({ next }: { next: string }) {
    this.next = next;
  }
}

export class SubmissionError<T extends FieldValues = FieldValues> {
  readonly kind = "error";
  private readonly formErrors: FormError[] = [];
  private readonly fieldErrors = new Map<keyof T, FieldError[]>();

  constructor(...serverErrors: ServerError[]) {
    for (const { code = "UNSPECIFIED", field, message } of serverErrors) {
      const error = { code, message };
      if (!field) this.formErrors.push(error);
      else this.fieldErrors.set(field, [...this.getFieldErrors(field), error]);
    }
  }

  getFormErrors(): readonly FormError[] {
    return [...this.formErrors];
  }

  getFieldErrors<K extends keyof T>(field: K): readonly FieldError[] {
    return this.fieldErrors.get(field) ?? [];
  }

  getAllFieldErrors(): readonly [keyof T, readonly FieldError[]][] {
    return [...this.fieldErrors];
  }
}

export function isSubmissionError<T extends FieldValues>(result: SubmissionResult<T>): result is SubmissionError<T> {
  return result.kind === "error";
}
