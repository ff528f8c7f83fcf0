/** The scopes of a key. The endpoint list says which scope each call needs. */
export const SCOPES = ['ingest', 'read', 'review', 'manage'] as const
export type Scope = (typeof SCOPES)[number]

export const isScope = (word: string): word is Scope => SCOPES.some(scope => scope === word)

/** A key as stored. */
export interface HashedKey {
  /** The first characters, so that users can tell keys apart. */
  prefix: string
  hash: string
}
