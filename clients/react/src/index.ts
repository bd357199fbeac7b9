export { type Client, createClient, formAddress, type SubmissionOptions } from "./client.js";
export {
  type ExtraData,
  type ExtraDataValue,
  FieldpostProvider,
  FieldpostProvider as FormspreeProvider,
  type FieldpostProviderProps,
  type FieldpostProviderProps as FormspreeProviderProps,
  type FormEvent,
  type SubmitHandler,
  type TUseForm,
  useForm,
  useFormspree,
  useSubmit,
  ValidationError,
  type ValidationErrorProps,
} from "./react.js";
export {
  type FieldError,
  type FieldValue,
  type FieldValues,
  type FormError,
  isSubmissionError,
  type SubmissionData,
  SubmissionError,
  type SubmissionResult,
  SubmissionSuccess,
} from "./results.js";
