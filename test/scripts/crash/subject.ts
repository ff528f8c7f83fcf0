import { createHash, randomUUID } from 'node:crypto'
import { seededRandom } from '../../../scripts/demo/random.ts'
import type { Ids } from '../../properties/model.ts'
import type { Client } from './client.ts'

/** A client, and the ids in its project. */
export interface Tenant {
  client: Client
  ids: Ids
}

/** A part of a project that only one writer changes, so that the responses determine its state. */
export interface Subject {
  read: () => Promise<unknown>
  /** The possible views of the subject: one, or one for each possible outcome if a call was cut off. */
  views: () => unknown[]
  /** Records which view was right. */
  settle: (place: number) => void
  /** Repeats the call that was cut off, which settles the subject. */
  repeat: () => Promise<unknown>
}

/** A subject whose view is computed from a state. */
export class Tracked<State> implements Subject {
  readonly read: () => Promise<unknown>
  readonly #viewOf: (state: State) => unknown
  readonly #onSettled: (before: State, after: State) => void
  /**
   * The current state. During a call, and after a call was cut off, this lists all possible states. The last one is the
   * state after complete success.
   */
  #states: readonly State[]
  repeat: () => Promise<unknown> = async () => {}

  /** `viewOf` computes the view of a state. `onSettled` receives the states before and after a call. */
  constructor(
    state: State,
    read: () => Promise<unknown>,
    viewOf: (state: State) => unknown,
    onSettled: (before: State, after: State) => void = () => {},
  ) {
    this.#states = [state]
    this.read = read
    this.#viewOf = viewOf
    this.#onSettled = onSettled
  }

  /** The current state, or the intended state of a call in flight. */
  get state(): State {
    const [last] = this.#states.slice(-1)
    if (last === undefined) throw new Error('no state')
    return last
  }

  /** Announces a call that may lead to any of these states. `repeat` makes the call again. */
  begin(states: readonly State[], repeat: () => Promise<unknown>): void {
    this.#states = states
    this.repeat = repeat
  }

  settle(place = this.#states.length - 1): void {
    const [before] = this.#states
    this.#states = this.#states.slice(place, place + 1)
    if (before !== undefined) this.#onSettled(before, this.state)
  }

  /** Makes a call that either leads to the state `after` or has no effect. */
  async write(after: State, call: () => Promise<unknown>, repeat = call): Promise<void> {
    this.begin([this.state, after], () => this.write(after, repeat))
    await call()
    this.settle()
  }

  views(): unknown[] {
    return this.#states.map(this.#viewOf)
  }
}

/** Seeded differently for each run, so that the content and timing of writes differ. */
export const random = seededRandom(randomUUID())

/**
 * Fields that the model doesn't predict: the service's timestamps, ETags derived from them, and cursors of single
 * pages.
 */
const LEFT_OPEN: ReadonlySet<string> = new Set([
  'updatedAt',
  'receivedAt',
  'received_at',
  'etag',
  'nextSpanCursor',
  'nextFeedbackCursor',
])

/** A view without the fields that the model leaves open. Hashes replace long strings, to keep failures readable. */
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
