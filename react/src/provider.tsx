import { Client, type ClientOptions } from "@tidings/client";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Announcer, type AnnouncerHandle } from "./announcer.tsx";
import { keepOpen } from "./client_lifetime.ts";
import {
  ClientContext,
  SettingsContext,
  type Theme,
  type TidingsSettings,
  type UserLookup,
} from "./context.ts";
import { LocaleFormat } from "./locale/format.ts";
import type { Locale } from "./locale/texts.ts";
import { en } from "./locales/en.ts";
import { type Components, ComponentsProvider } from "./slots.tsx";

export interface TidingsSettingsProps {
  /** Language of the components. Default: English. */
  locale?: Locale | undefined;
  /** Names and pictures of users. Pass a stable function: a new one renders all components again. */
  users?: UserLookup | undefined;
  /** `auto` follows the system. */
  theme?: Theme | undefined;
  /** Replacements of parts, for all components below. */
  components?: Partial<Components> | undefined;
  children?: ReactNode;
}

interface OwnClientProps {
  /** A client that the app owns. The provider starts it and does not close it. */
  client: Client;
}

interface NewClientProps extends Omit<ClientOptions, "url" | "token"> {
  client?: undefined;
  url: string;
  token: ClientOptions["token"];
}

export type TidingsProviderProps = TidingsSettingsProps & (OwnClientProps | NewClientProps);

/**
 * Connect the hooks and components below to Tidings.
 *
 * With `url` and `token` the provider creates a client, starts it and closes it when it is unmounted; a new `url` or
 * `user` creates a new client. With `client` it uses the app's own.
 */
export function TidingsProvider(props: TidingsProviderProps): ReactNode {
  const { locale, users, theme, components, children, ...rest } = props;
  const settings = { locale, users, theme, components, children };
  if (rest.client) return <OwnClient client={rest.client} {...settings} />;
  return <NewClient key={`${rest.url} ${rest.user}`} options={rest} {...settings} />;
}

function OwnClient({ client, ...settings }: OwnClientProps & TidingsSettingsProps) {
  useEffect(() => client.start(), [client]);
  return <Connected client={client} {...settings} />;
}

function NewClient({ options, ...settings }: { options: NewClientProps } & TidingsSettingsProps) {
  const token = useRef(options.token);
  token.current = options.token;
  // The constructor has no effects: StrictMode calls this twice and drops one client that was never started.
  const [client] = useState(() => {
    const { client: _, ...rest } = options;
    const readToken = () => (typeof token.current === "function" ? token.current() : token.current);
    return new Client({ ...rest, token: readToken });
  });
  useEffect(() => keepOpen(client), [client]);
  return <Connected client={client} {...settings} />;
}

const noProfiles: UserLookup = () => undefined;

function Connected(props: { client: Client } & TidingsSettingsProps) {
  const { client, locale = en, users = noProfiles, theme = "auto", components, children } = props;
  const announcer = useRef<AnnouncerHandle>(null);
  const settings = useMemo<TidingsSettings>(
    () => ({
      locale: new LocaleFormat(locale),
      users,
      theme,
      announce: (text) => announcer.current?.announce(text),
    }),
    [locale, users, theme],
  );
  return (
    <ClientContext.Provider value={client}>
      <SettingsContext.Provider value={settings}>
        <ComponentsProvider components={components}>{children}</ComponentsProvider>
        <Announcer ref={announcer} />
      </SettingsContext.Provider>
    </ClientContext.Provider>
  );
}
