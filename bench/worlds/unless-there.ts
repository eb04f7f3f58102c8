// Creates what a scenario needs, also when an earlier one has left it there.
import { isApiError } from "@keyturn/runtime";

/** Waits for a creation; that the object is there already is no failure. */
export async function unlessThere(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
