import { TidingsError } from "@tidings/client";
import type { ReactNode } from "react";
import { composerOf } from "../src/composer_model.ts";
import { Chat, Inbox, InboxPreferences } from "../src/index.ts";
import type { FakeClient } from "../tests/fake/fake_client.ts";
import { FakeSearch, foundMessage } from "../tests/fake/fake_search.ts";
import { messageItem } from "../tests/fake/fake_timeline.ts";
import { texts } from "./fixture_texts.ts";

export interface Screen {
  readonly title: string;
  /** Change the fixtures before the screen is shown. */
  readonly prepare?: (client: FakeClient) => void;
  readonly render: (language: string) => ReactNode;
}

const error = new TidingsError({ code: "request_timeout", message: "The server did not answer." });

function chat(open?: string): ReactNode {
  return <Chat defaultChat={open} />;
}

function popover(language: string): ReactNode {
  return (
    <div
      className="preview-top"
      style={{ color: "light-dark(#1a1e26, #e9ebef)" }}
      dir={language === "ar" ? "rtl" : "ltr"}
    >
      <span>Tidings</span>
      <Inbox categories={texts(language).categories} />
    </div>
  );
}

const page = (language: string) => <Inbox variant="page" categories={texts(language).categories} />;

/** Answer every search with messages of the team, of which the first word matches. */
function answerSearches(client: FakeClient): void {
  const log = client.chat("team").timeline.log.filter(({ kind, text }) => kind === "message" && text);
  const results = log.map(({ sequence = 1, by, text }) =>
    foundMessage("team", sequence, by, text.replace(/^(\S+)/, "*$1*")),
  );
  new FakeSearch(client, () => ({ results: results.reverse() }));
}

/** Every component in every state. */
export const screens: Readonly<Record<string, Screen>> = {
  preferences: {
    title: "Preferences",
    render: (language) => <InboxPreferences categories={texts(language).categories} />,
  },
  chat: { title: "Group chat", render: () => chat("team") },
  direct: { title: "Direct chat", render: () => chat("ben") },
  list: { title: "Chat list", render: () => chat() },
  search: { title: "Search", prepare: answerSearches, render: () => <Chat defaultChat="team" hasSearch /> },
  "search-nothing": {
    title: "Nothing found",
    prepare: (client) => void new FakeSearch(client, () => ({ results: [] })),
    render: () => <Chat hasSearch />,
  },
  reply: {
    title: "Reply",
    prepare: (client) => composerOf(client.asClient.chat("ben")).reply("d3"),
    render: () => chat("ben"),
  },
  edit: {
    title: "Edit",
    prepare: (client) => composerOf(client.asClient.chat("ben")).edit("d1"),
    render: () => chat("ben"),
  },
  offline: {
    title: "Offline",
    prepare: (client) => client.connection.set({ state: "waiting", waitMs: 4000 }),
    render: () => chat("ben"),
  },
  "no-chats": { title: "No chats", prepare: (client) => client.chats.show([]), render: () => chat() },
  "no-messages": {
    title: "No messages",
    prepare: (client) => client.chat("dilan").timeline.open([]),
    render: () => chat("dilan"),
  },
  loading: {
    title: "Loading",
    prepare: (client) => {
      client.chats.show([]);
      client.chats.isLoaded.set(false);
      client.chat("emil").timeline.delayMs = 1e9;
    },
    render: () => chat("emil"),
  },
  error: {
    title: "Messages not loaded",
    prepare: (client) => {
      client.chat("emil").timeline.nextError = error;
    },
    render: () => chat("emil"),
  },
  long: {
    title: "100,000 messages",
    prepare: (client) => {
      const log = Array.from({ length: 100_000 }, (_, index) =>
        messageItem({
          key: `#${index + 1}`,
          by: index % 5 === 0 ? "carla" : "ben",
          at: Date.now() - (100_000 - index) * 20_000,
          text: `${index + 1}. ${"All work and play. ".repeat(1 + (index % 7))}`,
        }),
      );
      client.chat("ben").timeline.open(log);
    },
    render: () => chat("ben"),
  },
  inbox: { title: "Inbox page", render: page },
  popover: { title: "Inbox popover", render: popover },
  "inbox-empty": { title: "Empty inbox", prepare: (client) => client.inbox().show([]), render: page },
  "inbox-loading": {
    title: "Inbox loading",
    prepare: (client) => {
      const feed = client.inbox().feed();
      feed.ids.set([]);
      feed.isFrozen = true;
      feed.range.set({ isLoaded: false, hasMore: false, isLoading: true });
    },
    render: page,
  },
  "inbox-error": {
    title: "Inbox not loaded",
    prepare: (client) => {
      const feed = client.inbox().feed();
      feed.ids.set([]);
      feed.fail(error);
    },
    render: page,
  },
};
