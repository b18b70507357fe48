import { expect, test } from "vitest";
import { firstKeys, nextKeys, type ShownKeys } from "../src/chat/key_changes.ts";

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `#${from + index}`);
const at = (keys: readonly string[]): ShownKeys => firstKeys(keys);

test("Appended keys do not shift", () => {
  const next = nextKeys(at(range(5, 8)), range(5, 10));
  expect(next).toMatchObject({ keys: range(5, 10), shift: false, generation: 0 });
});

test("Prepended keys shift", () => {
  const next = nextKeys(at(range(5, 8)), range(2, 8));
  expect(next).toMatchObject({ keys: range(2, 8), shift: true, generation: 0 });
});

test("Keys added at both ends are shown in two steps", () => {
  const target = range(2, 10);
  const first = nextKeys(at(range(5, 8)), target);
  expect(first).toMatchObject({ keys: range(2, 8), shift: true });
  expect(nextKeys(first, target)).toMatchObject({ keys: target, shift: false, generation: 0 });
});

test("Keys dropped at the start and added at the end are shown in two steps", () => {
  const target = range(7, 12);
  const first = nextKeys(at(range(5, 10)), target);
  expect(first).toMatchObject({ keys: range(7, 10), shift: true });
  expect(nextKeys(first, target)).toMatchObject({ keys: target, shift: false });
});

test("A jump to another part starts a new generation", () => {
  const next = nextKeys(at(range(500, 550)), range(10, 60));
  expect(next).toMatchObject({ keys: range(10, 60), shift: false, generation: 1 });
});

test("A commit that reorders the end does not shift", () => {
  const next = nextKeys(at(["#1", "#2", "mine"]), ["#1", "#2", "#3", "mine"]);
  expect(next).toMatchObject({ shift: false, generation: 0 });
});
