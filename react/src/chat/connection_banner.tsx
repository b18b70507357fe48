import { type ReactNode, useEffect, useState } from "react";
import { useConnection, useSettings } from "../hooks/client.ts";

const PATIENCE_MS = 1500;

/** Says that the connection is down. A short reconnect shows nothing. */
export function ConnectionBanner(): ReactNode {
  const { locale, announce } = useSettings();
  const { state } = useConnection();
  const isLive = state === "live";
  const [isPatient, setIsPatient] = useState(true);
  // The client waits and connects in turn until it succeeds. The text does not alternate with it.
  const [hasWaited, setHasWaited] = useState(false);
  if (state === "waiting" && !hasWaited) setHasWaited(true);
  if (isLive && hasWaited) setHasWaited(false);
  useEffect(() => {
    setIsPatient(true);
    if (isLive) return;
    const timer = setTimeout(() => setIsPatient(false), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isLive]);
  const key = state === "stopped" ? "stopped" : hasWaited ? "waiting" : "connecting";
  const text = isLive || isPatient ? undefined : locale.text(key);
  useEffect(() => {
    if (text !== undefined) announce(text);
  }, [text, announce]);
  return text === undefined ? null : (
    <p className="td-banner" data-state={key}>
      {text}
    </p>
  );
}
