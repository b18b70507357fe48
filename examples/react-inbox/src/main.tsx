import { Inbox, TidingsProvider } from "@tidings/react";
import "@tidings/react/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./page.css";

const user = new URLSearchParams(location.search).get("user") ?? "anna";

async function fetchToken(): Promise<string> {
  const response = await fetch(`/token?user=${encodeURIComponent(user)}`);
  if (!response.ok) throw new Error(`The token endpoint answered with ${response.status}.`);
  return (await response.json()).token;
}

const url = import.meta.env.VITE_TIDINGS_URL ?? "ws://127.0.0.1:8081/v1/socket";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <TidingsProvider url={url} token={fetchToken} user={user}>
      <header>
        <h1>My shop</h1>
        <Inbox />
      </header>
      <main>Your page</main>
    </TidingsProvider>
  </StrictMode>,
);
