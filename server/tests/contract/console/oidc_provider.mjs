// An OpenID Connect provider for tests: npm's oidc-provider with its development log-in pages.
// The log-in name is the account, `name:role:tenant,tenant`, so that a test chooses role and tenants.
import http from "node:http";

const { default: Provider } = await import(`${process.env.OIDC_PROVIDER}/node_modules/oidc-provider/lib/index.js`);
const server = http.createServer().listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const client = (client_id) => ({
    client_id,
    client_secret: `secret-of-${client_id}`,
    redirect_uris: [process.env.REDIRECT_URI],
    response_types: ["code"],
    grant_types: ["authorization_code"],
  });
  const provider = new Provider(issuer, {
    clients: [client("console"), client("other")],
    claims: { openid: ["sub", "tidings_role", "tidings_tenants"], profile: ["name"], email: ["email"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["for tests"] },
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => {
        const [name, tidings_role, tenants = ""] = id.split(":");
        return { sub: id, name, email: `${name}@example.com`, tidings_role, tidings_tenants: tenants.split(",").filter(Boolean) };
      },
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
