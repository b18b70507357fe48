import { act } from "@testing-library/react";
import type { SearchPage } from "@tidings/client";
import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { Chat } from "../src/index.ts";
import { NO_FIELDS, queryOf, withPrefix } from "../src/search/search_query.ts";
import { FakeSearch, foundMessage } from "./fake/fake_search.ts";
import { clientWithChat } from "./fixtures.ts";
import { announced, log, row, searchFor, settled, show, until } from "./render.tsx";

const PAGE: SearchPage = {
  results: [
    foundMessage("garden", 190, "carla", "The *apple* tree"),
    foundMessage("garden", 3, "ben", "An *apple*"),
  ],
};

function openSearch(answer: FakeSearch["answer"] = () => PAGE, width = 900) {
  const fixture = clientWithChat(200, 60);
  const search = new FakeSearch(fixture.client, answer);
  show(fixture.client, <Chat defaultChat="garden" hasSearch />, { width });
  return { ...fixture, search };
}

const found = () => [...document.querySelectorAll<HTMLElement>(".td-found")];
const isInView = (element: HTMLElement | null) => {
  if (!element) return false;
  const [inner, outer] = [element.getBoundingClientRect(), log().getBoundingClientRect()];
  return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
};

test("The last word is a prefix, except in scripts without spaces", () => {
  expect(["lunch", "lunch to", "lunch t", "lunch*", "東京", "รถ", "ok?"].map(withPrefix)).toEqual([
    "lunch*",
    "lunch to*",
    "lunch t",
    "lunch*",
    "東京",
    "รถ",
    "ok?",
  ]);
});

test("Days are included, in the time zone of the user", () => {
  const fields = { ...NO_FIELDS, text: " cake ", firstDay: "2026-11-17", lastDay: "2026-11-18", from: "ben" };
  expect(queryOf(fields)).toEqual({
    text: "cake*",
    from: "ben",
    after: new Date(2026, 10, 17),
    before: new Date(2026, 10, 19),
  });
  expect(queryOf({ ...NO_FIELDS, text: "…", chat: "garden" })).toBeUndefined();
  expect(queryOf({ ...NO_FIELDS, hasAttachment: true })).toEqual({ text: "", hasAttachment: true });
});

test("One search is made when the user stops typing, and matches are marked", async () => {
  const { search } = openSearch();
  await searchFor("appl");
  expect(search.requests).toEqual([{ q: "appl*" }]);
  expect(found().map((each) => each.querySelector("mark")?.textContent)).toEqual(["apple", "apple"]);
  expect(found()[0]?.textContent).toContain("carla: The apple tree");
  expect(announced()).toBe("2 messages found");
});

test("A result shows its message in context, also one that is not loaded", async () => {
  const { chat } = openSearch();
  await until(() => row("#200") !== null);
  await searchFor("apple");
  expect(row("#3")).toBeNull();
  act(() => found()[1]?.click());
  await until(() => isInView(row("#3")), "the message in view");
  expect(row("#2") && row("#4")).not.toBeNull();
  expect(chat.timeline.calls).toContain("loadAround");
  expect(found()[1]?.getAttribute("aria-current")).toBe("true");
  act(() => found()[0]?.click());
  await until(() => isInView(row("#190")), "the other message in view");
  // The same result again, after the user has scrolled away.
  log().scrollTop = log().scrollHeight;
  await settled();
  act(() => found()[0]?.click());
  await until(() => isInView(row("#190")), "the same message again");
});

test("In a narrow chat, a result shows the chat, and back returns to the results", async () => {
  openSearch(() => PAGE, 390);
  await userEvent.click(document.querySelector(".td-chat-header .td-search-open") as Element);
  await searchFor("apple");
  expect(document.querySelector(".td-main")?.checkVisibility()).toBe(false);
  await userEvent.click(found()[0] as Element);
  await until(() => document.querySelector(".td-main")?.checkVisibility() ?? false, "the chat");
  expect(document.activeElement?.className).toBe("td-chat-title");
  await userEvent.click(document.querySelector(".td-back") as Element);
  expect(found()[0]?.checkVisibility()).toBe(true);
  await until(() => document.activeElement === found()[0], "the focus on the result");
});

test("The filters are sent, and the search of a chat starts with it", async () => {
  const { search, chat } = openSearch();
  chat.members.set(["anna", "ben"]);
  await userEvent.click(document.querySelector(".td-chat-header .td-search-open") as Element);
  const field = (type: string, index = 0) =>
    document.querySelectorAll(`.td-search-filters ${type}`)[index] as HTMLSelectElement;
  await userEvent.selectOptions(field("select", 1), "ben");
  await userEvent.fill(field("input[type=date]"), "2026-11-17");
  await userEvent.click(field("input[type=checkbox]"));
  await searchFor("cake");
  expect(search.requests.at(-1)).toEqual({
    q: "cake*",
    chat: "garden",
    from: "ben",
    after: new Date(2026, 10, 17).toISOString(),
    has: "attachment",
  });
  await userEvent.keyboard("{Escape}");
  expect(document.querySelector(".td-search")).toBeNull();
  await until(() => document.activeElement?.classList.contains("td-search-open") ?? false, "the focus");
});

test("The next page follows, and the answer of a former query is dropped", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { search } = openSearch(async ({ q, cursor }) => {
    if (q === "slow*") return held.then(() => PAGE);
    if (cursor) return { results: [foundMessage("garden", 5, "ben", "*last*")] };
    return { results: q === "empty*" ? [] : PAGE.results, cursor: "next" };
  });
  await searchFor("empty");
  expect(found().map((each) => each.textContent)).toEqual([expect.stringContaining("last")]);
  expect(search.requests.map(({ cursor }) => cursor)).toEqual([undefined, "next"]);
  const field = document.querySelector(".td-search-field") as Element;
  await userEvent.fill(field, "slow");
  await until(() => search.requests.at(-1)?.q === "slow*", "the slow request");
  await searchFor("quick");
  await until(() => found().length === 3, "both pages");
  release();
  await settled();
  expect(found()).toHaveLength(3);
});

test("A tenant without search, and a failed search that is repeated", async () => {
  const problem = (code: string, status: number) => Response.json({ code, detail: code }, { status });
  const { search } = openSearch(() => problem("search_off", 403));
  await searchFor("apple");
  expect(document.querySelector(".td-search")?.textContent).toContain("Search is off");
  search.answer = () => problem("overloaded", 503);
  await searchFor("apples");
  expect(document.querySelector(".td-search")?.textContent).toContain("The search did not work.");
  search.answer = () => PAGE;
  await userEvent.click(document.querySelector(".td-search .td-button") as Element);
  await until(() => found().length === 2, "the results");
});

test("A client without the REST API has no search", async () => {
  const { client } = clientWithChat(5);
  show(client, <Chat defaultChat="garden" hasSearch />);
  await settled();
  expect(document.querySelector(".td-search-open")).toBeNull();
});
