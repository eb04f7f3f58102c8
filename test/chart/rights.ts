// Rights in a form that can be compared: what ServiceAccounts may do, however Roles put it.
import * as z from "zod";
import type { RenderedObject } from "../../tools/chart-rendering.ts";

/** A rule about a path, such as /metrics, names no resources. */
const ruleSchema = z.object({
  apiGroups: z.array(z.string()).default([]),
  resources: z.array(z.string()).default([]),
  resourceNames: z.array(z.string()).default([""]),
  verbs: z.array(z.string()),
});
const metadataSchema = z.object({ name: z.string(), namespace: z.string().optional() });
const roleSchema = z.object({ kind: z.enum(["Role", "ClusterRole"]), metadata: metadataSchema, rules: z.array(ruleSchema) });
const bindingSchema = z.object({
  kind: z.enum(["RoleBinding", "ClusterRoleBinding"]),
  metadata: metadataSchema,
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.literal("ServiceAccount"), name: z.string(), namespace: z.string() })),
});

/** Every single right of a ServiceAccount, as `place group/resource[name] verb`; the place is a namespace, or `*` for the whole cluster. */
export function rightsOf(
  objects: readonly RenderedObject[],
  serviceAccount: { readonly namespace: string; readonly name: string },
): readonly string[] {
  const roles = objects.filter(({ kind }) => kind.endsWith("Role")).map((object) => roleSchema.parse(object));
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")).map((object) => bindingSchema.parse(object));
  const rights = bindings.flatMap(({ metadata, roleRef, subjects }) => {
    if (!subjects.some(({ name, namespace }) => name === serviceAccount.name && namespace === serviceAccount.namespace)) return [];
    const role = roles.find(
      ({ kind, metadata: { name, namespace } }) => kind === roleRef.kind && name === roleRef.name && namespace === metadata.namespace,
    );
    if (!role) throw new Error(`${metadata.name} binds the ${roleRef.kind} ${roleRef.name}, which is not there`);
    return role.rules.flatMap(rightsByRule).map((right) => `${metadata.namespace ?? "*"} ${right}`);
  });
  return [...new Set(rights)].toSorted();
}

function rightsByRule({ apiGroups, resources, resourceNames, verbs }: z.infer<typeof ruleSchema>): readonly string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => resourceNames.flatMap((name) => verbs.map((verb) => `${group}/${resource}[${name}] ${verb}`))),
  );
}
