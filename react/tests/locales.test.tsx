import { expect, test } from "vitest";
import { texts } from "../preview/fixture_texts.ts";
import { fixtureClient } from "../preview/fixtures.ts";
import { screens } from "../preview/screens.tsx";
import { LocaleFormat } from "../src/index.ts";
import { ar, de, en, type Locale, type TextKey } from "../src/locales/index.ts";
import { searchFor, settled, show } from "./render.tsx";

const keys = Object.keys(en.texts) as TextKey[];

function forms(locale: Locale, key: TextKey): string[] {
  const text = locale.texts[key];
  return typeof text === "string" ? [text] : Object.values(text);
}

function holes(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").sort();
}

for (const locale of [de, ar]) {
  test(`${locale.code} has every text, with the same values`, () => {
    expect(Object.keys(locale.texts).sort()).toEqual([...keys].sort());
    for (const key of keys) {
      const [wanted] = forms(en, key).map(holes);
      for (const form of forms(locale, key)) {
        // A plural form for one or two may contain the number as a word.
        const missing = wanted?.filter((name) => name !== "count" && !holes(form).includes(name));
        expect(missing, `${key}: ${form}`).toEqual([]);
        expect(wanted, `${key}: ${form}`).toEqual(expect.arrayContaining(holes(form)));
      }
    }
  });

  test(`${locale.code} has every plural category of its language`, () => {
    const categories = new Intl.PluralRules(locale.code).resolvedOptions().pluralCategories;
    for (const key of keys.filter((name) => typeof en.texts[name] !== "string" && name !== "typing")) {
      expect(Object.keys(locale.texts[key]), key).toEqual(expect.arrayContaining(categories));
    }
  });
}

test("Counts choose the plural form and use the digits of the language", () => {
  const text = (locale: Locale, count: number) => new LocaleFormat(locale).text("newCount", { count });
  expect([text(en, 1), text(en, 2000)]).toEqual(["1 new message", "2,000 new messages"]);
  expect(text(de, 2000)).toBe("2.000 neue Nachrichten");
  expect([text(ar, 1), text(ar, 2)]).toEqual(["رسالة جديدة واحدة", "رسالتان جديدتان"]);
  expect(text(ar, 5)).toContain("رسائل جديدة");
});

test("Days and times follow the language", () => {
  const now = new Date(2026, 10, 16, 14, 5).getTime();
  const day = 24 * 3600_000;
  const english = new LocaleFormat(en);
  expect(english.day(now, now)).toBe("Today");
  expect(english.day(now - day, now)).toBe("Yesterday");
  expect(new LocaleFormat(de).day(now - day, now)).toBe("Gestern");
  expect(english.day(now - 3 * day, now)).toBe("Friday, November 13");
  expect(english.day(now - 400 * day, now)).toContain("2025");
  expect(english.relative(now - 5 * 60_000, now)).toBe("5 minutes ago");
  expect(english.badge(128)).toBe("99+");
});

/** A language in which every text is its key in brackets. */
const marked: Locale = {
  ...ar,
  texts: Object.fromEntries(
    keys.map((key) => [key, forms(en, key).length > 1 ? { other: `⟦${key}⟧` } : `⟦${key}⟧`]),
  ) as Locale["texts"],
};

const users = (id: string) => ({ name: texts("ar").names[id] });

/** Words of the fixtures. */
const expected = /https:\/\/\S+|Tidings|Firefox|Linux|mentions/g;

for (const [name, screen] of Object.entries(screens)) {
  if (name === "long") continue;
  test(`All texts come from the locale: ${name}`, async () => {
    const client = fixtureClient("ar");
    screen.prepare?.(client);
    const { container } = show(client, screen.render("ar"), { locale: marked, users });
    await settled();
    if (name.startsWith("search")) await searchFor("مرحبا");
    const found = [container.textContent ?? ""];
    for (const element of container.querySelectorAll("*")) {
      for (const attribute of ["aria-label", "title", "placeholder", "alt"]) {
        found.push(element.getAttribute(attribute) ?? "");
      }
    }
    const english = found.map((text) =>
      text
        .replace(/⟦\w+⟧/g, "")
        .replace(expected, "")
        .replace(/[^a-z]+/gi, ""),
    );
    expect(english.filter(Boolean)).toEqual([]);
  });
}
