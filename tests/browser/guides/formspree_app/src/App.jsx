import { FormspreeProvider, useForm, ValidationError } from "@formspree/react";
import { useEffect, useState } from "react";

function ContactForm() {
  const [state, handleSubmit, reset] = useForm("xqkwjdnz");
  if (state.succeeded) {
    return (
      <>
        <p>Thanks for your message!</p>
        <button type="button" onClick={reset}>
          Write another
        </button>
      </>
    );
  }
  return (
    <form onSubmit={handleSubmit}>
      <label htmlFor="email">Email Address</label>
      <input id="email" type="text" name="email" />
      <ValidationError prefix="Email" field="email" errors={state.errors} />
      <label htmlFor="message">Your message</label>
      <textarea id="message" name="message" />
      <ValidationError prefix="Message" field="message" errors={state.errors} />
      <ValidationError errors={state.errors} />
      <button type="submit" disabled={state.submitting}>
        Submit
      </button>
    </form>
  );
}

function ApplicationForm() {
  const [state, handleSubmit] = useForm("mrgvplye", {
    data: {
      subject: "A job application",
      page: () => window.location.hash,
      visitor: async () => navigator.language,
      campaign: () => undefined,
    },
  });
  if (state.succeeded) {
    return <p>Thanks for applying! Next: {state.result.next}</p>;
  }
  return (
    <form onSubmit={handleSubmit}>
      <label htmlFor="name">Full Name</label>
      <input id="name" type="text" name="name" />
      <ValidationError field="name" errors={state.errors} className="error" />
      <label htmlFor="cv">CV</label>
      <input id="cv" type="file" name="cv" />
      <ValidationError field="cv" errors={state.errors} className="error" />
      <ValidationError errors={state.errors} className="error" />
      <button type="submit" disabled={state.submitting}>
        Apply
      </button>
    </form>
  );
}

function NewsletterForm() {
  const [email, setEmail] = useState("");
  const [state, submit] = useForm("xqkwjdnz");
  return (
    <>
      <label htmlFor="news">Newsletter</label>
      <input id="news" type="text" value={email} onChange={(event) => setEmail(event.target.value)} />
      <button type="button" onClick={() => submit({ email, message: "Newsletter" })}>
        Join
      </button>
      <output>{state.submitting ? "Sending" : state.succeeded ? "Joined" : ""}</output>
    </>
  );
}

const PAGES = { "#contact": ContactForm, "#jobs": ApplicationForm, "#news": NewsletterForm };

export default function App() {
  const [hash, setHash] = useState(window.location.hash);
  useEffect(() => {
    const follow = () => setHash(window.location.hash);
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const Page = PAGES[hash] ?? ContactForm;
  return (
    <FormspreeProvider project="2718281828">
      <nav>
        <a href="#contact">Contact</a> <a href="#jobs">Jobs</a> <a href="#news">News</a>
      </nav>
      <Page />
    </FormspreeProvider>
  );
}
