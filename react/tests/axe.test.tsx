import axe from "axe-core";
import { afterEach, expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { fixtureClient } from "../preview/fixtures.ts";
import { screens } from "../preview/screens.tsx";
import { ar, en } from "../src/locales/index.ts";
import { row, searchFor, settled, show } from "./render.tsx";

const looks = [
  { theme: "light", locale: en, language: "en" },
  { theme: "dark", locale: ar, language: "ar" },
] as const;

afterEach(() => {
  document.body.style.background = "";
});

/** Return what axe finds, as one line for each element. */
async function violations(): Promise<string[]> {
  const { violations: found } = await axe.run(document, {
    // The page around the components belongs to the test.
    rules: { "document-title": { enabled: false }, "page-has-heading-one": { enabled: false } },
  });
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`),
  );
}

for (const { theme, locale, language } of looks) {
  for (const [name, screen] of Object.entries(screens)) {
    if (name === "long") continue;
    test(`axe finds nothing: ${name}, ${theme}, ${language}`, async () => {
      const client = fixtureClient(language);
      screen.prepare?.(client);
      document.documentElement.lang = language;
      document.body.style.colorScheme = theme;
      document.body.style.background = theme === "dark" ? "#14161a" : "#ffffff";
      show(client, screen.render(language), { theme, locale });
      await settled();
      if (name === "popover") await userEvent.click(document.querySelector(".td-bell") as Element);
      if (name === "chat") row("m12")?.focus();
      if (name.startsWith("search")) await searchFor("hello");
      await settled();
      expect(await violations()).toEqual([]);
    });
  }
}
