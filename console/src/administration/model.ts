/** Answers about tenants and their keys. */

export interface Tenant {
  id: string;
  settings: Record<string, unknown>;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface ApiKey {
  id: string;
  title: string;
  scopes: string[];
  created_at: string;
  expires_at?: string;
  revoked_at?: string;
  last_used_at?: string;
}

export interface SigningKey {
  kid: string;
  kind: string;
  created_at: string;
  not_after?: string;
}
