import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { datasetUuid, problemUuid } from '../../src/domain/ids.ts'
import { EVENT_TYPES } from '../../src/domain/webhook.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { type ApiResponse, type Client, client, newOrg, type Org } from '../support/org.ts'
import { addAnswer } from '../support/problems.ts'
import { newWorld, type World } from '../support/samples.ts'
import { page, signIn } from '../support/session.ts'
import { differenceOf, type Place, pathsOf, type Seen, see, seeTools } from '../support/walk.ts'
import { receive, sendNow } from '../support/webhooks.ts'

/*
 * Under a blind policy, reviewers can't see what others do with a span until there's a decision. In these tests,
 * everybody whom the policy applies to reads everything, and their agents call every tool. They do so before and after
 * other people vote, comment, and claim spans, and again after an engine answers. A webhook subscribes to every event.
 */

/** Everything that others write contains this word. */
const WORD = 'zanzibar'

/** Three other reviewers. */
type Others = Readonly<Record<'ann' | 'bob' | 'cem', Client>>

/** A trace with a span to review. Its root has no output, or has the span's output and is reviewed with the span. */
interface BlindPlace extends Place {
  rootId: string
}

/** Something that others do with a span, and what they did with it before. Each deed has its own span. */
interface Deed {
  /** By default, a step that the policy's sample includes. */
  stepId?: string
  /** Happens under an earlier policy, which requires five reviewers instead of three. */
  earlier?: (others: Others, place: BlindPlace) => Promise<unknown>
  before?: (others: Others, place: BlindPlace) => Promise<unknown>
  now: (others: Others, place: BlindPlace) => Promise<unknown>
}

/** A step whose outputs are offered to reviewers only if a rule adds them, and a step whose outputs have decisions. */
const [RARE_STEP, DECIDED_STEP] = ['rare', 'decided']

const ACCEPT = { decision: 'accept' }
const CORRECT = { decision: 'correct', approvedOutput: { answer: `No ${WORD}` } }
const WITH_REASONS = { ...CORRECT, comment: `Because of ${WORD}`, errorType: 'reasoning_error' }
const vote = (by: Client, spanId: string, body: object) => by.put(`/api/spans/${spanId}/review`, body)
const comment = (by: Client, spanId: string, fields: object = {}) =>
  by.post(`/api/spans/${spanId}/feedback`, { content: `Look at ${WORD}`, ...fields })
const claim = (by: Client, spanId: string, call = 'claim') =>
  by.post(`/api/review-queue/${call}`, { spanIds: [spanId] })

const patchComment = (by: Client, id: string | undefined) =>
  by.patch(`/api/feedback/${id}`, { content: `Really look at ${WORD}` })
const deleteComment = (by: Client, id: string | undefined) => by.delete(`/api/feedback/${id}`)

/** The ids of the comments that later deeds change, by span. */
const commentIds = new Map<string, string>()
const commentFirst = async ({ ann }: Others, { spanId }: BlindPlace) =>
  commentIds.set(spanId, (await comment(ann, spanId)).body.id)

const DEEDS = {
  'accept it': { now: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT) },
  'correct it with reasons': { now: ({ ann }, { spanId }) => vote(ann, spanId, WITH_REASONS) },
  'vote after somebody else': {
    before: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT),
    now: ({ bob }, { spanId }) => vote(bob, spanId, WITH_REASONS),
  },
  'change a vote': {
    before: ({ ann }, { spanId }) => vote(ann, spanId, WITH_REASONS),
    now: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT),
  },
  'withdraw a vote': {
    before: ({ ann }, { spanId }) => vote(ann, spanId, WITH_REASONS),
    now: ({ ann }, { spanId }) => vote(ann, spanId, { decision: 'reset' }),
  },
  'vote after an earlier policy': {
    earlier: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT),
    now: ({ bob }, { spanId }) => vote(bob, spanId, WITH_REASONS),
  },
  'withdraw a vote of an earlier policy': {
    earlier: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT),
    now: ({ ann }, { spanId }) => vote(ann, spanId, { decision: 'reset' }),
  },
  'make it disputed': {
    before: async ({ ann, bob }, { spanId }) => {
      await vote(ann, spanId, ACCEPT)
      await vote(bob, spanId, WITH_REASONS)
    },
    now: ({ cem }, { spanId }) => vote(cem, spanId, ACCEPT),
  },
  'correct its root': { now: ({ ann }, { rootId }) => vote(ann, rootId, WITH_REASONS) },
  'comment on it': { now: ({ ann }, { spanId }) => comment(ann, spanId) },
  'comment on its root': { now: ({ ann }, { rootId }) => comment(ann, rootId) },
  'call it wrong': { now: ({ ann }, { spanId }) => comment(ann, spanId, { rating: 'negative' }) },
  'change a comment': {
    before: commentFirst,
    now: ({ ann }, { spanId }) => patchComment(ann, commentIds.get(spanId)),
  },
  'delete a comment': {
    before: commentFirst,
    now: ({ ann }, { spanId }) => deleteComment(ann, commentIds.get(spanId)),
  },
  'claim it': { now: ({ ann }, { spanId }) => claim(ann, spanId) },
  'claim its root': { now: ({ ann }, { rootId, spanId }) => claim(ann, spanId).then(() => claim(ann, rootId)) },
  'release it': {
    before: ({ ann }, { spanId }) => claim(ann, spanId),
    now: ({ ann }, { spanId }) => claim(ann, spanId, 'release'),
  },
  'vote on what the sample leaves out': { stepId: RARE_STEP, now: ({ ann }, { spanId }) => vote(ann, spanId, ACCEPT) },
  'call wrong what the sample leaves out': {
    stepId: RARE_STEP,
    now: ({ ann }, { spanId }) => comment(ann, spanId, { rating: 'negative' }),
  },
} satisfies Record<string, Deed>

const deeds: readonly (readonly [string, Deed])[] = Object.entries(DEEDS)

/** These two callers request everything with every filter. The other callers use no filters. */
const FULL = ["a manager's session", 'a reviewing key without a user'] as const

const ALL = ['ingest', 'read', 'review', 'manage']

async function newPlace(
  org: Org,
  { rootOutput, stepId }: { rootOutput?: object; stepId?: string } = {},
): Promise<BlindPlace> {
  const trace = aTrace()
  const { trace_id } = trace
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const step = stepId === undefined ? {} : { step_id: stepId }
  const span = aSpan({ trace_id, output: rootOutput ?? { answer: 'Yes' }, ...step })
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
    bound: new Map<string, Client>([
      [FULL[0], page(await signIn(await keyFor({ userId, scopes: ALL })))],
      [FULL[1], await caller({})],
      ...(await Promise.all(ALL.map(ofScope))),
      ["the organization's first key", org.owner],
      ["a project's key", client({ 'x-api-key': org.projectKey })],
      ['an agent', await caller({ actsAs: 'agent' })],
      ["a user's agent", await caller({ actsAs: 'agent', userId })],
    ]),
    adjudicator: await person({ adjudicator: true }),
    free: await caller({ scopes: ['read', 'manage', 'ingest'] }),
  }
}

async function newBlindWorld() {
  const received = receive()
  const org = await newOrg()
  const world = await newWorld(org)
  // The webhook exists before any key is looked up, so that everything the keys do is recorded.
  const subscriber = { projectSlug: 'support', url: 'https://hooks.example.com/all', events: EVENT_TYPES }
  const watching = (await org.owner.post('/api/webhooks', subscriber)).body
  const people = await newPeople(org)
  const voted = { sample: 1, reviewers: 3, blind: true }
  // The root of a trace is reviewed with a span below it, under that span's policy.
  const steps = { [RARE_STEP]: { ...voted, sample: 1e-9 }, 'support-answer': { ...voted, blind: false } }
  const setPolicy = (policy: object) => org.owner.put(`/api/projects/${org.project.id}/review-policy`, policy)
  await setPolicy({ default: { ...voted, reviewers: 5 } })
  const places = await Promise.all(
    deeds.map(async ([name, { earlier, stepId }]) => {
      const rootOutput = { answer: `Yes, ${name}` }
      const place = await newPlace(org, { ...(name.includes('root') && { rootOutput }), ...(stepId && { stepId }) })
      await earlier?.(people.others, place)
      return place
    }),
  )
  await setPolicy({ default: voted, steps, always: ['negative', 'low_confidence'] })
  await Promise.all(places.map((place, index) => deeds[index]?.[1].before?.(people.others, place)))
  const ask = ({ traceId }: Place) =>
    people.free.post(`/api/v1/traces/${traceId}/attribute`, undefined, { 'x-project-slug': 'support' })
  const [answered, asked, unasked] = [await newDisputed(org), await newDisputed(org), await newDisputed(org)]
  const { error_type: errorType } = (await ask(answered)).body
  const assigned = places[deeds.findIndex(([name]) => name === 'vote on what the sample leaves out')]
  await org.owner.post('/api/review-queue/assign', { spanIds: [assigned?.spanId], userIds: [people.annId] })
  const later = await newAnswerable(org, world, people.adjudicator)
  // Otherwise, the next event would also trigger the pending deliveries, even if that event itself must not be sent.
  await sendNow(org)
  expect(received.map(({ event }) => event.type)).toContain('webhook.test')
  vi.restoreAllMocks()
  return {
    org,
    watching,
    later,
    world,
    places,
    untouched: await newPlace(org),
    asked,
    unasked,
    ask,
    errorType,
    ...people,
  }
}

/** A trace with negative feedback, which an engine can explain. */
async function newDisputed(org: Org): Promise<BlindPlace> {
  const place = await newPlace(org)
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: place.traceId }))
  return place
}

/**
 * Traces on which an engine answers later: one with a decision that names an error type, one with a corrected output
 * that's among the results of an experiment, and one that the policy's sample leaves out. Each has an undecided output.
 */
async function newAnswerable(org: Org, { prompt }: World, adjudicator: Client) {
  const decide = async (place: BlindPlace, body: object) => {
    const span = aSpan({ trace_id: place.traceId, step_id: DECIDED_STEP })
    await org.ingest.post('/api/v1/spans', span)
    await vote(adjudicator, span.span_id, body)
    return span.span_id
  }
  const [named, corrected, rare] = [
    await newPlace(org),
    await newPlace(org),
    await newPlace(org, { stepId: RARE_STEP }),
  ]
  for (const { traceId } of [named, corrected, rare]) {
    await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: traceId, rating: 'positive', comment: 'Fine' }))
  }
  await decide(named, { ...CORRECT, errorType: 'reasoning_error' })
  const correctedId = await decide(corrected, CORRECT)
  const key = { stepId: DECIDED_STEP, errorType: 'reasoning_error', docSlug: '' }
  const problem = { id: await problemUuid(org.project.id, key) }
  const experimentId = crypto.randomUUID()
  const datasetId = await datasetUuid(org.project.id, DECIDED_STEP)
  const experiment = { id: experimentId, projectSlug: 'support', datasetId, runner: 'client' }
  await org.owner.post('/api/experiments', experiment)
  await org.owner.post(`/api/experiments/${experimentId}/results`, { results: [{ itemId: correctedId, output: 'No' }] })
  await stored
    .prepare(
      `insert into prompt_suggestions (project_key, problem_id, version_id, prompt_id, requested_at, request_id,
       base_version_id, model, answered_at, changes, reasons)
     select key, ?1, ?2, ?3, 1, '', ?2, 'model', 1, '[]', '[]' from projects where id = ?4`,
    )
    .bind(problem.id, prompt.versionId, prompt.id, org.project.id)
    .run()
  /** The engine answers, and a suggestion uses the output that the engine blames. */
  const answer = async () => {
    await addAnswer(org, named.id, { errorType: 'reasoning_error' })
    await addAnswer(org, corrected.id, { errorType: 'reasoning_error', spanId: correctedId })
    await addAnswer(org, rare.id, { errorType: 'reasoning_error', confidence: 0.2 })
    const traceKey = await stored.prepare('select key from traces where id = ?').bind(corrected.id).first('key')
    await stored
      .prepare(
        `insert into prompt_suggestion_examples (version_id, span_id, trace_key, serves, copied)
         values (?, ?, ?, '[]', '[]')`,
      )
      .bind(prompt.versionId, correctedId, traceKey)
      .run()
  }
  const paths = [
    `/api/experiments/${experimentId}/items?problemId=${problem.id}`,
    `/api/problems/${problem.id}`,
    `/api/spans?projectSlug=support&problemId=${problem.id}`,
    `/api/problems/${problem.id}/suggestion`,
  ]
  return { places: [named, corrected, rare], problem, answer, paths }
}

/** The walk's values for parameters that accept any value. The walk skips parameters that have no value here. */
const valuesIn = ({ world, places, later, annId, bobId, errorType }: Awaited<ReturnType<typeof newBlindWorld>>) => {
  const [today, spanIds] = [new Date().toISOString(), places.map(({ spanId }) => spanId)]
  const types = ['reasoning_error', errorType]
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
    problemId: [world.problem.id, later.problem.id],
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
  const { world, places, asked, later, annId, watching } = blind
  const walk = pathsOf(world, [...places, asked, ...later.places, world], valuesIn(blind))
  // The walk lists spans only by their decisions, so these paths also list them by review state and assignee.
  const spanLists = ['review=unreviewed', 'review=waiting', 'assignee=me', 'assignee=none', `assignee=${annId}`]
  const deliveries = `/api/webhooks/${watching.id}/deliveries`
  const more = [deliveries, ...later.paths, ...spanLists.map(filter => `/api/spans?projectSlug=support&${filter}`)]
  paths = { unfiltered: [...walk.unfiltered, ...more], all: [...walk.all, ...more] }
}, 60_000)

/** A response without the ids and times that differ between two spans. */
const anonymous = ({ status, headers, body }: ApiResponse) =>
  JSON.stringify({ status, location: headers.get('location'), etag: headers.get('etag'), body })
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')
    .replace(/trace_[0-9a-f]+/g, 'trace')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')

/** What a caller saw, without the project-wide sums that include engines' answers. */
const withoutSums = (seen: ReadonlyMap<string, Seen>): Map<string, Seen> =>
  new Map(
    [...seen]
      .filter(([path]) => !/^\/api\/(insights|problems\?|model)|"list_problems"/.test(path))
      .map(([path, { body, ...response }]) => [path, { ...response, body: isProblem(path) ? examplesIn(body) : body }]),
  )

const isProblem = (path: string) => /^\/api\/problems\/[^/]+$|"get_problem"/.test(path)

const examplesIn = (body: unknown): unknown =>
  body !== null && typeof body === 'object' && 'examples' in body ? body.examples : body

/** These callers also call every tool that reads. Sessions can't use MCP. */
const WITH_TOOLS: readonly string[] = [FULL[1], 'an agent', "a user's agent"]

const seeByTools = (caller: Client) => {
  const { world, places, asked, later } = blind
  return seeTools(caller, world, [...places, asked, ...later.places, world])
}

/**
 * What a caller reads. In `.ci/nightly`, each caller reads everything. In `npm test`, a caller's position in the list
 * decides: the callers in `FULL` divide the filters between them, and each other caller reads a third of the paths.
 */
function pathsFor(name: string, index: number): string[] {
  const isFull = FULL.some(each => each === name)
  if (env.ALL_FAULTS) return isFull ? paths.all : paths.unfiltered
  const share = (all: readonly string[], count: number) => all.filter((_, place) => (place + index) % count === 0)
  if (!isFull) return share(paths.unfiltered, 3)
  const unfiltered = new Set(paths.unfiltered)
  return [
    ...unfiltered,
    ...share(
      paths.all.filter(path => !unfiltered.has(path)),
      2,
    ),
  ]
}

const seeAll = async (callers: ReadonlyMap<string, Client>) => {
  const seen = new Map<string, Map<string, Seen>>()
  for (const [index, [name, caller]] of [...callers].entries()) {
    const read = await see(caller, pathsFor(name, index))
    const called = WITH_TOOLS.includes(name) ? await seeByTools(caller) : []
    seen.set(name, new Map([...read, ...called]))
  }
  return seen
}

/**
 * The differences in what a caller saw, except for how much people have reviewed and which spans left the queue or
 * came back.
 */
function differences(before: ReadonlyMap<string, Seen>, after: ReadonlyMap<string, Seen>): string[] {
  return [...before].flatMap(([path, then]) => {
    if (path.startsWith('/api/review-queue/progress')) return []
    const now = after.get(path)
    const isQueue = /^.api.review-queue\?|"next_review_item"/.test(path)
    const found = isQueue ? differenceInQueue(path, then, now) : differenceOf(then, now)
    return found === undefined ? [] : [`${path}: ${found}`]
  })
}

/**
 * What differs between two pages of the queue, besides the queue's counts and the spans that left it. A span may enter
 * the queue only in place of a span that left a full page.
 */
function differenceInQueue(path: string, then: Seen, now: Seen | undefined): string | undefined {
  if (!now || then.status !== 200 || now.status !== 200) return differenceOf(then, now)
  const [before, after] = [spansIn(then), spansIn(now)]
  const isIn = (spans: readonly { id: string }[]) => (span: { id: string }) => spans.some(({ id }) => id === span.id)
  const isFull = JSON.stringify(then.body).includes('"nextCursor":"')
  const [stayed, offered] = [before.filter(isIn(after)), isFull ? after.filter(isIn(before)) : after]
  if (path.includes('order=random')) {
    for (const spans of [stayed, offered]) spans.sort((one, other) => one.id.localeCompare(other.id))
  }
  return differenceOf({ ...then, body: stayed }, { ...now, body: offered })
}

const spansIn = (seen: Seen | undefined): { id: string }[] =>
  seen?.status === 200 && seen.body !== null && typeof seen.body === 'object' && 'spans' in seen.body
    ? (seen.body.spans as { id: string }[])
    : []

describe('under a blind policy', () => {
  it('hides what others do with an undecided span from everybody whom the policy applies to', async ({ expect }) => {
    const { org, others, places, bound, adjudicator, asked, later, ask, free, errorType } = blind
    const received = receive()
    const before = await seeAll(bound)
    const seenByAdjudicator = [await see(adjudicator, paths.unfiltered), await seeByTools(adjudicator)]
    for (const [index, [, { now }]] of deeds.entries()) {
      const place = places[index]
      if (place) await now(others, place)
    }
    await sendNow(org)
    const after = await seeAll(bound)
    for (const [name, seen] of before) {
      expect([name, differences(seen, after.get(name) ?? new Map())]).toEqual([name, []])
    }
    // Adjudicators see each of these deeds, so there was something to hide.
    const [readBefore, calledBefore] = seenByAdjudicator
    const shown = differences(readBefore ?? new Map(), await see(adjudicator, paths.unfiltered)).join('\n')
    for (const { id } of places) expect(shown).toContain(`/api/traces/${id}`)
    expect(differences(calledBefore ?? new Map(), await seeByTools(adjudicator)).join('\n')).toContain('"get_span"')

    await ask(asked)
    await later.answer()
    for (const [name, seen] of await seeAll(new Map([...bound].slice(0, FULL.length)))) {
      expect([name, differences(withoutSums(after.get(name) ?? new Map()), withoutSums(seen))]).toEqual([name, []])
    }
    const found = await free.get(`/api/traces?projectSlug=support&errorType=${errorType}`)
    expect(found.body.traces.map(({ id }: Place) => id)).toContain(asked.id)
    // Nobody can tell who reads what a webhook sends, so nothing is sent until there's a decision.
    await sendNow(org)
    expect(received.map(({ event }) => event.type)).toEqual([])
    const disputed = places[deeds.findIndex(([name]) => name === 'make it disputed')]
    if (!disputed) throw new Error('There is no disputed output')
    expect((await vote(adjudicator, disputed.spanId, ACCEPT)).status).toBe(200)
    await sendNow(org)
    expect(received.map(({ event }) => event)).toContainEqual(
      expect.objectContaining({ type: 'span.reviewed', data: expect.objectContaining({ spanId: disputed.spanId }) }),
    )
    vi.restoreAllMocks()
  }, 300_000)

  it.for(FULL)('responds to writes as if others had done nothing: %s', async (name, { expect }) => {
    const { bound, places, untouched, asked, unasked } = blind
    const caller = bound.get(name)
    if (!caller) throw new Error(`There is no ${name}`)
    const attribute = ({ traceId }: Place) =>
      caller.post(`/api/v1/traces/${traceId}/attribute`, undefined, { 'x-project-slug': 'support' })
    const hidden = await attribute(asked)
    expect(hidden.status).toBe(202)
    expect(anonymous(hidden)).toBe(anonymous(await attribute(unasked)))
    const criticized = places[deeds.findIndex(([deed]) => deed === 'call it wrong')]
    if (!criticized) throw new Error('There is no place with a negative comment')
    expect(anonymous(await attribute(criticized))).toBe(anonymous(await attribute(untouched)))
    const writes: ((place: BlindPlace) => Promise<ApiResponse>)[] = [
      ({ spanId }) => comment(caller, spanId),
      ({ spanId }) => claim(caller, spanId),
      ({ spanId }) => claim(caller, spanId, 'heartbeat'),
      ({ spanId }) => claim(caller, spanId, 'release'),
      ({ spanId }) => vote(caller, spanId, ACCEPT),
      ({ rootId }) => vote(caller, rootId, WITH_REASONS),
      ({ spanId }) => vote(caller, spanId, { decision: 'reset' }),
    ]
    for (const [index, [deed]] of deeds.entries()) {
      const place = places[index]
      // Skip places where the root has an output, the step is a different one, or all votes are in.
      if (!place || /root|sample|disputed/.test(deed)) continue
      const theirs = commentIds.get(place.spanId)
      if (theirs) {
        const unknown = crypto.randomUUID()
        for (const change of [patchComment, deleteComment]) {
          expect(anonymous(await change(caller, theirs))).toBe(anonymous(await change(caller, unknown)))
        }
      }
      for (const write of writes)
        expect([deed, anonymous(await write(place))]).toEqual([deed, anonymous(await write(untouched))])
    }
  })
})
