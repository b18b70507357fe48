/** Print a token for anna: node sign_token.ts KEY_FILE */

import { readFileSync } from "node:fs";
import { TokenSigner } from "@tidings/server";

const key = JSON.parse(readFileSync(process.argv[2] ?? "dev-key.json", "utf8"));
const signer = new TokenSigner({ tenant: "dev", key });
const token = signer.sign("anna");
console.log(token);
