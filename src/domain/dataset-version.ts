import { contentName } from './hash.ts'

/*
 * A version identifies a point in the log of a dataset. A dataset that several stored steps share has one log for each
 * step and each database with items of that step. So a version has one part for each log: a hash of the step id and the
 * number of the log's last entry. The part begins with the database's number, unless that's the control database.
 */

/** A stored step of a dataset in one database, and the number of an entry. */
export interface DatasetPart {
  /** The number of the database, as in `shards.ts`. */
  shard: number
  stepId: string
  sequence: number
}

const HASH_LENGTH = 8

const hashOf = async (stepId: string) => (await contentName(stepId)).slice(0, HASH_LENGTH)

const nameOf = async ({ shard, stepId }: DatasetPart): Promise<string> =>
  `${shard === 0 ? '' : `${shard}-`}${await hashOf(stepId)}`

const PART = /^((?:[1-9]\d{0,2}-)?[0-9a-f]{8})([0-9a-z]{1,11})$/

/** Writes the version that identifies these entries. */
export async function writeVersion(parts: readonly DatasetPart[]): Promise<string> {
  // A database that joined the dataset later doesn't change the names of earlier versions.
  const named = parts.filter(({ shard, sequence }) => shard === 0 || sequence > 0)
  const written = await Promise.all(named.map(async part => `${await nameOf(part)}${part.sequence.toString(36)}`))
  return written.sort().join('.')
}

/**
 * The parts of a dataset at a version. A step or database that joined the dataset later has the number 0. Undefined if
 * the dataset never had this version, or if a step has left it since. `latest` has the parts as they are now.
 */
export async function readVersion(version: string, latest: readonly DatasetPart[]): Promise<DatasetPart[] | undefined> {
  const named = new Map<string, number>()
  for (const part of version.split('.')) {
    const [, name, sequence] = PART.exec(part) ?? []
    if (!name || !sequence) return undefined
    named.set(name, Number.parseInt(sequence, 36))
  }
  const parts = await Promise.all(latest.map(async part => ({ ...part, at: named.get(await nameOf(part)) })))
  const found = parts.filter(({ at }) => at !== undefined)
  const isKnown = found.length === named.size && parts.every(({ at = 0, sequence }) => at <= sequence)
  return isKnown ? parts.map(({ shard, stepId, at = 0 }) => ({ shard, stepId, sequence: at })) : undefined
}
