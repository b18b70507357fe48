import { type ReactNode, useEffect, useRef } from "react";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";
const WIDTH = 32;
const HEIGHT = 24;
/** Columns and rows of the header, the largest value, and the average colour. */
const HEADER_LENGTH = 6;

type Colour = readonly [number, number, number];

/** A blurred picture of an image that is still loading. Without a valid hash it is empty. */
export function Blurhash({ hash }: { hash: string }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pixels = decodeBlurhash(hash, WIDTH, HEIGHT);
    const context = pixels && canvas.current?.getContext("2d");
    if (context) context.putImageData(new ImageData(pixels, WIDTH, HEIGHT), 0, 0);
  }, [hash]);
  return <canvas ref={canvas} width={WIDTH} height={HEIGHT} />;
}

/** Return the pixels of a blurhash (https://blurha.sh), four bytes each, or undefined if it is not valid. */
export function decodeBlurhash(
  hash: string,
  width: number,
  height: number,
): Uint8ClampedArray<ArrayBuffer> | undefined {
  const digits = [...hash].map((digit) => DIGITS.indexOf(digit));
  if (digits.length < HEADER_LENGTH || digits.includes(-1)) return undefined;
  const number = (start: number, end: number) =>
    digits.slice(start, end).reduce((value, digit) => value * 83 + digit, 0);
  const [columns, rows] = [(number(0, 1) % 9) + 1, Math.floor(number(0, 1) / 9) + 1];
  if (digits.length !== HEADER_LENGTH - 2 + 2 * columns * rows) return undefined;
  const largest = (number(1, 2) + 1) / 166;
  const average = number(2, HEADER_LENGTH);
  const parts: Colour[] = [
    [toLinear(average >> 16), toLinear((average >> 8) & 255), toLinear(average & 255)],
  ];
  for (let start = HEADER_LENGTH; start < digits.length; start += 2) {
    const value = number(start, start + 2);
    const channel = (part: number) => Math.sign(part - 9) * ((part - 9) / 9) ** 2 * largest;
    parts.push([channel(Math.floor(value / 361)), channel(Math.floor(value / 19) % 19), channel(value % 19)]);
  }
  return drawParts(parts, columns, width, height);
}

function drawParts(
  parts: readonly Colour[],
  columns: number,
  width: number,
  height: number,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const sum: [number, number, number] = [0, 0, 0];
      parts.forEach((colour, index) => {
        const across = Math.cos((Math.PI * x * (index % columns)) / width);
        const weight = across * Math.cos((Math.PI * y * Math.floor(index / columns)) / height);
        for (const channel of [0, 1, 2] as const) sum[channel] += colour[channel] * weight;
      });
      for (const channel of [0, 1, 2] as const) pixels[4 * (y * width + x) + channel] = toSrgb(sum[channel]);
    }
  return pixels;
}

function toLinear(value: number): number {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

function toSrgb(value: number): number {
  const share = Math.max(0, Math.min(1, value));
  return 255 * (share <= 0.0031308 ? share * 12.92 : 1.055 * share ** (1 / 2.4) - 0.055);
}
