/* Proofs of work for the files of a form: one is good for several files, and for some minutes. */
import { askForProof, needsProof } from "./ids.js";

const KEPT = 54e4; // milliseconds; the service takes a proof for ten minutes
const LARGE = 1e6; // bytes; so large a file is not risked without a proof

/**
 * Returns the proofs of a form: `take(file)` gives `{proof, isFresh}`, without a proof where none is needed or can be
 * made; `renew()` says that the service wants one, or another one.
 */
export const proofsOf = (formId, solve) => {
  let kept = {};
  return {
    take: async ({ size }) => {
      if (!needsProof(formId) && size <= LARGE) return {};
      if (kept.proof && Date.now() - kept.at < KEPT) return { proof: kept.proof };
      // Where it cannot be made, the service says whether it wanted one.
      kept = { proof: await solve(`?${new URLSearchParams({ formId })}`).catch(() => {}), at: Date.now() };
      return { proof: kept.proof, isFresh: Boolean(kept.proof) };
    },
    renew: () => {
      kept = {};
      askForProof(formId);
    },
  };
};
