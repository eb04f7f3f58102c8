// Who may use a name: an object that exists belongs to whom it is marked for; a name that is free goes to the object that asked for it first.
import {
  type Kind,
  keyOf,
  type KubeObject,
  managedByLabel,
  type ObjectName,
  type Operator,
  type Owner,
  ownershipOf,
  resourceOf,
} from "@keyturn/runtime";

/** A name that an object wants, and what is under that name now, whoever's it is. */
export interface Claim {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly live: KubeObject | undefined;
}

/** Another object that wants names too. */
export interface Rival {
  readonly owner: Owner;
  readonly createdAt: string;
  /** As `claimKey` writes them. */
  readonly claims: readonly string[];
}

/** How a claim is written, for an index of who claims what. */
export function claimKey({ kind, name }: Pick<Claim, "kind" | "name">): string {
  return `${resourceOf(kind)}/${keyOf(name)}`;
}

/** What stands in the way of the claims, in words for the user; empty if nothing does. */
export function conflictsOf(
  claims: readonly Claim[],
  {
    operator,
    owner,
    createdAt,
    rivals,
  }: { readonly operator: Operator; readonly owner: Owner; readonly createdAt: string; readonly rivals: readonly Rival[] },
): readonly string[] {
  return claims.flatMap((claim) => {
    const what = `${claim.kind.kind} ${claim.name.name}`;
    if (claim.live) {
      const ownership = ownershipOf(claim.live, operator, owner);
      if (ownership === "ours") return [];
      return ownership === "foreign"
        ? [`${what} was not made by this operator (no label ${managedByLabel}=${operator.name})`]
        : [`${what} belongs to another object`];
    }
    const first = rivals.find((rival) => rival.claims.includes(claimKey(claim)) && isEarlier(rival, { owner, createdAt }));
    return first ? [`${what} is also wanted by ${first.owner.kind.kind} ${first.owner.name.name}, which is older`] : [];
  });
}

/** Of two objects of the same second one must come first, and always the same one. */
function isEarlier(rival: Omit<Rival, "claims">, self: Omit<Rival, "claims">): boolean {
  if (rival.createdAt !== self.createdAt) return rival.createdAt < self.createdAt;
  return claimKey(rival.owner) < claimKey(self.owner);
}
