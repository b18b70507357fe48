import type { Client } from "@tidings/client";
import { createContext } from "react";
import type { LocaleFormat } from "./locale/format.ts";

/** How the app describes a user. Tidings knows users by id only. */
export interface UserProfile {
  readonly name?: string | undefined;
  readonly imageUrl?: string | undefined;
}

/** Return the profile of a user, or `undefined` if the app does not know them. */
export type UserLookup = (user: string) => UserProfile | undefined;

export type Theme = "light" | "dark" | "auto";

/** Settings that all components share. */
export interface TidingsSettings {
  readonly locale: LocaleFormat;
  readonly users: UserLookup;
  readonly theme: Theme;
  readonly announce: (text: string) => void;
}

export const ClientContext = /* @__PURE__ */ createContext<Client | undefined>(undefined);
export const SettingsContext = /* @__PURE__ */ createContext<TidingsSettings | undefined>(undefined);
