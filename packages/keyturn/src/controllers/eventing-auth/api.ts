// The kinds of this controller: EventingAuth as kyma-project/eventing-auth-manager defined it, and Kyma, which it only looks at.
import {
  ageColumn,
  conditionColumn,
  conditionSchema,
  defineCustomKind,
  defineKind,
  type DeepReadonly,
  type KubeObject,
  type ObjectOf,
  reasonColumn,
} from "@keyturn/runtime";
import * as z from "zod";

const group = "operator.kyma-project.io";

/** Holds the deletion of an EventingAuth until its application and its Secret are gone. The predecessor's, so that either of the two can finish what the other began. */
export const eventingAuthFinalizer = "eventingauth.operator.kyma-project.io/finalizer";

/** On an EventingAuth that is being deleted: what is to be left behind, `target`, `application` or both separated by a comma. */
export const abandonAnnotation = "keyturn.io/abandon";

/**
 * When an application was last asked for, written before the request is sent. For a while after that nothing is concluded from an application's not
 * being there, and no other is asked for, whatever became of the process or of the response.
 */
export const askedAtAnnotation = "keyturn.io/application-asked-at";

/** The address of the identity provider at which the application was asked for or last seen: another one proves nothing about it. */
export const providerAnnotation = "keyturn.io/identity-provider";

/** On an EventingAuth: the id of an application that is to be its own from now on, although nothing shows that it was made for it. */
export const adoptAnnotation = "keyturn.io/adopt-application";

/**
 * On the Secret with the identity provider's credentials: the URL of a tenant at which applications that are missing there are made anew, however many
 * they are. It counts for that URL alone, so that the next change of it is asked about again.
 */
export const replaceAnnotation = "keyturn.io/replace-applications-at";

/** The predecessor's schema: the fields, what is required, and no merging by type. Its users' manifests and its own tests hold for ours. */
const status = z.object({
  state: z.enum(["Ready", "NotReady"]).describe("Ready once the application and the Secret are there."),
  conditions: z.array(conditionSchema).optional().meta({ listType: "atomic" }).describe("What is known about the application and the Secret."),
  iasApplication: z
    .object({ name: z.string().describe("Its name."), uuid: z.string().describe("The id that the identity provider gave it.") })
    .optional()
    .describe("The application at the identity provider."),
  secret: z
    .object({
      clusterId: z.string().describe("The id of the runtime whose cluster it is in."),
      namespacedName: z.string().describe("Its namespace and name."),
    })
    .optional()
    .describe("The Secret with the credentials, in the runtime's cluster."),
});

export type EventingAuthStatus = DeepReadonly<z.infer<typeof status>>;

export const EventingAuth = defineCustomKind({
  group,
  kind: "EventingAuth",
  plural: "eventingauths",
  shortNames: ["evauth"],
  scope: "Namespaced",
  categories: ["keyturn"],
  versions: [
    {
      name: "v1alpha1",
      description: "An application at the identity provider for one runtime, and its credentials in a Secret of that runtime.",
      spec: z.object({}).optional().describe("Nothing is asked for: the name says it all."),
      status,
      columns: [
        { name: "State", type: "string", jsonPath: ".status.state", description: "Ready or NotReady" },
        reasonColumn("Ready"),
        conditionColumn("TargetReachable", { name: "Target", description: "Whether the runtime's cluster answers", priority: 1 }),
        conditionColumn("CredentialsValid", { name: "Credentials", description: "Whether a token was issued for them", priority: 1 }),
        { name: "Application", type: "string", jsonPath: ".status.iasApplication.uuid", description: "The application's id", priority: 1 },
        ageColumn,
      ],
    },
  ],
});
export type EventingAuth = ObjectOf<typeof EventingAuth>;

/** A managed runtime. Only its metadata is ever read. */
export const Kyma = defineKind<KubeObject>({ group, version: "v1beta2", kind: "Kyma", plural: "kymas", namespaced: true });
