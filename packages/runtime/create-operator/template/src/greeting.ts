// The custom kind: what users write in `spec`, and what the operator says in `status`. The CRD is made from this.
import { ageColumn, conditionColumn, conditionsSchema, defineCustomKind, type ObjectOf } from "@keyturn/runtime";
import * as z from "zod";

/** Who we are: the prefix of Leases and field managers, and of annotations and finalizers. */
export const operator = { name: "my-operator", domain: "my-operator.example" };

export const Greeting = defineCustomKind({
  group: operator.domain,
  kind: "Greeting",
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      spec: z.object({ who: z.string().min(1).max(100).describe("Who is greeted.") }),
      status: z.object({ conditions: conditionsSchema.optional(), text: z.string().optional().describe("The greeting.") }),
      columns: [conditionColumn("Ready"), ageColumn],
    },
  ],
});
export type Greeting = ObjectOf<typeof Greeting>;
