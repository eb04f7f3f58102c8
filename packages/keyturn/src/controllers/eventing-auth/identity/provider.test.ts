// What is read from the Secret with an identity provider's credentials.
import { describe, expect, it } from "vitest";
import { readProviderSettings } from "./provider.ts";

function data(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
}

const ias = { url: "https://tenant.accounts.ondemand.com", username: "user@sap.com", password: "pässword" };

describe("credentials of IAS", () => {
  it("are read as the guide has them, without the line end that an editor left", () => {
    expect(readProviderSettings("ias", data({ ...ias, password: "pässword\n" }))).toEqual({ type: "ias", ...ias });
  });

  it.each(["url", "username", "password"])("without %s are refused in the predecessor's words", (key) => {
    expect(() => readProviderSettings("ias", data({ ...ias, [key]: "" }))).toThrow(`key ${key} is not found in ias secret`);
    expect(() => readProviderSettings("ias", {})).toThrow("key url is not found in ias secret");
  });

  it.each(["tenant.accounts.ondemand.com", "ftp://tenant", "https://me:hidden@tenant", "https://tenant/?token=hidden", "https://tenant/#hidden"])(
    "with the address %s are refused, and the address is not repeated",
    (url) => {
      const read = (): unknown => readProviderSettings("ias", data({ ...ias, url }));
      expect(read).toThrow("key url in ias secret is no URL such as https://tenant.example.com");
    },
  );
});

describe("credentials of an OpenID server", () => {
  it("are its issuer, and what else there is", () => {
    const url = "https://id.example.com/realms/eventing";
    expect(readProviderSettings("openid", data({ url }))).toEqual({ type: "openid", url });
    expect(readProviderSettings("openid", data({ url, initial_access_token: "t0ken", "ca.crt": "PEM" }))).toEqual({
      type: "openid",
      url,
      initialAccessToken: "t0ken",
      ca: "PEM",
    });
  });
});
