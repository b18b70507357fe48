import { type RenderResult, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { userEvent } from "vitest/browser";
import { TidingsProvider, type TidingsSettingsProps } from "../src/index.ts";
import "../src/styles/index.css";
import type { FakeClient } from "./fake/fake_client.ts";

/** Render components in a box of fixed size. */
export function show(
  client: FakeClient,
  children: ReactNode,
  { width = 900, height = 600, ...settings }: TidingsSettingsProps & { width?: number; height?: number } = {},
): RenderResult {
  return render(
    <main style={{ width, height, position: "relative" }}>
      <TidingsProvider client={client.asClient} {...settings}>
        {children}
      </TidingsProvider>
    </main>,
  );
}

/** Wait until a condition holds. */
export async function until(condition: () => boolean, what = "the condition", ms = 15_000): Promise<void> {
  const end = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Timeout: waited ${ms} ms for ${what}`);
    await frame();
  }
}

/** Wait for the next frame. */
export function frame(): Promise<unknown> {
  return new Promise((resolve) => requestAnimationFrame(resolve));
}

/** Wait until the layout has not changed for some frames. */
export async function settled(frames = 6): Promise<void> {
  for (let count = 0; count < frames; count += 1) await frame();
}

/** Wait until the virtual list has measured the rows around the view: it starts when scrolling has ended. */
export async function rested(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  await settled();
}

export function log(): HTMLElement {
  const element = document.querySelector<HTMLElement>("[role=log]");
  if (!element) throw new Error("There is no log.");
  return element;
}

export function row(key: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-td-key="${CSS.escape(key)}"]`);
}

export function distanceToBottom(element = log()): number {
  return element.scrollHeight - element.scrollTop - element.clientHeight;
}

/** The text that the announcer says. */
export function announced(): string {
  return document.querySelector("[data-tidings-announcer]")?.textContent ?? "";
}

/** Open the search, enter a text, and wait for the answer. */
export async function searchFor(text: string): Promise<void> {
  const isShown = (selector: string) => document.querySelector(selector) !== null;
  if (!isShown(".td-search")) await userEvent.click(document.querySelector(".td-search-open") as Element);
  await userEvent.fill(document.querySelector(".td-search-field") as Element, text);
  await until(() => isShown(".td-found, .td-search .td-state-title"), "results");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await settled();
}
