// For each Greeting: a ConfigMap of the same name with the greeting, a status that says so, and a finalizer that takes the ConfigMap away.
import { ConfigMap, isBeingDeleted, liveIn, managedBySelector, reconcileWith } from "@keyturn/runtime";
import type { ControllerDefinition } from "@keyturn/runtime";
import { Greeting, operator } from "./greeting.ts";

/** Reasons of conditions and Events, with their meaning. */
const reasons = { Greeted: { meaning: "The ConfigMap has the greeting.", health: "healthy" } } as const;

export const greetings: ControllerDefinition = {
  name: "greetings",
  primary: Greeting,
  // Roles are made from this list, and at the start a right that is missing is named.
  access: [
    { kind: Greeting, verbs: ["get", "list", "watch", "patch"], why: "to read greetings and to hold them by a finalizer" },
    { kind: Greeting, subresource: "status", verbs: ["patch"], why: "to report" },
    { kind: ConfigMap, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to keep the text" },
  ],
  setup(scope) {
    const all = scope.watch(Greeting);
    const texts = scope.watch(ConfigMap, { labels: managedBySelector(operator) });
    scope.trigger(all);
    scope.owns(texts);
    return reconcileWith(
      scope,
      {
        // From caches, which show this controller's own last writes before it runs again.
        observe({ key }) {
          const object = all.get(key);
          return object && { object, live: liveIn(texts, key) };
        },
        // Pure: what is to be done, and what the status says once it is done.
        plan({ object, live }) {
          const { name, namespace = "" } = object.metadata;
          const owner = { kind: Greeting, name: { namespace, name } };
          if (isBeingDeleted(object)) return { steps: [{ verb: "delete", kind: ConfigMap, name: owner.name, owner }], status: [], release: true };
          const text = `Hello, ${object.spec.who}!`;
          const child = { metadata: owner.name, data: { text } };
          const ready = { status: "True", reason: "Greeted", message: `ConfigMap ${name} has the greeting` } as const;
          return {
            steps: [{ verb: "apply", kind: ConfigMap, object: child, owner, live }],
            status: [{ regarding: { kind: Greeting, object }, conditions: { Ready: ready }, fields: { text } }],
          };
        },
        // Held before anything is done, so that nothing is left behind; dropped by a plan with `release`.
        finalizer: { name: `${operator.domain}/cleanup`, of: ({ object }) => ({ kind: Greeting, object }) },
        // Whose condition tells of a failure.
        regarding(key) {
          const object = all.get(key);
          return object ? [{ kind: Greeting, object }] : [];
        },
      },
      { reasons },
    );
  },
};
