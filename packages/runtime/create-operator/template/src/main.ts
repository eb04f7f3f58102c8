// The process: connects by KUBECONFIG, or as a pod, and runs until it is asked to stop.
import { loadConfig, runOperator, stopSignal } from "@keyturn/runtime";
import { greetings } from "./controller.ts";
import { operator } from "./greeting.ts";

const connection = await loadConfig({ env: process.env });
await runOperator({ operator, connection, controllers: [greetings], metricsBindAddress: ":8080", healthBindAddress: ":8081" }, stopSignal());
