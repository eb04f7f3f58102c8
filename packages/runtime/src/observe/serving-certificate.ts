// The certificate by which a server of this process is known: one from files that others renew, or one that nobody but the process itself has signed.
import { hostname } from "node:os";
import { createSecureContext, type Server } from "node:tls";
import { fileText } from "../client/auth/text-source.ts";
import type { Clock, Timer } from "../clock.ts";
import { createAuthority, issueCertificate } from "../x509.ts";
import type { Logger } from "./logger.ts";

/** The files of a certificate, in PEM: as cert-manager and `kubectl create secret tls` keep them. */
export interface CertificateFiles {
  /** The certificate, and those that lead to its authority. */
  readonly certificate: string;
  readonly key: string;
}

/** A certificate as Node takes it. */
interface SecureContextText {
  readonly cert: string;
  readonly key: string;
}

/** A server's certificate. */
export interface ServingCertificate {
  readonly now: SecureContextText;
  /** Keeps the server at what the files hold, until it is stopped. */
  follow(server: Server): { stop(): void };
}

/** How often the files are looked at, as controller-runtime has it. */
const lookEveryMs = 10_000;

/** A new key and certificate, for this process only: whoever connects cannot tell whether it is the right one. */
export function selfSignedCertificate(clock: Clock): ServingCertificate {
  const authority = createAuthority(`${hostname()}-ca`, { clock });
  const { certificate, privateKey } = issueCertificate(authority, {
    usage: "server",
    commonName: hostname(),
    hosts: [hostname(), "localhost", "127.0.0.1"],
    clock,
  });
  return { now: { cert: certificate + authority.certificate, key: privateKey }, follow: () => ({ stop: () => undefined }) };
}

/** What the files hold. Rejects if they cannot be read now, or do not belong together. */
export async function certificateFromFiles(
  files: CertificateFiles,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<ServingCertificate> {
  const certificate = fileText(files.certificate, "the certificate for metrics", clock);
  const key = fileText(files.key, "the key for metrics", clock);
  const read = async (): Promise<SecureContextText> => ({ cert: await certificate.read(), key: await key.read() });
  const now = await read();
  createSecureContext(now);
  return {
    now,
    follow(server) {
      let last = now;
      let timer: Timer;
      const look = async (): Promise<void> => {
        await Promise.all([certificate.reread(), key.reread()]);
        const found = await read();
        const isNew = found.cert !== last.cert || found.key !== last.key;
        last = found;
        if (isNew) use(found);
        if (!isStopped) again();
      };
      const use = (found: SecureContextText): void => {
        try {
          // Before the server is told: one of the two files may have been replaced and the other not yet.
          createSecureContext(found);
          server.setSecureContext(found);
          log.info({}, "the certificate for metrics was renewed");
        } catch (error) {
          log.warn({ err: error }, "the certificate for metrics cannot be used; the earlier one stays");
        }
      };
      const again = (): void => {
        timer = clock.setTimer(lookEveryMs, () => void look());
      };
      let isStopped = false;
      again();
      return {
        stop() {
          isStopped = true;
          timer.cancel();
        },
      };
    },
  };
}
