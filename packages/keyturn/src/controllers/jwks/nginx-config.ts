// The nginx configuration that serves the document: one server, the same headers on every answer, and nothing of the spec in it unchecked.

/** What a user can set about the answers. */
export interface NginxAnswers {
  /** How long clients may keep the document; errors are never kept. */
  readonly cacheSeconds: number;
  /** Origins whose pages may read the document, or `*` for all. */
  readonly corsOrigins: readonly string[];
}

/** Where nginx runs. The defaults are those of the container. */
export interface NginxPlace {
  readonly listen: string;
  readonly root: string;
}

/** The port on which the container listens; one that needs no privilege. */
export const nginxPort = 8080;

/** Where the ConfigMaps are mounted in the container. */
export const nginxRoot = "/usr/share/nginx/html";
export const nginxConfigFolder = "/etc/nginx/conf.d";

/** The file within `nginxRoot`, and the key within the ConfigMap. */
export const documentFile = "jwks.json";

/** An origin (RFC 6454) as browsers send it. Nothing that it allows has a meaning in an nginx string. */
export const originPattern = /^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?$/;

/**
 * Writes the text of `default.conf`, to be included at nginx's http level.
 *
 * All headers are added in one place, the server: nginx lets a location that adds one lose all that it would inherit. They are added `always`,
 * also to errors, and `Cache-Control` depends on the answer's status, so that an error is not kept for as long as a document.
 * Origins are regular expressions, in lower case as browsers send them: nginx refuses plain words that are longer than its hash's buckets, or there twice,
 * and whether a larger bucket may be asked for here depends on the image's own nginx.conf, which may have done so.
 * Throws for an origin that is none; the API has checked them before.
 */
export function renderNginxConfig({ cacheSeconds, corsOrigins }: NginxAnswers, place: Partial<NginxPlace> = {}): string {
  const { listen = `${nginxPort}`, root = nginxRoot } = place;
  const anyOrigin = corsOrigins.includes("*");
  const notOrigin = corsOrigins.find((origin) => origin !== "*" && !originPattern.test(origin));
  if (notOrigin !== undefined) throw new Error(`"${notOrigin}" is not an origin such as https://example.com; nginx was not configured with it`);
  const origins = anyOrigin ? [] : [...new Set(corsOrigins.map((origin) => origin.toLowerCase()))];

  return `# Written by Keyturn. Changes made here are undone.
map $status $jwks_cache_control {
  200     "public, max-age=${cacheSeconds}";
  304     "public, max-age=${cacheSeconds}";
  default "no-store";
}
map $status $jwks_allow {
  405     "GET, HEAD, OPTIONS";
  default "";
}
map $http_origin $jwks_origin {
${origins.map((origin) => `  "~*^${origin.replaceAll(".", "[.]")}$" "${origin}";\n`).join("")}  default "${anyOrigin ? "*" : ""}";
}

server {
  listen ${listen};
  server_name _;
  server_tokens off;
  root ${root};
  types { }
  default_type application/json;

  add_header Cache-Control $jwks_cache_control always;
  add_header Access-Control-Allow-Origin $jwks_origin always;
  add_header Access-Control-Allow-Methods "GET, HEAD, OPTIONS" always;
  add_header Access-Control-Allow-Headers "Content-Type, If-None-Match" always;
  add_header Access-Control-Expose-Headers "ETag" always;
${anyOrigin ? "" : '  add_header Vary "Origin" always;\n'}  add_header X-Content-Type-Options "nosniff" always;
  add_header X-Frame-Options "DENY" always;
  add_header X-XSS-Protection "1; mode=block" always;
  add_header Allow $jwks_allow always;

  if ($request_method = OPTIONS) {
    return 204;
  }
  if ($request_method !~ ^(GET|HEAD)$) {
    return 405;
  }

  location / {
    try_files /${documentFile} =404;
  }
  location = /healthz {
    access_log off;
    return 200 '{"status":"ok"}';
  }

  # Not for requests that could not be read: those have no path, and nginx turns them into a 500 here.
  error_page 404 405 500 503 @error;
  location @error {
    return 200 '{"error":"$status"}';
  }
}
`;
}
