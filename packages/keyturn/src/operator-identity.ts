// Who Keyturn is in a cluster.
import type { Operator } from "@keyturn/runtime";

/** Marks everything that Keyturn leaves in a cluster. Never changes: objects in running clusters carry it. */
export const keyturn: Operator = { name: "keyturn", domain: "keyturn.io" };
