/** Blurhashes are decoded as https://blurha.sh describes, and invalid ones are ignored. */
import { expect, test } from "vitest";
import { decodeBlurhash } from "../src/parts/blurhash.tsx";

const pixel = (pixels: Uint8ClampedArray | undefined, index: number) => [
  ...(pixels?.slice(4 * index, 4 * index + 4) ?? []),
];

test("a hash of one component is one colour", () => {
  // 0xff0000 in base 83, without details.
  const pixels = decodeBlurhash("00TI:j", 2, 2);
  expect(pixel(pixels, 0)).toEqual([255, 0, 0, 255]);
  expect(pixel(pixels, 3)).toEqual([255, 0, 0, 255]);
});

test("a hash of a picture has its colours where they are", () => {
  const pixels = decodeBlurhash("LEHV6nWB2yk8pyo0adR*.7kCMdnj", 32, 24);
  expect(pixels).toHaveLength(32 * 24 * 4);
  const colours = new Set(Array.from({ length: 32 * 24 }, (_, index) => pixel(pixels, index).join()));
  expect(colours.size).toBeGreaterThan(100);
});

test.each(["", "LEHV6", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "LEHV6nWB2yk8pyo0adR*.7kCMdn\u00e9", "~~~~~~"])(
  "the invalid hash %o has no pixels",
  (hash) => {
    expect(decodeBlurhash(hash, 4, 3)).toBeUndefined();
  },
);
