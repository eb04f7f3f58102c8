// The pods that a rendered workload makes.
import * as z from "zod";
import type { RenderedObject } from "../../tools/chart-rendering.ts";

const variableSchema = z.looseObject({ name: z.string(), value: z.string().optional() });
const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  env: z.array(variableSchema).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
const templateSchema = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()), annotations: z.record(z.string(), z.string()) }),
  spec: z.looseObject({ containers: z.array(containerSchema), volumes: z.array(z.looseObject({ name: z.string() })) }),
});
const workloadSchema = z.object({ spec: z.object({ template: templateSchema }) });

/** The template of a Deployment or DaemonSet. Throws if there is none. */
export function podTemplateOf(workload: RenderedObject | undefined): z.infer<typeof templateSchema> {
  return workloadSchema.parse(workload).spec.template;
}
