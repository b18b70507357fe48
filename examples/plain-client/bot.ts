/** Answer messages that mention the bot: node bot.ts, with a user, their token and the gateway in TIDINGS_USER, TIDINGS_TOKEN and TIDINGS_URL. */

import { Client } from "@tidings/client";

const client = new Client({
  url: process.env.TIDINGS_URL ?? "ws://127.0.0.1:8081/v1/socket",
  user: process.env.TIDINGS_USER ?? "cleo",
  token: process.env.TIDINGS_TOKEN ?? "",
  store: "memory",
});

client.on("message", ({ chat, entry, origin }) => {
  // The first sync also reports messages: answer only those that are new.
  if (origin === "history" || entry.by === client.user.get()) return;
  if (entry.text?.startsWith("echo ")) client.chat(chat).send(entry.text.slice(5));
});
client.on("sent", () => console.log("answered"));
client.on("connection", ({ state }) => console.log(state));
client.start();
