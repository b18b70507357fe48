import type { en } from "../locales/en.ts";

/** One form per plural category of the language; `other` is used where a category has none. */
export type PluralText = Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string };

export type TextKey = keyof typeof en.texts;

/** All texts of the components in one language. Values such as `{name}` are filled in. */
export type Texts = { readonly [K in TextKey]: (typeof en.texts)[K] extends string ? string : PluralText };

/** A language of the components: its BCP 47 code, its direction and its texts. */
export interface Locale {
  readonly code: string;
  readonly direction: "ltr" | "rtl";
  readonly texts: Texts;
}
