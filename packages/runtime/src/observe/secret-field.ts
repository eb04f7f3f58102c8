// Which field names hold secret material, whatever their value looks like.

/**
 * Names that end in one of these hold a secret. Bare `secret`, `key` and `data` are not here: in this field they name objects
 * (`secret=shop/tls`, `key=shop/web`), and the values of Secrets are found by the shape of the object around them.
 */
const secretName =
  /(?:pass(?:word|wd|phrase)|(?<!continue)token|(?:proxy-)?authorization|cookie|client[-_]?secret|api[-_]?key|private[-_]?key|(?:secret|shared|account)[-_]?access[-_]?key|client-?key-?data|\.key|\.dockerconfigjson|\.dockercfg|last-applied-configuration)$/i;

/** Private parts of a JSON Web Key (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1). */
const privateJwkMembers: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "oth", "k"]);

/** True if a field of this name holds secret material by convention. */
export function isSecretField(name: string): boolean {
  return name.length < 128 && secretName.test(name);
}

/** The members of an object that are secret because of what the object is: the data of a Secret, the private part of a JWK. */
export function secretMembers(object: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  if ("kty" in object) return privateJwkMembers;
  const isObject = typeof object.metadata === "object" && object.metadata !== null;
  // Items of lists carry no kind, so data counts as a Secret's unless the object says that it is something else.
  if ("stringData" in object || object.kind === "Secret" || (isObject && "data" in object && object.kind === undefined)) return secretData;
  return none;
}

const secretData: ReadonlySet<string> = new Set(["data", "stringData"]);
const none: ReadonlySet<string> = new Set();
