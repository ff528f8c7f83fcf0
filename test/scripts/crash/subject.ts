import { createHash, randomUUID } from 'node:crypto'
import { seededRandom } from '../../../scripts/demo/random.ts'
import type { Ids } from '../../properties/model.ts'
import type { Client } from './client.ts'

/** Who calls, and the ids of what its project holds. */
export interface Tenant {
  client: Client
  ids: Ids
}

/** A part of a project that one writer alone writes, so that how it reads follows from what was answered. */
export interface Subject {
  read: () => Promise<unknown>
  /** How it may read: in one way, or where a call was cut off, in one for all that may have come of it. */
  views: () => unknown[]
  /** It is known by now which view is right. */
  settle: (place: number) => void
  /** Makes the call again that was cut off. It is settled then. */
  repeat: () => Promise<unknown>
}

/** A subject whose reading follows from a state. */
export class Tracked<State> implements Subject {
  readonly read: () => Promise<unknown>
  readonly #viewOf: (state: State) => unknown
  /** One; while a call is under way, and if it is cut off, all that may come of it, with all of the call at the end. */
  #states: readonly State[]
  repeat: () => Promise<unknown> = async () => {}

  /** `viewOf` is how a state reads. */
  constructor(state: State, read: () => Promise<unknown>, viewOf: (state: State) => unknown) {
    this.#states = [state]
    this.read = read
    this.#viewOf = viewOf
  }

  /** The state that it is in, or that a call under way is to bring about. */
  get state(): State {
    const [last] = this.#states.slice(-1)
    if (last === undefined) throw new Error('It is in no state')
    return last
  }

  /** A call is about to be sent that may bring about any of these states; `repeat` makes it again. */
  begin(states: readonly State[], repeat: () => Promise<unknown>): void {
    this.#states = states
    this.repeat = repeat
  }

  settle(place = this.#states.length - 1): void {
    this.#states = this.#states.slice(place, place + 1)
  }

  /** Makes a call that brings about a state, or nothing. */
  async write(after: State, call: () => Promise<unknown>, repeat = call): Promise<void> {
    this.begin([this.state, after], () => this.write(after, repeat))
    await call()
    this.settle()
  }

  views(): unknown[] {
    return this.#states.map(this.#viewOf)
  }
}

/** What is written, and when, differs from run to run. */
export const random = seededRandom(randomUUID())

/** When the service did something, the tags made of that, and the cursors of lists that have one page. */
const LEFT_OPEN: ReadonlySet<string> = new Set([
  'updatedAt',
  'receivedAt',
  'received_at',
  'etag',
  'nextSpanCursor',
  'nextFeedbackCursor',
])

/** What is read or expected, without what the model leaves open; long texts as their hashes, for failures to be readable. */
export const comparable = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, item) => {
    if (LEFT_OPEN.has(name)) return undefined
    return typeof item === 'string' && item.length > 99 ? `${item.length} units: ${sha1(item).toString('hex')}` : item
  })

/** The ids of a project, as the contract lets clients compute them. */
export const idsIn = (project: Ids['project'], others: Pick<Ids, 'promptVersion' | 'caller'>): Ids => ({
  project,
  trace: name => uuidV5(project.id, `trace:${name}`),
  root: name => uuidV5(project.id, `root:${name}`),
  feedback: name => uuidV5(project.id, `feedback:${name}`),
  ...others,
})

function uuidV5(namespace: string, name: string): string {
  const bytes = sha1(Buffer.concat([Buffer.from(namespace.replaceAll('-', ''), 'hex'), Buffer.from(name)]))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const sha1 = (data: string | Buffer): Buffer => createHash('sha1').update(data).digest()
