/** React hooks and components for Tidings. Start with {@link TidingsProvider}. */
export * from "./components.ts";
export * from "./hooks.ts";
