// Images for pods on a real node, made of this machine's own programs, because there is no registry: nginx, and an idle program for what is only imitated.
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commonFiles, hostFile, imageArchive, type ImageContent, librariesOf, realNodeObstacle } from "@keyturn/runtime/testing";

const nginxProgram = "/usr/sbin/nginx";

/** As in nginxinc/nginx-unprivileged: everything that is written is below /tmp. */
const nginxConfig = `worker_processes 1;
error_log /dev/stderr notice;
pid /tmp/nginx.pid;
events { worker_connections 1024; }
http {
  proxy_temp_path /tmp/proxy_temp; client_body_temp_path /tmp/client_temp; fastcgi_temp_path /tmp/fastcgi_temp;
  uwsgi_temp_path /tmp/uwsgi_temp; scgi_temp_path /tmp/scgi_temp;
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  access_log off;
  keepalive_timeout 65;
  include /etc/nginx/conf.d/*.conf;
}
`;

/** This machine's nginx under these names, laid out as an image that runs as another user than root. */
export function nginxImage(names: readonly string[]): ImageContent {
  const layer = [
    ...commonFiles(),
    hostFile(nginxProgram),
    ...librariesOf(nginxProgram),
    hostFile("/etc/nginx/mime.types"),
    { name: "etc/nginx/nginx.conf", content: Buffer.from(nginxConfig) },
    { name: "etc/nginx/conf.d", folderMode: 0o755 },
    { name: "var/log/nginx", folderMode: 0o755 },
    { name: "var/log/nginx/error.log", linkTo: "/dev/stderr" },
    { name: "var/lib/nginx", folderMode: 0o755 },
  ];
  const settings = { Entrypoint: ["nginx", "-g", "daemon off;"], User: "101:101", Env: ["PATH=/usr/sbin:/usr/bin:/bin"] };
  return { names, layers: [layer], settings };
}

/** A program that does nothing, under these names; as an Istio sidecar it says that it is ready, and as istio-init it is done at once. */
export function idleImage(names: readonly string[]): ImageContent {
  const program = "/usr/bin/busybox";
  const script = `case "$0" in
    istio-iptables) ;;
    proxy) exec /bin/busybox httpd -f -p 15021 -h /istio ;;
    *) exec /bin/busybox sleep 2147483647 ;;
  esac`;
  return {
    names,
    layers: [
      [...commonFiles(), hostFile(program, "bin/busybox"), ...librariesOf(program), { name: "istio/healthz/ready", content: new Uint8Array() }],
    ],
    settings: { Entrypoint: ["/bin/busybox", "sh", "-c", script], User: "65532:65532" },
  };
}

/** Why `keyturn dev` cannot run the pods of its examples here; undefined if it can. */
export function realPodsObstacle(): string | undefined {
  if (!existsSync(nginxProgram)) return "there is no nginx on this machine to run in them";
  return realNodeObstacle();
}

/** Writes the images of all examples into `folder` and resolves to the archives' paths. `proxies` are those of the imitated service mesh. */
export async function writeExampleImages(folder: string, proxies: readonly string[]): Promise<readonly string[]> {
  const images = {
    nginx: nginxImage(["docker.io/nginxinc/nginx-unprivileged:1.30.5-alpine", "docker.io/library/nginx:1.29"]),
    idle: idleImage(["docker.io/library/redis:8", ...proxies]),
  };
  return Promise.all(
    Object.entries(images).map(async ([name, image]) => {
      const path = join(folder, `${name}.tar`);
      await writeFile(path, imageArchive(image));
      return path;
    }),
  );
}
