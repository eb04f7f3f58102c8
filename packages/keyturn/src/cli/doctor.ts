// `keyturn doctor`: what is wrong with an installation, and what to do about it.
import { type AccessRule, managerAccess, parseBindAddress, systemClock } from "@keyturn/runtime";
import { chooseFeatures, controllersOf } from "../registry.ts";
import { examine, findingsText } from "../doctor/doctor.ts";
import { findInstalled, installedFlags, type InstalledOperator } from "../doctor/installed.ts";
import type { Feature } from "../feature/feature.ts";
import { environmentVariableOf, type Flag, readFlags, textFlag, UsageError } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { paintFor } from "../text.ts";
import type { Console } from "./command-line.ts";
import { outputFlag, printed } from "./output.ts";
import { leaseNameOf } from "./manifests.ts";
import { inSession } from "./session.ts";

const flags = {
  output: outputFlag,
  controllers: operatorFlags.controllers,
  namespaces: operatorFlags.namespaces,
  leaderElect: operatorFlags.leaderElect,
  metricsBindAddress: operatorFlags.metricsBindAddress,
  metricsSecure: operatorFlags.metricsSecure,
  operatorNamespace: textFlag({
    name: "operator-namespace",
    placeholder: "NAMESPACE",
    help: "where the operator runs; otherwise that of --as-service-account, or its Leases are looked for everywhere",
  }),
  serviceAccount: textFlag({
    name: "as-service-account",
    placeholder: "NAMESPACE/NAME",
    help: "check the rights of this ServiceAccount instead of your own; needs the right to create subjectaccessreviews",
  }),
};

/** The flags of `keyturn doctor`: its own, and those of the controllers, since some of them change what a controller needs. */
export function doctorFlags(registry: readonly Feature[]): readonly Flag[] {
  return [operatorFlags.kubeconfig, operatorFlags.context, ...Object.values(flags), ...registry.flatMap((feature) => feature.flags)];
}

/** Prints what it finds. Rejects, so that the exit code is 1, if something is wrong. */
export async function doctorCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  registry: readonly Feature[],
): Promise<void> {
  const { output, ...read } = readFlags(flags, given, console.environment);
  const serviceAccount = read.serviceAccount === undefined ? undefined : parseServiceAccount(read.serviceAccount);
  // What is typed wrongly is said before anybody is asked.
  chooseFeatures(read.controllers, registry);
  const findings = await inSession(given, console, async (session) => {
    const installed = await findInstalled(session.client, read.operatorNamespace ?? serviceAccount?.namespace, session.signal);
    const texts = { ...installedTexts(installed, doctorFlags(registry), console.environment), ...given };
    const { namespaces, leaderElect, ...values } = readFlags(flags, texts, console.environment);
    const operatorNamespace = values.operatorNamespace ?? serviceAccount?.namespace;
    const chosen = chooseFeatures(values.controllers, registry);
    const controllers = controllersOf(chosen, texts, console.environment);
    const declared = controllers.flatMap(({ access }) => access);
    const own = operatorNamespace ?? "default";
    const manager = managerAccess({
      operatorNamespace: own,
      controllerAccess: declared,
      leaderElection: leaderElect && operatorNamespace !== undefined,
      leases: controllers.map(leaseNameOf),
      secureMetrics: values.metricsSecure && parseBindAddress(values.metricsBindAddress).type === "listen",
    });
    const here = declared.map((rule): AccessRule => (rule.inOwnNamespace ? Object.assign({}, rule, { namespace: own }) : rule));
    const inPlaces = Object.entries(manager.accessIn).flatMap(([namespace, rules]) => rules.map((rule) => ({ ...rule, namespace })));
    return examine({
      ...session,
      clock: systemClock,
      installed,
      features: chosen,
      controllers: leaderElect ? controllers.map(({ name }) => name) : [],
      access: [...here, ...manager.access, ...inPlaces],
      namespaces,
      operatorNamespace,
      serviceAccount,
    });
  });
  const paint = paintFor(console.environment, console.height() !== undefined);
  console.out(`${printed({ text: findingsText(findings, paint), data: { findings } }, output)}\n`);
  const failures = findings.filter(({ level }) => level === "fail").length;
  if (failures > 0) throw new Error(`${failures} ${failures === 1 ? "check" : "checks"} failed`);
}

/** The flags of what is installed, as far as the checks depend on them and the person's own environment does not say otherwise. */
function installedTexts(
  installed: readonly InstalledOperator[],
  known: readonly Flag[],
  environment: Console["environment"],
): Readonly<Record<string, string>> {
  const texts = installedFlags(installed);
  return Object.fromEntries(
    known.flatMap((flag) => {
      const text = texts[flag.name];
      const isOurs = flag === operatorFlags.kubeconfig || flag === operatorFlags.context || environment[environmentVariableOf(flag)] !== undefined;
      return text === undefined || isOurs ? [] : [[flag.name, text]];
    }),
  );
}

function parseServiceAccount(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0) throw new UsageError(`--as-service-account: "${text}" is not NAMESPACE/NAME`);
  return { namespace, name };
}
