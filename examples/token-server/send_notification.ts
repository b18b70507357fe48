/** Send a notification to anna: node send_notification.ts, with the API key in TIDINGS_API_KEY. */

import { ServerClient } from "@tidings/server";

const tidings = new ServerClient({
  url: process.env.TIDINGS_API ?? "http://127.0.0.1:8080",
  apiKey: process.env.TIDINGS_API_KEY ?? "",
});

await tidings.call("send_notification", {
  path: { inbox: "default" },
  body: {
    user_ids: ["anna"],
    message: { title: "Your order has shipped", body: "It arrives on Tuesday." },
  },
});
