// What is doubtful about the steps of this page now.
import { doubtsAbout, type SharedDoubt, sharedDoubts } from "../list/doubt.ts";
import { usePage } from "../state/page.ts";
import { stepInfos } from "./step-info.ts";

/** By what they are about. */
export function useDoubts(): readonly SharedDoubt[] {
  const { live } = usePage();
  return sharedDoubts(
    stepInfos.map(({ step, verb }) => ({
      name: verb,
      doubts: doubtsAbout(
        live.tables.step.value.find((record) => record.step === step),
        live.connection.value,
      ),
    })),
  );
}

/** What each is called, in a sentence, and in a word or two for the bar. */
export const doubtWords: Readonly<Record<SharedDoubt["about"], { readonly title: string; readonly sentence: string; readonly short: string }>> = {
  page: { title: "Connection", sentence: "this page is cut off from its server", short: "cut off" },
  server: { title: "API server", sentence: "the API server does not answer", short: "no API server" },
  rights: { title: "Rights", sentence: "a right is missing", short: "rights missing" },
  leader: { title: "Operator", sentence: "no operator is known to lead", short: "no operator" },
  loading: { title: "Loading", sentence: "it is being read", short: "loading" },
};
