// The API server's garbage, which is collected before a run that is timed: who comes next would pay for it otherwise, or not, as chance will have it.
import type { Bed } from "../scenario.ts";

/**
 * Lets the API server collect what is no longer used; resolves when it has. One collection of its own takes hundreds of milliseconds of processor time once it has seen thousands of
 * objects, a tenth of a run of the common job and more.
 */
export async function collectServerGarbage({ cluster }: Pick<Bed, "cluster">): Promise<void> {
  // Go's profile of the heap begins with a collection if it is asked to; the profile itself is of no interest.
  await cluster.kubectl("get", "--raw", "/debug/pprof/heap?gc=1&debug=1");
}
