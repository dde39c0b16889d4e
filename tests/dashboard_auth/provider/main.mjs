// An OpenID provider that is not ours (panva's, certified), for the tests of sign-in: it reads its configuration as one
// line of JSON from standard input, listens on loopback, and says `ready`.
//
//   {port, jwks, client: {id, secret, redirect_uri, post_logout_redirect_uri}}
//
// Its development pages sign in as anyone: `login` is the subject, and what follows its last `/`
// the e-mail address; `unverified/ada@example.com` has an address that was not verified.
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const [line] = await new Promise((resolve) => {
  createInterface({ input: process.stdin }).once("line", (text) => resolve([text]));
});
const { port, jwks, client } = JSON.parse(line);
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  jwks,
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [client.redirect_uri],
      post_logout_redirect_uris: [client.post_logout_redirect_uri],
      id_token_signed_response_alg: jwks.keys[0].alg,
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  cookies: { keys: ["only for tests"] },
  enabledJWA: { idTokenSigningAlgValues: [jwks.keys[0].alg] },
  features: { devInteractions: { enabled: true } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      email: id.split("/").at(-1),
      email_verified: !id.startsWith("unverified/"),
      name: "Ada of the Provider",
    }),
  }),
  pkce: { required: () => true },
  ttl: { IdToken: 300, Session: 600, Interaction: 600, Grant: 600, AccessToken: 600 },
});
provider.on("server_error", (_, error) => console.error(error));
provider.listen(port, "127.0.0.1", () => console.log("ready"));
