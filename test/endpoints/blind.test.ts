import { beforeAll, describe, it } from 'vitest'
import { anObservation, aSpan, aTrace, TIME } from '../support/builders.ts'
import { type Client, client, newOrg, type Org } from '../support/org.ts'
import { newWorld } from '../support/samples.ts'
import { page, signIn } from '../support/session.ts'
import { differenceOf, type Place, pathsOf, type Seen, see } from '../support/walk.ts'

/*
 * Under a blind policy, reviewers learn nothing of what others do with a span until it's decided. Everybody who is bound
 * by it reads everything before and after other people vote, comment, and claim spans, and an engine answers.
 */

/** A word in everything that others write. */
const WORD = 'zanzibar'

/** Three other reviewers. */
type Others = Readonly<Record<'ann' | 'bob' | 'cem', Client>>

/** A trace with a span to review. Its root has no output, or the span's, and is then reviewed with it. */
interface BlindPlace extends Place {
  rootId: string
}

/** Something that others do with a span of its own, and what they did with it before. */
interface Deed {
  before?: (others: Others, place: BlindPlace) => Promise<unknown>
  now: (others: Others, place: BlindPlace) => Promise<unknown>
}

const comment = (by: Client, spanId: string, fields: object = {}) =>
  by.post(`/api/spans/${spanId}/feedback`, { content: `Look at ${WORD}`, ...fields })
const claim = (by: Client, spanId: string, call = 'claim') =>
  by.post(`/api/review-queue/${call}`, { spanIds: [spanId] })

/** The comments that deeds change later, by span. */
const commentIds = new Map<string, string>()
const commentFirst = async ({ ann }: Others, { spanId }: BlindPlace) =>
  commentIds.set(spanId, (await comment(ann, spanId)).body.id)
const commentOn = ({ spanId }: BlindPlace) => `/api/feedback/${commentIds.get(spanId)}`

const DEEDS = {
  'comment on it': { now: ({ ann }, { spanId }) => comment(ann, spanId) },
  'comment on its root': { now: ({ ann }, { rootId }) => comment(ann, rootId) },
  'call it wrong': { now: ({ ann }, { spanId }) => comment(ann, spanId, { rating: 'negative' }) },
  'change a comment': {
    before: commentFirst,
    now: ({ ann }, place) => ann.patch(commentOn(place), { content: `Really look at ${WORD}` }),
  },
  'delete a comment': { before: commentFirst, now: ({ ann }, place) => ann.delete(commentOn(place)) },
  'claim it': { now: ({ ann }, { spanId }) => claim(ann, spanId) },
  'claim its root': { now: ({ ann }, { rootId, spanId }) => claim(ann, spanId).then(() => claim(ann, rootId)) },
  'release it': {
    before: ({ ann }, { spanId }) => claim(ann, spanId),
    now: ({ ann }, { spanId }) => claim(ann, spanId, 'release'),
  },
} satisfies Record<string, Deed>

const deeds: readonly (readonly [string, Deed])[] = Object.entries(DEEDS)

const ALL = ['ingest', 'read', 'review', 'manage']

async function newPlace(org: Org, rootOutput?: object): Promise<BlindPlace> {
  const trace = aTrace()
  const { trace_id } = trace
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const span = aSpan({ trace_id, output: rootOutput ?? { answer: 'Yes' } })
  await org.ingest.post('/api/v1/spans', span)
  if (rootOutput) await org.ingest.post('/api/v1/observations', anObservation({ trace_id, data: rootOutput }))
  const { spans } = (await org.read.get(`/api/traces/${id}`)).body
  return { traceId: trace_id, id, spanId: span.span_id, rootId: spans[0].id }
}

async function newPeople(org: Org) {
  const newUser = async (fields: object = {}): Promise<string> => {
    const draft = { email: `${crypto.randomUUID()}@example.com`, name: 'Reviewer', ...fields }
    return (await org.owner.post('/api/users', draft)).body.id
  }
  const keyFor = async (fields: object): Promise<string> =>
    (await org.owner.post('/api/api-keys', { name: 'Test', scopes: ['read', 'review'], ...fields })).body.key
  const caller = async (fields: object) => client({ 'x-api-key': await keyFor(fields) })
  const person = async (fields: object = {}) => caller({ userId: await newUser(fields), scopes: ALL })
  const userId = await newUser()
  const ofScope = async (scope: string) =>
    [`a user's key with the scope ${scope}`, await caller({ userId, scopes: [scope] })] as const
  const [annId, bobId] = [await newUser(), await newUser()]
  return {
    annId,
    bobId,
    others: {
      ann: await caller({ userId: annId, scopes: ALL }),
      bob: await caller({ userId: bobId, scopes: ALL }),
      cem: await person(),
    },
    bound: {
      "a manager's session": page(await signIn(await keyFor({ userId, scopes: ALL }))),
      'a key without a user that may review': await caller({}),
      ...Object.fromEntries(await Promise.all(ALL.map(ofScope))),
      "the organization's first key": org.owner,
      "a project's key": client({ 'x-api-key': org.projectKey }),
      'an agent': await caller({ actsAs: 'agent' }),
      "a user's agent": await caller({ actsAs: 'agent', userId }),
    },
    adjudicator: await person({ adjudicator: true }),
    free: await caller({ scopes: ['read', 'manage', 'ingest'] }),
  }
}

async function newBlindWorld() {
  const org = await newOrg()
  const world = await newWorld(org)
  const people = await newPeople(org)
  const policy = { default: { sample: 1, reviewers: 3, blind: true }, steps: {}, always: [] }
  await org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
  const places = await Promise.all(
    deeds.map(async ([name, { before }]) => {
      const place = await newPlace(org, name.includes('root') ? { answer: `Yes, ${name}` } : undefined)
      await before?.(people.others, place)
      return place
    }),
  )
  return { org, world, places, ...people }
}

/** The walk's values of parameters that take any. Without a value, the walk doesn't use a parameter. */
const valuesIn = ({ world, places, annId, bobId }: Awaited<ReturnType<typeof newBlindWorld>>) => {
  const [today, spanIds] = [new Date().toISOString(), places.map(({ spanId }) => spanId)]
  const types = ['reasoning_error', 'incomplete_answer']
  return {
    projectSlug: [],
    cursor: [],
    spanCursor: [],
    feedbackCursor: [],
    projectId: [world.org.project.id],
    limit: ['1'],
    spanLimit: ['1'],
    feedbackLimit: ['1'],
    traceId: places.slice(0, 1).map(({ traceId }) => traceId),
    name: ['support-answer'],
    nameContains: ['support'],
    contains: [WORD, 'yes'],
    from: [TIME, today],
    to: [today],
    stepId: ['generate-answer', 'support-answer'],
    promptVersionId: [world.prompt.versionId],
    errorType: types,
    engineErrorType: types,
    engineStepId: ['generate-answer'],
    engineFrom: [today],
    engineTo: [today],
    reviewedErrorType: types,
    engine: ['rules'],
    engineVersion: ['1'],
    tenth: ['5'],
    group_id: ['session-1'],
    key: ['group_id'],
    value: ['session-1'],
    model: ['gpt-5'],
    reviewerId: [annId],
    withReviewerId: [bobId],
    assignee: ['me', 'none', annId],
    reviewedFrom: [today],
    reviewedTo: [today],
    problemId: [world.problem.id],
    watchedPromptId: [world.prompt.id],
    slug: ['returns'],
    ids: [annId],
    version: [],
    split: ['train'],
    datasetId: [world.dataset.id],
    itemId: [world.experiment.itemId],
    versionId: [world.prompt.versionId],
    keyId: [world.keyId],
    userId: [annId],
    targetId: [...spanIds, ...commentIds.values()],
    action: ['review.vote', 'comment.create', 'comment.change', 'comment.delete'],
  }
}

let blind: Awaited<ReturnType<typeof newBlindWorld>>
let paths: ReturnType<typeof pathsOf>
beforeAll(async () => {
  blind = await newBlindWorld()
  paths = pathsOf(blind.world, [...blind.places, blind.world], valuesIn(blind))
}, 60_000)

/** These two are asked for everything with every filter, others without filters. */
const FULL = ["a manager's session", 'a key without a user that may review']

const seeAll = async (callers: Readonly<Record<string, Client>>) => {
  const seen = new Map<string, Map<string, Seen>>()
  for (const [name, caller] of Object.entries(callers)) {
    seen.set(name, await see(caller, FULL.includes(name) ? paths.all : paths.unfiltered))
  }
  return seen
}

/** The differences between what a caller saw, except for the queue's counts and the spans that left it or came back. */
function differences(before: ReadonlyMap<string, Seen>, after: ReadonlyMap<string, Seen>): string[] {
  return [...before].flatMap(([path, then]) => {
    const now = after.get(path)
    const isQueue = path.startsWith('/api/review-queue?')
    const found = isQueue ? differenceOf(inQueue(then, now), inQueue(now, then)) : differenceOf(then, now)
    return found === undefined ? [] : [`${path}: ${found}`]
  })
}

/** The queue without its counts and its order, which may be random, and without the spans that left it or came back. */
function inQueue(seen: Seen | undefined, other: Seen | undefined): unknown {
  const ids = new Set(spansIn(other).map(({ id }) => id))
  const left = spansIn(seen).filter(({ id }) => ids.has(id))
  left.sort((one, other) => one.id.localeCompare(other.id))
  return seen?.status === 200 ? { ...seen, body: { spans: left } } : seen
}

const spansIn = (seen: Seen | undefined): { id: string }[] =>
  seen?.status === 200 && seen.body !== null && typeof seen.body === 'object' && 'spans' in seen.body
    ? (seen.body.spans as { id: string }[])
    : []

describe('under a blind policy', () => {
  it("shows nobody who is bound what others do with a span that isn't decided", async ({ expect }) => {
    const { others, places, bound, adjudicator } = blind
    const before = await seeAll(bound)
    const seenByAdjudicator = await see(adjudicator, paths.unfiltered)
    for (const [index, [, { now }]] of deeds.entries()) {
      const place = places[index]
      if (place) await now(others, place)
    }
    const after = await seeAll(bound)
    for (const [name, seen] of before) {
      expect([name, differences(seen, after.get(name) ?? new Map())]).toEqual([name, []])
    }
    // Adjudicators see each of these deeds, so there was something to hide.
    const shown = differences(seenByAdjudicator, await see(adjudicator, paths.unfiltered)).join('\n')
    for (const { id } of places) expect(shown).toContain(`/api/traces/${id}`)
  }, 120_000)
})
