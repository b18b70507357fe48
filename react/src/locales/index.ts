export type { Locale, PluralText, TextKey, Texts } from "../locale/texts.ts";
export { ar } from "./ar.ts";
export { de } from "./de.ts";
export { en } from "./en.ts";
