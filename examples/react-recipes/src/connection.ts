/** Properties that every recipe passes to the provider. */
export interface Connection {
  url: string;
  token: () => Promise<string>;
  user: string;
}
