import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Subject } from '../../src/domain/subject.ts'
import type { Env } from '../../src/env.ts'
import { MAX_SUBJECT_DOCS, MAX_SUBJECT_SPANS } from '../../src/limits.ts'
import { findSubject } from '../../src/store/attribution/subject.ts'
import { newDisputed, storeBeside } from '../support/attribution.ts'
import { countingBindings, rowsReadBy } from '../support/bindings.ts'
import { anObservation, aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { databases, isSharded, stored } from '../support/database.ts'
import type { Org } from '../support/org.ts'
import { aText, kindsOfText, newText } from '../support/texts.ts'

const [PROMPT, DOC] = kindsOfText
if (!PROMPT || !DOC) throw new Error('kindsOfText must have two entries')

async function subjectOf(org: Org, traceKey: number, bindings: Env = env): Promise<Subject> {
  const subject = await findSubject(await storeBeside(org, traceKey, bindings), traceKey)
  if (!subject) throw new Error('trace not found')
  return subject
}

/** Inserts many spans, a second apart, directly into a trace. */
async function manySpans(traceKey: number, count: number): Promise<void> {
  await stored
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
     insert into spans (id, trace_key, is_root, step_id, timestamp)
     select printf('00000000-0000-4000-8000-%012d', i), ?, 0, 'step', ? + i * 1000 from n`,
    )
    .bind(count, traceKey, Date.parse(TIME))
    .run()
}

const spanId = (place: number) => `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`

describe('the subject of an attribution', () => {
  it('includes the trace with its values, feedback, and decisions', async ({ expect }) => {
    const { org, traceKey, observe, step, give, span, trace_id } = await newDisputed({
      rating: 'negative',
      comment: 'No',
    })
    const child = crypto.randomUUID()
    const large = 'x'.repeat(20_000)
    await observe({ type: 'input', data: { question: 'Why?' } })
    await observe({ type: 'state', key: 'config', data: { today: '2026-11-20' } })
    await observe({ data: large })
    await step({ span_id: child, status: 'error', duration_ms: 5, metadata: { retry: 1 }, timestamp: timeAfter(10) })
    await give({ span_id: child, correction: { answer: 'Because' }, timestamp: timeAfter(20) })
    const root = await span()
    await org.owner.put(`/api/spans/${root.id}/review`, {
      decision: 'correct',
      approvedOutput: 'Because',
      comment: 'So',
    })
    await org.ingest.post('/api/v1/traces', { ...aTrace({ trace_id }), status: 'completed', duration_ms: 9 })
    const subject = await subjectOf(org, traceKey)
    expect(subject).toMatchObject({ timestamp: Date.parse(TIME), isCompleted: true, omitted: [], knowledgeDocs: [] })
    expect(subject.steps).toEqual([
      {
        spanId: root.id,
        isRoot: true,
        parentSpanId: null,
        stepId: 'support-answer',
        timestamp: Date.parse(TIME),
        durationMs: 9,
        status: null,
        input: { question: 'Why?' },
        output: large,
        hasOutput: true,
        state: { config: { today: '2026-11-20' } },
        metadata: { group_id: 'session-1', customer: { tier: 'gold' } },
        prompt: null,
        review: { state: 'corrected', approvedOutput: 'Because', userId: expect.any(String), comment: 'So' },
        precedents: [],
      },
      expect.objectContaining({
        spanId: child,
        isRoot: false,
        parentSpanId: root.id,
        status: 'error',
        durationMs: 5,
        metadata: { retry: 1 },
        review: null,
      }),
    ])
    expect(
      subject.feedback.toSorted((left, right) => Number(left.rating === null) - Number(right.rating === null)),
    ).toEqual([
      expect.objectContaining({ spanId: root.id, rating: 'negative', comment: 'No', correction: null, source: 'api' }),
      expect.objectContaining({ spanId: child, rating: null, comment: null, correction: { answer: 'Because' } }),
    ])
  })

  it('distinguishes a null output from a missing one', async ({ expect }) => {
    const { org, traceKey, step, observe } = await newDisputed()
    for (const place of [0, 1]) {
      await step({ span_id: spanId(place), output: undefined, timestamp: timeAfter(place) })
    }
    await observe({ span_id: spanId(0), data: null })
    const { steps } = await subjectOf(org, traceKey)
    expect(steps.map(({ hasOutput, output }) => [hasOutput, output])).toEqual([
      [false, null],
      [true, null],
      [false, null],
    ])
  })

  it('includes only the spans nearest to the feedback in a large trace, and lists the omitted ones', {
    timeout: 60_000,
  }, async ({ expect }) => {
    const { org, traceKey, give } = await newDisputed({ comment: 'Hm' })
    await manySpans(traceKey, 10_000)
    await give({ span_id: spanId(7000), rating: 'negative' })
    await stored.batch([
      stored.prepare("update spans set status = 'error' where id = ? and trace_key = ?").bind(spanId(9999), traceKey),
      stored
        .prepare('update spans set parent_id = ? where id = ? and trace_key = ?')
        .bind(spanId(12), spanId(7000), traceKey),
      // A cycle of parents must not cause an infinite loop.
      stored
        .prepare('update spans set parent_id = ? where id = ? and trace_key = ?')
        .bind(spanId(7000), spanId(12), traceKey),
    ])
    const { bindings, counts } = countingBindings()
    const { steps, omitted } = await subjectOf(org, traceKey, bindings)
    expect(counts).toMatchObject({ d1RoundTrips: isSharded ? 3 : 2, rowsWritten: 0 })
    expect(steps).toHaveLength(MAX_SUBJECT_SPANS)
    expect(steps[0]?.isRoot).toBe(true)
    const ids = steps.slice(1).map(({ spanId }) => spanId)
    expect(ids).toEqual([
      spanId(12),
      ...Array.from({ length: MAX_SUBJECT_SPANS - 3 }, (_, index) => spanId(7000 - (MAX_SUBJECT_SPANS - 4) + index)),
      spanId(9999),
    ])
    expect(omitted).toEqual(['9,601 of 10,001 spans (the farthest from the feedback)'])
    const rowsRead = await rowsReadBy(bindings => subjectOf(org, traceKey, bindings))
    expect(rowsRead).toBeLessThan(100_000)
  })

  it('leaves out values that are too large, one by one or together', async ({ expect }) => {
    const { org, traceKey, observe, step } = await newDisputed()
    await observe({ data: 'x'.repeat(300_000) })
    for (let place = 0; place < 18; place++) {
      await step({ span_id: spanId(place), output: 'y'.repeat(250_000), timestamp: timeAfter(place) })
    }
    const { steps, omitted } = await subjectOf(org, traceKey)
    expect(steps[0]).toMatchObject({ hasOutput: true, output: null })
    expect(steps.filter(({ output }) => output !== null)).toHaveLength(16)
    // The latest values take precedence.
    expect(steps.slice(1, 3).map(({ output }) => output)).toEqual([null, null])
    expect(omitted).toEqual(['1 value over 256 KiB', '2 values after the first 4 MiB'])
  })

  it('distinguishes people, even if it knows only their names', async ({ expect }) => {
    const { org, traceKey, give } = await newDisputed({ rating: 'negative' })
    for (const [place, labeller] of [
      { name: 'Ada' },
      { name: 'Bob' },
      { name: 'Ada' },
      { name: 'Ada', email: 'ada@example.com' },
      { name: 'A. Lopez', email: 'Ada@example.com' },
    ].entries()) {
      await give({ labeller, comment: 'No', timestamp: timeAfter(place + 1) })
    }
    const people = (await subjectOf(org, traceKey)).feedback.map(({ userId }) => userId)
    // The first feedback has no labeler and no time, so it comes last.
    expect(people.map(userId => people.indexOf(userId))).toEqual([0, 1, 0, 3, 3, 5])
  })

  it('includes the prompts and knowledge docs that were active when the trace was received', async ({ expect }) => {
    const before = await newDisputed()
    const { org } = before
    await scheduler.wait(5)
    const answer = await newText(PROMPT, org, 'generate-answer', { content: 'One', outputSchema: { type: 'object' } })
    const terms = await newText(DOC, org, 'terms', { content: 'Old terms', title: 'Terms' })
    await scheduler.wait(5)
    const trace = aTrace({ name: 'generate-answer' })
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const { trace_id } = trace
    const traceKey = Number(await stored.prepare('select key from traces where id = ?').bind(id).first('key'))
    await scheduler.wait(5)
    const { versionId } = await newText(PROMPT, org, 'rank', { content: 'Later' }).then(({ created }) => created)
    await answer.add({ content: 'Two' })
    await terms.add({ content: 'New terms' })
    const { body: draft } = await answer.add({ content: 'Draft', activate: false })
    const named = [
      ['generate-answer', undefined],
      ['rank', undefined],
      ['other', undefined],
      ['other', draft.id],
      ['other', versionId],
    ] as const
    for (const [place, [step_id, prompt_version_id]] of named.entries()) {
      const span = aSpan({ trace_id, span_id: spanId(place), step_id, prompt_version_id, timestamp: timeAfter(place) })
      expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
    }
    const { steps, knowledgeDocs } = await subjectOf(org, traceKey)
    expect(steps.map(({ prompt }) => prompt && [prompt.content, prompt.outputSchema])).toEqual([
      ['One', { type: 'object' }],
      ['One', { type: 'object' }],
      // Without a schema, an output can't violate one.
      ['Later', null],
      null,
      ['Draft', { type: 'object' }],
      ['Later', null],
    ])
    expect(knowledgeDocs).toEqual([{ slug: 'terms', title: 'Terms', content: 'Old terms' }])
    // Later changes don't affect the subject.
    expect((await subjectOf(org, before.traceKey)).knowledgeDocs).toMatchObject([{ content: 'Old terms' }])
  })

  it('prefers knowledge docs that the trace mentions if there are too many', { timeout: 60_000 }, async ({
    expect,
  }) => {
    const { org, traceKey, observe } = await newDisputed()
    await org.owner.post(DOC.path, aText(DOC, 'aaa'))
    const project = await stored
      .prepare('select key, organization_key from projects where id = ?')
      .bind(org.project.id)
      .first<{ key: number; organization_key: number }>()
    const count = MAX_SUBJECT_DOCS + 200
    const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)'
    const base = 5_000_000
    const insert = (database: D1Database) =>
      database.batch([
        database
          .prepare(
            `${numbers} insert into versioned_texts select ?2 + i, 'doc' || i, ?3, ?4, 'knowledge_doc',
           'doc-' || printf('%05d', i), 'Doc', 0 from n`,
          )
          .bind(count, base, project?.organization_key, project?.key),
        database
          .prepare(
            `${numbers} insert into text_versions select ?2 + i, 'version' || i, ?2 + i, 'Text', null, null, 1, 0, 1 from n`,
          )
          .bind(count, base),
        database.prepare(`${numbers} insert into text_activations select ?2 + i, 0, ?2 + i from n`).bind(count, base),
      ])
    // If there are several databases, each has a copy.
    await Promise.all(databases.map(insert))
    await observe({ type: 'input', data: { chunks: ['see doc-01199.md'] } })
    const { knowledgeDocs, omitted } = await subjectOf(org, traceKey)
    expect(knowledgeDocs).toHaveLength(MAX_SUBJECT_DOCS)
    expect(knowledgeDocs[0]?.slug).toBe('doc-01199')
    expect(omitted).toEqual(['201 of 1,201 knowledge docs'])
  })

  it('includes earlier decisions on the same step with the same input, newest first', async ({ expect }) => {
    const { org, traceKey, observe, step } = await newDisputed()
    const QUESTION = { question: 'Is it covered?' }
    await observe({ type: 'input', data: QUESTION })
    await step({ span_id: spanId(1), input: { b: 1, a: 2 } })
    const decided = async (
      rootInput: unknown,
      input: unknown,
      output: unknown,
      decision: object,
      fields: object = {},
    ) => {
      const trace = aTrace()
      const { trace_id } = trace
      const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
      await org.ingest.post('/api/v1/observations', anObservation({ trace_id, type: 'input', data: rootInput }))
      const span = aSpan({ trace_id, span_id: crypto.randomUUID(), input, output, ...fields })
      await org.ingest.post('/api/v1/spans', span)
      await scheduler.wait(2)
      const response = await org.owner.put(`/api/spans/${span.span_id}/review`, decision)
      if (response.status !== 200) throw new Error(`unexpected status ${response.status}`)
      return { spanId: span.span_id, id }
    }
    const correct = { decision: 'correct', approvedOutput: 'No' }
    const accepted = await decided(QUESTION, { a: 2, b: 1 }, 'Yes', { decision: 'accept' })
    const corrected = await decided(QUESTION, { a: 2, b: 1 }, 'Yes', correct)
    await decided({ question: 'Other?' }, { a: 2, b: 1 }, 'Yes', correct)
    await decided(QUESTION, { a: 2, b: 2 }, 'Yes', correct)
    await decided(QUESTION, { a: 2, b: 1 }, 'Yes', correct, { step_id: 'other' })
    await decided(QUESTION, { a: 2, b: 1 }, 'Yes', { decision: 'correct', approvedOutput: 'z'.repeat(10_000) })
    const deleted = await decided(QUESTION, { a: 2, b: 1 }, 'Yes', correct)
    await org.owner.delete(`/api/traces/${deleted.id}`)
    const reset = await decided(QUESTION, { a: 2, b: 1 }, 'Yes', correct)
    await org.owner.put(`/api/spans/${reset.spanId}/review`, { decision: 'reset' })
    const { steps } = await subjectOf(org, traceKey)
    expect(steps[1]?.precedents).toEqual([
      { spanId: corrected.spanId, state: 'corrected', approvedOutput: 'No', userId: expect.any(String) },
      { spanId: accepted.spanId, state: 'accepted', approvedOutput: 'Yes', userId: expect.any(String) },
    ])
    expect(steps[0]?.precedents).toEqual([])
  })

  it('does not exist for a deleted trace or another organization’s trace', async ({ expect }) => {
    const { org, traceKey, id } = await newDisputed()
    const stranger = await newDisputed()
    expect(await findSubject(await storeBeside(stranger.org, traceKey), traceKey)).toBeUndefined()
    await org.owner.delete(`/api/traces/${id}`)
    expect(await findSubject(await storeBeside(org, traceKey), traceKey)).toBeUndefined()
  })
})
