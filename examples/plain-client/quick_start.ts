import { readFileSync } from "node:fs";
import { Client, TidingsError } from "@tidings/client";

const dev = JSON.parse(readFileSync(".tidings/dev/client.json", "utf8"));
const client = new Client({ url: dev.gateway, user: "anna", token: dev.users.anna.token });
client.on("message", ({ entry, origin }) => {
  if (origin !== "history") console.log(entry.by, entry.text);
});
client.start();

const { stored, outcome } = client.chat(dev.chats.direct).send("Hello!");
await stored; // in the outbox; the client sends it
try {
  console.log("committed at", (await outcome).sequence);
} catch (error) {
  if (error instanceof TidingsError) console.log(error.code); // final: the message is not in the log
}
