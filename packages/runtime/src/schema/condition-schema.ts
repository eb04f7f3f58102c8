// The schema of status conditions, the same as metav1.Condition's.
import * as z from "zod";
import { dateTime } from "./kubernetes-values.ts";

/** One condition, with metav1.Condition's own limits. */
export const conditionSchema = z
  .object({
    type: z
      .string()
      .max(316)
      .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/)
      .describe("What is true, false or unknown."),
    status: z.enum(["True", "False", "Unknown"]).describe("Whether it holds."),
    observedGeneration: z.int().min(0).optional().describe("The generation of the object that this was said about."),
    lastTransitionTime: dateTime().describe("When the status last changed."),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
      .describe("Why, in one word for programs."),
    message: z.string().max(32_768).describe("Why, in words for people."),
  })
  .describe("One aspect of the object's state.");

/** The conditions of a status: one per type, merged by type. */
export const conditionsSchema = z
  .array(conditionSchema)
  .max(32)
  .meta({ listType: "map", listMapKeys: ["type"], description: "What is known about the object's state." });
