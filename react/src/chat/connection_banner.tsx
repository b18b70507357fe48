import { type ReactNode, useEffect, useState } from "react";
import { useConnection, useSettings } from "../hooks/client.ts";

const PATIENCE_MS = 1500;

/** Says that the connection is down. A short reconnect shows nothing. */
export function ConnectionBanner(): ReactNode {
  const { locale, announce } = useSettings();
  const { state } = useConnection();
  const key = state === "live" ? undefined : state === "resuming" ? "connecting" : state;
  const [isPatient, setIsPatient] = useState(true);
  useEffect(() => {
    setIsPatient(true);
    if (key === undefined) return;
    const timer = setTimeout(() => setIsPatient(false), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  const text = key === undefined || isPatient ? undefined : locale.text(key);
  useEffect(() => {
    if (text !== undefined) announce(text);
  }, [text, announce]);
  return text === undefined ? null : (
    <p className="td-banner" data-state={state}>
      {text}
    </p>
  );
}
