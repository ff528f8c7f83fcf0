import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, MAX_NAME_LENGTH, MAX_STEP_NAMES } from '../../src/limits.ts'
import { findSubject } from '../../src/store/attribution/subject.ts'
import { newDisputed, storeBeside, withoutQueue } from '../support/attribution.ts'
import { countingBindings, rowsReadBy } from '../support/bindings.ts'
import { aSpan, aTrace, timeAfter } from '../support/builders.ts'
import { isSharded, jobPlace, placeOf, stored } from '../support/database.ts'
import { type ApiResponse, newOrg, type Org } from '../support/org.ts'
import { deleteElsewhere } from '../support/projects.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'
import { anExportedSpan, exportSpans } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const pathOf = ({ project }: Org) => `/api/projects/${project.id}/step-names`

const put = (org: Org, names: unknown): Promise<ApiResponse> => org.owner.put(pathOf(org), { names })

/** Renames a project's steps. */
async function rename(org: Org, names: Record<string, string>): Promise<void> {
  const { status, body } = await put(org, names)
  if (status !== 200) throw new Error(`The rename returned ${status}: ${body.error}`)
}

/** The renamed steps, as the API shows them. */
const namesOf = async (org: Org) => (await org.read.get(pathOf(org))).body.names

const newPrompt = (org: Org, stepId: string, fields: object = {}) =>
  org.owner.post('/api/prompts', { projectSlug: 'support', stepId, content: `Do ${stepId}.`, ...fields })

/** Sends a trace with a span for each of the given steps. Returns the spans' ids in order. */
async function newSteps(org: Org, stepIds: readonly string[], fields: object = {}) {
  const trace = aTrace({ name: 'run' })
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const spanIds = stepIds.map(() => crypto.randomUUID())
  for (const [index, step_id] of stepIds.entries()) {
    const span = { trace_id: trace.trace_id, span_id: spanIds[index], step_id, timestamp: timeAfter(index) }
    await org.ingest.post('/api/v1/spans', aSpan({ ...span, ...fields }))
  }
  return { id: String(id), trace_id: trace.trace_id, spanIds }
}

const stepsIn = ({ body }: ApiResponse): string[] => body.spans.map(({ stepId }: { stepId: string }) => stepId)

const list = (path: string, query: string) => `${path}?projectSlug=support&${query}`

describe('PUT /api/projects/{projectId}/step-names', () => {
  it('replaces all names, and GET returns them', async ({ expect }) => {
    const org = await newOrg()
    expect(await namesOf(org)).toEqual({})
    for (const names of [{ a: 'b' }, { a: 'c', d: 'c' }, { d: 'c' }, { d: 'c' }, {}]) {
      expect(await put(org, names)).toMatchObject({ status: 200, body: { names } })
      expect(await namesOf(org)).toEqual(names)
    }
  })

  it('keeps any name that a step can have', async ({ expect }) => {
    const org = await newOrg()
    const names = JSON.parse(
      '{"__proto__":"proto","constructor":"made","a.b":"ä ö","1":"one","\\u0000":"😀"," ":"\\""}',
    )
    expect((await put(org, names)).status).toBe(200)
    const shown = await namesOf(org)
    expect(Object.entries(shown).toSorted()).toEqual(Object.entries(names).toSorted())
    const { id } = await newSteps(org, Object.keys(names))
    expect(stepsIn(await org.read.get(`/api/traces/${id}`)).slice(1)).toEqual(Object.values(names))
  })

  it.for([
    [{ a: 'a' }, 'names.a', 'must be a different name'],
    [{ a: 'b', b: 'c' }, 'names.b', "is also a step's new name, so it can't itself be renamed"],
    [{ a: 'b', b: 'a' }, 'names.a', "is also a step's new name, so it can't itself be renamed"],
    [{ a: '' }, 'names.a', `must have 1 to ${MAX_NAME_LENGTH} characters`],
    [{ '': 'a' }, 'names.', `the old name must have 1 to ${MAX_NAME_LENGTH} characters`],
    [{ a: '\ud800' }, 'names.a', "contains half of a surrogate pair, which can't be encoded"],
    [{ '\ud800': 'a' }, 'names.\ud800', "the old name contains half of a surrogate pair, which can't be encoded"],
    [{ a: 1 }, 'names.a', 'must be a string'],
    [{ a: null }, 'names.a', 'must be a string'],
    [{ a: { b: 'c' } }, 'names.a', 'must be a string'],
    [[], 'names', 'must be an object'],
    ['a', 'names', 'must be an object'],
    [undefined, 'names', 'is required'],
  ] as const)('refuses %j', async ([names, path, message], { expect }) => {
    const org = await newOrg()
    await rename(org, { kept: 'still' })
    const response = await put(org, names)
    expect(response).toMatchObject({ status: 400, body: { details: expect.arrayContaining([{ path, message }]) } })
    expect(await namesOf(org)).toEqual({ kept: 'still' })
  })

  it('limits the number of names and their length', async ({ expect }) => {
    const org = await newOrg()
    const long = (index: number, letter: string) => letter.repeat(MAX_NAME_LENGTH - 4) + String(index).padStart(4, '0')
    const names = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [long(index, '😀'), long(index, '🚀')]))
    // Each character is written as two escapes, its longest form.
    const escaped = JSON.stringify({ names: names(MAX_STEP_NAMES) }).replace(
      /[\ud800-\udfff]/g,
      unit => `\\u${unit.charCodeAt(0).toString(16)}`,
    )
    expect((await org.owner.put(pathOf(org), escaped)).status).toBe(200)
    expect(Object.keys(await namesOf(org)).length).toBe(MAX_STEP_NAMES)
    expect(await put(org, names(MAX_STEP_NAMES + 1))).toMatchObject({
      status: 400,
      body: { details: [{ path: 'names', message: `must have at most ${MAX_STEP_NAMES} names` }] },
    })
    expect(await put(org, { a: 'x'.repeat(MAX_NAME_LENGTH + 1) })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'names.a' }] },
    })
  })

  it('is rejected if a step would have two prompts', async ({ expect }) => {
    const org = await newOrg()
    for (const stepId of ['a', 'b', 'c']) expect((await newPrompt(org, stepId)).status).toBe(201)
    await rename(org, { b: 'free' })
    const clash = (path: string, others: string) => ({ path, message: `has a prompt, and so ${others}` })
    for (const [names, details] of [
      [{ a: 'b' }, [clash('names.a', 'does "b"')]],
      [{ a: 'new', b: 'new' }, [clash('names.a', 'does "b"'), clash('names.b', 'does "a"')]],
      [{ a: 'b', c: 'b' }, [clash('names.a', 'do "b" and "c"'), clash('names.c', 'do "a" and "b"')]],
    ] as const) {
      const response = await put(org, names)
      expect(response.status).toBe(409)
      expect(response.body.details).toEqual(details)
      expect(await namesOf(org)).toEqual({ b: 'free' })
    }
    const { body } = await org.read.get(list('/api/prompts', 'stepId=a'))
    await org.owner.delete(`/api/prompts/${body.prompts[0].id}`)
    await rename(org, { a: 'b' })
  })

  it('is not rejected because of knowledge docs or other projects', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    for (const slug of ['a', 'b']) {
      await org.owner.post('/api/knowledge-docs', { projectSlug: 'support', slug, title: slug, content: slug })
      await newPrompt(org, slug, { projectSlug: 'other' })
    }
    await rename(org, { a: 'b' })
    const docs = await org.read.get(list('/api/knowledge-docs', 'slug=a'))
    expect(docs.body.knowledgeDocs).toMatchObject([{ slug: 'a' }])
    const other = await org.read.get('/api/prompts?projectSlug=other&stepId=a')
    expect(other.body.prompts).toMatchObject([{ stepId: 'a' }])
  })

  it('applies two concurrent calls one after the other', async ({ expect }) => {
    const org = await newOrg()
    const maps = Array.from({ length: 6 }, (_, index) => ({ [`old-${index}`]: `new-${index}`, shared: `new-${index}` }))
    await Promise.all(maps.map(names => rename(org, names)))
    expect(maps).toContainEqual(await namesOf(org))
  })

  it('never leaves a step with two prompts, no matter which write comes first', async ({ expect }) => {
    const org = await newOrg()
    await newPrompt(org, 'old')
    const [renamed, created] = await Promise.all([put(org, { old: 'new' }), newPrompt(org, 'new')])
    expect([
      [200, 409],
      [409, 201],
    ]).toContainEqual([renamed.status, created.status])
  })

  it('adds one audit entry for each change', async ({ expect }) => {
    const org = await newOrg()
    for (const names of [{ a: 'b' }, { a: 'b' }, {}, {}]) await rename(org, names)
    const { entries } = (await org.owner.get('/api/audit-log?action=step_names.change')).body
    const entry = { targetId: org.project.id, projectId: org.project.id, beforeId: null, afterId: null }
    expect(entries).toMatchObject([entry, entry])
  })

  it('404s for a deleted project, even if this isolate has it cached', async ({ expect }) => {
    const org = await newOrg()
    await rename(org, { a: 'b' })
    await deleteElsewhere(org.project.id)
    expect((await put(org, { a: 'c' })).status).toBe(404)
    const row = await stored
      .prepare('select new_name from step_names where project_key = (select key from projects where id = ?)')
      .bind(org.project.id)
      .first('new_name')
    expect(row).toBe('b')
  })

  // With several databases, the names are copied, and each database is queried.
  it.skipIf(isSharded)('takes one round trip, and so do the requests that apply the names', async ({ expect }) => {
    const org = await newOrg()
    const { id, spanIds } = await newSteps(org, ['old'])
    await rename(org, { old: 'new' })
    const tripsOf = async (act: (of: Org['owner']) => Promise<ApiResponse>) => {
      const { bindings, counts } = countingBindings()
      expect((await act(org.clientOf(org.ownerKey, bindings))).status).toBe(200)
      return counts.d1RoundTrips
    }
    await org.read.get(list('/api/traces', 'limit=1'))
    expect(await tripsOf(by => by.put(pathOf(org), { names: { old: 'newer' } }))).toBe(1)
    expect(await tripsOf(by => by.get(pathOf(org)))).toBe(1)
    expect(await tripsOf(by => by.get(`/api/traces/${id}`))).toBe(1)
    expect(await tripsOf(by => by.get(`/api/spans/${spanIds[0]}`))).toBe(1)
    expect(await tripsOf(by => by.get(list('/api/traces', 'stepId=newer')))).toBe(1)
    expect(await tripsOf(by => by.get(list('/api/review-queue', 'stepId=newer')))).toBe(2)
    expect(await tripsOf(by => by.get(list('/api/insights', '')))).toBe(1)
    expect(await tripsOf(by => by.get(list('/api/prompts', 'stepId=newer')))).toBe(1)
  })
})

describe('a renamed step', () => {
  it('has its new name on spans sent before and after, until the rename is undone', async ({ expect }) => {
    const org = await newOrg()
    const { id, trace_id, spanIds } = await newSteps(org, ['old', 'other'])
    await rename(org, { old: 'new' })
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id, step_id: 'old', timestamp: timeAfter(5) }))
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id, step_id: 'new', timestamp: timeAfter(6) }))
    const stepIds = async () => [
      stepsIn(await org.read.get(`/api/traces/${id}`)),
      stepsIn(await org.read.get(`/api/traces/${id}?payloads=preview&spanLimit=50`)),
      stepsIn(await org.read.get(list('/api/review-queue', ''))),
    ]
    const shown = ['run', 'new', 'other', 'new', 'new']
    expect(await stepIds()).toEqual([shown, shown, shown.slice(1)])
    expect((await org.read.get(`/api/spans/${spanIds[0]}`)).body.stepId).toBe('new')
    const reviewed = await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    expect(reviewed.body.stepId).toBe('new')
    await rename(org, {})
    expect((await stepIds())[0]).toEqual(['run', 'old', 'other', 'old', 'new'])
  })

  it('does not affect a span’s etag or review, or how a repeated span is recognized', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id, spanIds } = await newSteps(org, ['old'])
    const before = (await org.read.get(`/api/spans/${spanIds[0]}`)).body
    await rename(org, { old: 'new' })
    const span = aSpan({ trace_id, span_id: spanIds[0], step_id: 'old', timestamp: before.createdAt })
    expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
    const after = (await org.read.get(`/api/spans/${spanIds[0]}`)).body
    expect(after).toEqual({ ...before, stepId: 'new' })
    const headers = { 'if-match': before.etag }
    const review = await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' }, headers)
    expect(review.status).toBe(200)
  })

  it('renames the root of a trace, but not the trace', async ({ expect }) => {
    const made = await newReviewed('Yes')
    await rename(made.org, { 'support-answer': 'answer' })
    const { trace, span } = await made.read()
    expect([trace.name, span.stepId, span.trace.name]).toEqual(['support-answer', 'answer', 'support-answer'])
    const found = async (query: string) => (await made.org.read.get(list('/api/traces', query))).body.traces.length
    expect([await found('stepId=answer'), await found('name=support-answer'), await found('name=answer')]).toEqual([
      1, 1, 0,
    ])
  })

  it('is found by each of its names, in the list of traces and in the queue', async ({ expect }) => {
    const org = await newOrg()
    for (const stepId of ['a', 'b', 'new', 'other']) await newSteps(org, [stepId])
    await rename(org, { a: 'new', b: 'new' })
    for (const stepId of ['a', 'b', 'new', 'other', 'none']) {
      const count = { other: 1, none: 0 }[stepId] ?? 3
      expect((await org.read.get(list('/api/traces', `stepId=${stepId}`))).body.traces.length).toBe(count)
      for (const order of ['oldest', 'newest', 'negative', 'random']) {
        const { body } = await org.read.get(list('/api/review-queue', `stepId=${stepId}&order=${order}`))
        expect([body.spans.length, body.remaining]).toEqual([count, count])
      }
    }
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `stepId=b&limit=1${cursor && `&cursor=${cursor}`}`
      const { body } = await org.read.get(list('/api/review-queue', query))
      paged.push(...stepsIn({ body } as ApiResponse))
      cursor = body.nextCursor
      // A cursor stays valid while steps are renamed.
      await rename(org, { b: 'new', a: 'new', [`x${paged.length}`]: 'y' })
    }
    expect(paged).toEqual(['new', 'new', 'new'])
  })

  it('keeps its reviews, and waits in the queue again if its output changes', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id, spanIds } = await newSteps(org, ['old', 'new'])
    const reviews = spanIds.map(spanId => ({ spanId, decision: 'correct', approvedOutput: 'No', errorType: 'no_tool' }))
    await rename(org, { old: 'new' })
    const unknown = (await org.owner.post('/api/reviews', { reviews })).body.results
    expect(unknown.map(({ status }: { status: number }) => status)).toEqual([422, 422])
    const known = reviews.map(review => ({ ...review, errorType: 'reasoning_error' }))
    const { results } = (await org.owner.post('/api/reviews', { reviews: known })).body
    expect(results.map(({ body }: { body: { stepId: string } }) => body.stepId)).toEqual(['new', 'new'])
    const waiting = async (stepId: string) =>
      (await org.read.get(list('/api/review-queue', `stepId=${stepId}`))).body.spans.map(({ id }: { id: string }) => id)
    expect(await waiting('old')).toEqual([])
    for (const query of ['review=corrected', 'errorType=reasoning_error']) {
      const { traces } = (await org.read.get(list('/api/traces', `stepId=old&${query}`))).body
      expect(traces).toMatchObject([{ reviewedCount: 2 }])
    }
    const changed = { trace_id, span_id: spanIds[0], step_id: 'old', output: 'Changed', timestamp: timeAfter(0) }
    await org.ingest.post('/api/v1/spans', aSpan(changed))
    expect([await waiting('old'), await waiting('new')]).toEqual([[spanIds[0]], [spanIds[0]]])
    expect((await org.read.get(`/api/spans/${spanIds[0]}`)).body).toMatchObject({
      stepId: 'new',
      review: { state: 'corrected', stale: true },
    })
  })

  it('also gets its new name in telemetry', async ({ expect }) => {
    const org = await newOrg()
    await exportSpans(org, [anExportedSpan()])
    const { traces } = (await org.read.get(list('/api/traces', ''))).body
    const detail = () => org.read.get(`/api/traces/${traces[0].id}`)
    const [stepId = ''] = stepsIn(await detail())
    await rename(org, { [stepId]: 'answer' })
    expect(stepsIn(await detail())).toEqual(['answer'])
    for (const name of [stepId, 'answer']) {
      const query = `stepId=${encodeURIComponent(name)}`
      expect((await org.read.get(list('/api/traces', query))).body.traces.length).toBe(1)
    }
  })

  it('is counted as one step in insights', async ({ expect }) => {
    const org = await newOrg()
    const { versionId } = (await newPrompt(org, 'old')).body
    const { id, spanIds } = await newSteps(org, ['old', 'new', 'other'], { prompt_version_id: versionId })
    for (const spanId of spanIds) {
      const decision = { decision: 'correct', approvedOutput: 'No', errorType: 'reasoning_error' }
      await org.owner.put(`/api/spans/${spanId}/review`, decision)
    }
    const counted = "select key, ?, ?, 'agent_error', 2, 0 from projects where id = ?"
    const { database } = await placeOf(
      await stored.prepare('select key from traces where id = ?').bind(id).first('key'),
    )
    await database.batch(
      ['old', 'new'].map(stepId =>
        database
          .prepare(`insert into answer_days ${counted}`)
          .bind(Math.floor(Date.now() / DAY_MS), stepId, org.project.id),
      ),
    )
    for (let run = 1; run <= 2; run++) await sweep(env, Date.now() + run * 60_000)
    await rename(org, { old: 'new' })
    const { body } = await org.read.get(list('/api/insights', 'from=2026-11-01T00:00:00.000Z'))
    const merged = { stepId: 'new', outputs: 2, reviewed: 2, accepted: 0, corrected: 2 }
    expect(body.steps).toMatchObject([merged, { ...merged, stepId: 'other', outputs: 1, reviewed: 1, corrected: 1 }])
    expect(body.days).toMatchObject([
      { stepId: 'new', promptVersionId: versionId, corrected: 2 },
      { stepId: 'other', promptVersionId: versionId, corrected: 1 },
    ])
    expect(body.errorTypes).toMatchObject([
      { stepId: 'new', errorType: 'reasoning_error', source: 'review', count: 2 },
      { stepId: 'other', errorType: 'reasoning_error', source: 'review', count: 1 },
      { stepId: 'new', errorType: 'agent_error', source: 'engine', count: 4 },
    ])
    expect(body.promptVersions).toMatchObject([{ id: versionId, stepId: 'new' }])
    await rename(org, {})
    const undone = (await org.read.get(list('/api/insights', 'from=2026-11-01T00:00:00.000Z'))).body.steps
    expect(undone.map(({ stepId }: { stepId: string }) => stepId)).toEqual(['new', 'old', 'other'])
  })

  it('keeps counts right when a reviewed trace is deleted', async ({ expect }) => {
    const org = await newOrg()
    const { id, spanIds } = await newSteps(org, ['old'])
    await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    await rename(org, { old: 'new' })
    const other = await newSteps(org, ['new'])
    await org.owner.put(`/api/spans/${other.spanIds[0]}/review`, { decision: 'accept' })
    const accepted = async () => (await org.read.get(list('/api/insights', ''))).body.steps
    expect(await accepted()).toMatchObject([{ stepId: 'new', accepted: 2 }])
    const keys = 'select key as traceKey, organization_key as organizationKey from traces where id = ?'
    const trace = await stored.prepare(keys).bind(id).first<{ traceKey: number; organizationKey: number }>()
    await org.clientOf(org.ownerKey, withoutQueue()).delete(`/api/traces/${id}`)
    if (trace) await runJob({ kind: 'purge_trace', ...trace, ...(await jobPlace(trace.traceKey)) }, env)
    expect(await accepted()).toMatchObject([{ stepId: 'new', accepted: 1 }])
  })

  it('has one prompt, which can be found by either name', async ({ expect }) => {
    const org = await newOrg()
    const { id } = (await newPrompt(org, 'old')).body
    await rename(org, { old: 'new' })
    for (const stepId of ['old', 'new']) {
      const { body } = await org.read.get(list('/api/prompts', `stepId=${stepId}`))
      expect(body.prompts).toMatchObject([{ id, stepId: 'new' }])
      expect(await newPrompt(org, stepId)).toMatchObject({ status: 409, body: { details: [{ path: 'stepId' }] } })
    }
    expect((await org.read.get(`/api/prompts/${id}`)).body.stepId).toBe('new')
    await org.owner.delete(`/api/prompts/${id}`)
    expect((await newPrompt(org, 'old')).body).toMatchObject({ stepId: 'new' })
    expect((await newPrompt(org, 'new')).status).toBe(409)
    await rename(org, {})
    expect((await org.read.get(list('/api/prompts', ''))).body.prompts).toMatchObject([{ stepId: 'old' }])
    expect((await newPrompt(org, 'new')).status).toBe(201)
  })

  it('lists its prompt on the page for its old name, sorted by its new name', async ({ expect }) => {
    const org = await newOrg()
    for (const stepId of ['a', 'b', 'c', 'd']) await newPrompt(org, stepId)
    await rename(org, { a: 'z' })
    const page = async (query: string) => {
      const { body } = await org.read.get(list('/api/prompts', query))
      return { stepIds: body.prompts.map(({ stepId }: { stepId: string }) => stepId), cursor: body.nextCursor }
    }
    expect((await page('')).stepIds).toEqual(['b', 'c', 'd', 'z'])
    const first = await page('limit=2')
    expect(first.stepIds).toEqual(['b', 'z'])
    await rename(org, { d: '0' })
    expect((await page(`limit=2&cursor=${first.cursor}`)).stepIds).toEqual(['0', 'c'])
  })

  it('changes the ETag of the prompts', async ({ expect }) => {
    const org = await newOrg()
    await newPrompt(org, 'old')
    const path = list('/api/prompts', 'stepId=old')
    const headers = { 'if-none-match': (await org.read.get(path)).headers.get('etag') ?? '' }
    expect((await org.read.get(path, undefined, headers)).status).toBe(304)
    await rename(org, { old: 'new' })
    expect((await org.read.get(path, undefined, headers)).status).toBe(200)
  })

  it("has its prompt's schema applied to corrections, even if the prompt and the span use different names", async ({
    expect,
  }) => {
    const outputSchema = { type: 'object', required: ['answer'] }
    for (const [promptStep, spanStep] of [
      ['old', 'new'],
      ['new', 'old'],
      ['old', 'older'],
    ] as const) {
      const org = await newOrg()
      await newPrompt(org, promptStep, { outputSchema })
      const { spanIds } = await newSteps(org, [spanStep])
      const correct = () =>
        org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'correct', approvedOutput: {}, comment: 'No' })
      await rename(org, { old: 'new', older: 'new' })
      expect((await correct()).status).toBe(422)
      await rename(org, {})
      expect((await correct()).status).toBe(200)
    }
  })

  it('gives its telemetry spans the version of its prompt that was active at the time', async ({ expect }) => {
    const org = await newOrg()
    const { versionId } = (await newPrompt(org, 'answer')).body
    await rename(org, { chat: 'answer', named: 'answer' })
    let minutes = 0
    const sent = async (attributes?: object) => {
      const at = String(BigInt(Date.now() + ++minutes * 60_000) * 1_000_000n)
      const span = anExportedSpan({ ...(attributes && { attributes }), startTimeUnixNano: at, endTimeUnixNano: at })
      await exportSpans(org, [span])
      const { traces } = (await org.read.get(list('/api/traces', ''))).body
      return (await org.read.get(`/api/traces/${traces[0].id}`)).body.spans[0]
    }
    expect(await sent()).toMatchObject({ stepId: 'answer', promptVersionId: versionId })
    const { versionId: second } = (await newPrompt(org, 'second')).body
    await rename(org, { chat: 'answer', named: 'second' })
    const named = { 'langfuse.observation.prompt.name': 'named', 'langfuse.observation.prompt.version': 1 }
    expect(await sent({ 'gen_ai.operation.name': 'chat', ...named })).toMatchObject({
      stepId: 'second',
      promptVersionId: second,
    })
  })

  it('is treated as one step in attribution, along with its prompt and precedents', async ({ expect }) => {
    const disputed = await newDisputed()
    const { org, traceKey } = disputed
    await newPrompt(org, 'new')
    const input = { question: 'Is it covered?' }
    await disputed.observe({ type: 'input', data: input })
    await disputed.step({ span_id: crypto.randomUUID(), step_id: 'old', input, output: { answer: 'Yes' } })
    const earlier = await newTrace(org)
    const spanId = crypto.randomUUID()
    await earlier.observe({ type: 'input', data: input })
    await earlier.step({ span_id: spanId, step_id: 'older', input, output: { answer: 'No' } })
    const { client } = await reviewerOf(org)
    expect((await client.put(`/api/spans/${spanId}/review`, { decision: 'accept' })).status).toBe(200)
    const stepOf = async () => {
      const subject = await findSubject(await storeBeside(org, traceKey), traceKey)
      return subject?.steps.find(({ isRoot }) => !isRoot)
    }
    expect(await stepOf()).toMatchObject({ stepId: 'old', prompt: null, precedents: [] })
    await rename(org, { old: 'new', older: 'new' })
    expect(await stepOf()).toMatchObject({
      stepId: 'new',
      prompt: { content: 'Do new.' },
      precedents: [{ spanId, state: 'accepted' }],
    })
  })

  it('affects only its own project', async ({ expect }) => {
    const [org, stranger] = [await newOrg(), await newOrg()]
    await rename(org, { old: 'new' })
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const other = org.clientOf(await org.keyFor({ projectSlug: 'other' }))
    for (const by of [stranger.ingest, other]) {
      const trace = aTrace({ name: 'old' })
      const { id } = (await by.post('/api/v1/traces', trace)).body
      expect(stepsIn(await by.get(`/api/traces/${id}`))).toEqual(['old'])
    }
    expect((await stranger.read.get(list('/api/traces', 'stepId=new'))).body.traces).toEqual([])
    expect((await stranger.owner.get(pathOf(org))).status).toBe(403)
    expect((await other.get(pathOf(org))).status).toBe(403)
  })

  it('adds the same cost to a request for one span, no matter how many names there are', async ({ expect }) => {
    const org = await newOrg()
    const { spanIds } = await newSteps(org, ['old-0'])
    const read = () => rowsReadBy(bindings => org.clientOf(org.ownerKey, bindings).get(`/api/spans/${spanIds[0]}`))
    const before = await read()
    const rows: number[] = []
    for (const count of [1, MAX_STEP_NAMES]) {
      await rename(org, Object.fromEntries(Array.from({ length: count }, (_, i) => [`old-${i}`, 'new'])))
      rows.push(await read())
    }
    expect(rows[1]).toBe(rows[0])
    expect((rows[0] ?? 0) - before).toBeLessThan(10)
  })
})
