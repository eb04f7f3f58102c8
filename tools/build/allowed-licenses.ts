// Which licences a package that ends up in the program may have.

/** SPDX identifiers of licences that let the program be passed on under Apache-2.0 with no more than a notice. */
const allowedLicenses = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT", "Unlicense"]);

/** Whether an SPDX expression can be met with allowed licences alone. Of `A OR B` one is enough, of `A AND B` both are needed. */
export function isAllowedLicense(expression: string | undefined): boolean {
  if (expression === undefined || expression.trim() === "") return false;
  const bare = expression.trim().replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(bare)) return false;
  return bare.split(" OR ").some((choice) => choice.split(" AND ").every((license) => allowedLicenses.has(license.trim())));
}
