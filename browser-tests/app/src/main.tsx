import { Client, PushNotifications, subscribeToPush } from "@tidings/client";
import { Chat, Inbox, Message, type MessageProps, TidingsProvider, type UserProfile } from "@tidings/react";
import { ar, de, en } from "@tidings/react/locales";
import "@tidings/react/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startHistory } from "./history.ts";
import { type PageOptions, readOptions } from "./options.ts";
import "./page.css";

declare global {
  interface Window {
    /** The client of this page, for tests that need what no component shows. */
    tidings: Client;
    /** How often a message was rendered, for `bench web`. */
    renderedRows: number;
    /** Subscribe to Web Push and register the subscription, as an app does. */
    subscribeToPush: (worker: ServiceWorkerRegistration) => Promise<void>;
  }
}

const locales = { en, de, ar };
const options = readOptions(location.hash);
const { url, api, token, user, store } = options;
const client = new Client({ url, api, token, user, ...(store ? { store } : {}) });
window.tidings = client;
window.renderedRows = 0;
window.subscribeToPush = (worker) =>
  subscribeToPush(new PushNotifications(client), worker, { locale: navigator.language });

// The page itself must load without a network, as an installed app does.
if ("serviceWorker" in navigator) void navigator.serviceWorker.register("/service_worker.js");

/** Users of tests have unique ids, such as `anna-mwjgyhzn0`. */
function nameUser(id: string): UserProfile {
  const [name = id] = id.split("-");
  return { name: name.charAt(0).toUpperCase() + name.slice(1) };
}

function CountedMessage(props: MessageProps) {
  window.renderedRows++;
  return <Message {...props} />;
}

function Page({ chat, inbox = "default", view = "chat" }: PageOptions) {
  return (
    <main className="page">
      <header className="bar">
        <h1>Tidings</h1>
        <Inbox inbox={inbox} />
      </header>
      {view === "chat" ? <Chat defaultChat={chat} hasSearch /> : <Inbox inbox={inbox} variant="page" />}
    </main>
  );
}

if (options.view === "history") {
  startHistory(client);
} else {
  const locale = locales[options.locale ?? "en"];
  document.documentElement.lang = options.locale ?? "en";
  document.documentElement.dir = options.locale === "ar" ? "rtl" : "ltr";
  document.body.toggleAttribute("data-dark", options.theme === "dark");
  createRoot(document.getElementById("root") as HTMLElement).render(
    <StrictMode>
      <TidingsProvider
        client={client}
        locale={locale}
        theme={options.theme ?? "light"}
        users={nameUser}
        components={options.countsRenders ? { Message: CountedMessage } : {}}
      >
        <Page {...options} />
      </TidingsProvider>
    </StrictMode>,
  );
}
