/** The scopes of a key. The endpoint list says which scope each call needs. */
export const SCOPES = ['ingest', 'read', 'review', 'manage'] as const
export type Scope = (typeof SCOPES)[number]

export const isScope = (word: string): word is Scope => SCOPES.some(scope => scope === word)

/**
 * Who a key acts as. A person's decisions are ground truth. An agent only suggests decisions, and a pipeline makes
 * none.
 */
export const ACTORS = ['person', 'agent', 'pipeline'] as const
export type Actor = (typeof ACTORS)[number]

/** Who a key with these scopes acts as, unless its creator chooses otherwise. */
export const defaultActor = (scopes: readonly Scope[]): Actor =>
  scopes.includes('review') || scopes.includes('manage') ? 'person' : 'pipeline'

/** A key as stored. */
export interface HashedKey {
  /** The first characters, so that users can tell keys apart. */
  prefix: string
  hash: string
}
