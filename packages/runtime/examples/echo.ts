// For every Echo: a ConfigMap of the same name with its message, and a status that says so.
import { ConfigMap, conditionsSchema, defineCustomKind, liveIn, managedBySelector, ownerReferenceTo, reconcileWith } from "@keyturn/runtime";
import type { ControllerDefinition } from "@keyturn/runtime";
import * as z from "zod";

export const operator = { name: "echo", domain: "echo.example" };
const versions = [{ name: "v1", spec: z.object({ message: z.string() }), status: z.object({ conditions: conditionsSchema.optional() }) }] as const;
export const Echo = defineCustomKind({ group: operator.domain, kind: "Echo", scope: "Namespaced", versions });
const reasons = { Echoed: { meaning: "The ConfigMap has the message.", health: "healthy" } } as const;

export const echo: ControllerDefinition = {
  name: "echo",
  primary: Echo,
  access: [
    { kind: Echo, verbs: ["get", "list", "watch"], why: "to read messages" },
    { kind: Echo, subresource: "status", verbs: ["patch"], why: "to report" },
    { kind: ConfigMap, verbs: ["get", "list", "watch", "create", "patch"], why: "to repeat messages" },
  ],
  setup(scope) {
    const [echoes, children] = [scope.watch(Echo), scope.watch(ConfigMap, { labels: managedBySelector(operator) })];
    scope.trigger(echoes);
    scope.owns(children);
    return reconcileWith(
      scope,
      {
        observe({ key }) {
          const object = echoes.get(key);
          return object && { object, live: liveIn(children, key) };
        },
        regarding(key) {
          const object = echoes.get(key);
          return object ? [{ kind: Echo, object }] : [];
        },
        plan({ object, live }) {
          const { name, namespace = "" } = object.metadata;
          const child = { metadata: { namespace, name, ownerReferences: [ownerReferenceTo(Echo, object)] }, data: { message: object.spec.message } };
          const ready = { status: "True", reason: "Echoed", message: "the ConfigMap has the message" } as const;
          return {
            steps: [{ verb: "apply", kind: ConfigMap, object: child, owner: { kind: Echo, name: { namespace, name } }, live }],
            status: [{ regarding: { kind: Echo, object }, conditions: { Ready: ready } }],
          };
        },
      },
      { reasons },
    );
  },
};
