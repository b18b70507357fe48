import type { Client, ConnectionStatus } from "@tidings/client";
import { useContext } from "react";
import { ClientContext, SettingsContext, type TidingsSettings } from "../context.ts";
import { useObservable } from "./observable.ts";

/** Return the client of the nearest `<TidingsProvider/>`. Throws without one. */
export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("There is no <TidingsProvider> above this component. Add one to your app.");
  return client;
}

/** Return the state of the connection. */
export function useConnection(): ConnectionStatus {
  return useObservable(useClient().connection);
}

/** Return the id of the signed-in user, or `undefined` until the server or the store has named it. */
export function useCurrentUser(): string | undefined {
  return useObservable(useClient().user);
}

/** Return what all components share: the language, the profiles of users, the theme and the announcer. */
export function useSettings(): TidingsSettings {
  const settings = useContext(SettingsContext);
  if (!settings) throw new Error("There is no <TidingsProvider> above this component. Add one to your app.");
  return settings;
}
