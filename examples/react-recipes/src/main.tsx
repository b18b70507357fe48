/** One recipe of the guides, chosen by the query: ?recipe=own-part */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ChatAndInbox } from "./chat_and_inbox.tsx";
import { ChatWithFiles } from "./chat_with_files.tsx";
import { ChatWithSearch } from "./chat_with_search.tsx";
import { German } from "./german.tsx";
import { InboxPage } from "./inbox_page.tsx";
import { NamedUsers } from "./named_users.tsx";
import { OwnInterface } from "./own_interface.tsx";
import { OwnPart } from "./own_part.tsx";
import "./page.css";
import "./theme.css";

const RECIPES = {
  "chat-and-inbox": ChatAndInbox,
  "chat-with-files": ChatWithFiles,
  "chat-with-search": ChatWithSearch,
  "named-users": NamedUsers,
  german: German,
  "own-part": OwnPart,
  "own-interface": OwnInterface,
  "inbox-page": InboxPage,
};

const query = new URLSearchParams(location.search);
const user = query.get("user") ?? "anna";
const Recipe = RECIPES[(query.get("recipe") ?? "named-users") as keyof typeof RECIPES];

async function fetchToken(): Promise<string> {
  const response = await fetch(`/token?user=${encodeURIComponent(user)}`);
  if (!response.ok) throw new Error(`The token endpoint answered with ${response.status}.`);
  return (await response.json()).token;
}

const url = import.meta.env.VITE_TIDINGS_URL ?? "ws://127.0.0.1:8081/v1/socket";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Recipe url={url} token={fetchToken} user={user} />
  </StrictMode>,
);
