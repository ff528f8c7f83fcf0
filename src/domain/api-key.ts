/** What a key may do. The endpoint list says which of them each call needs. */
export const SCOPES = ['ingest', 'read', 'review', 'manage'] as const
export type Scope = (typeof SCOPES)[number]

export const isScope = (word: string): word is Scope => SCOPES.some(scope => scope === word)

/** A key as it is stored. */
export interface HashedKey {
  /** The first characters, by which people tell keys apart. */
  prefix: string
  hash: string
}
