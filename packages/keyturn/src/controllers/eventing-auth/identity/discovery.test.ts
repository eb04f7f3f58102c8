// Addresses of tenants, as the Secret and the server itself write them.
import { expect, it } from "vitest";
import { withoutSlash } from "./discovery.ts";

it("leaves out slashes at the end and no others, however many there are", () => {
  expect(withoutSlash("https://tenant.example.com/realm//")).toBe("https://tenant.example.com/realm");
  const many = `https://tenant.example.com${"/".repeat(1_000_000)}`;
  expect(withoutSlash(many)).toBe("https://tenant.example.com");
  expect(withoutSlash(`${many}x`)).toBe(`${many}x`);
});
