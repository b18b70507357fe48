/** Send a message as anna: node send_message.ts CHAT, with the API key in TIDINGS_API_KEY. */

import { ServerClient, TidingsError } from "@tidings/server";

const tidings = new ServerClient({
  url: process.env.TIDINGS_API ?? "http://127.0.0.1:8080",
  apiKey: process.env.TIDINGS_API_KEY ?? "",
});
const chat = process.argv[2] ?? "";

try {
  await tidings.call("send_message", { path: { chat }, user: "anna", body: { text: "On my way" } });
} catch (error) {
  if (error instanceof TidingsError && error.code === "not_a_member") console.log("Anna has left the chat.");
  else throw error;
}
