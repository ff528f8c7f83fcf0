import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { afterEach, describe, inject, it, vi } from 'vitest'
import { runJob } from '../../src/jobs/consumer.ts'
import { DAY_MS } from '../../src/limits.ts'
import { aSpan } from '../support/builders.ts'
import { jobPlace, stored } from '../support/database.ts'
import { type ApiResponse, newOrg, type Org } from '../support/org.ts'
import { blame } from '../support/problems.ts'
import { newReviewed } from '../support/reviews.ts'

const LIST = '/api/problems?projectSlug=support&limit=200'

interface Listed {
  id: string
  stepId: string
  errorType: string | null
  docSlug: string | null
  count: number
  byReviewers: number
  byEngine: number
  examples: string[]
}

const problemsOf = async (org: Org): Promise<Listed[]> => (await org.owner.get(LIST)).body.problems

/** The numbers on the board that don't equal the lengths of their lists. */
async function mismatchesOf(org: Org, problems: readonly Listed[], limit = 2): Promise<string[]> {
  const mismatches: string[] = []
  const from = new Date(Date.now() - 29 * DAY_MS).toISOString()
  for (const problem of problems) {
    const counts = { '': problem.count, '&namedBy=reviewer': problem.byReviewers, '&namedBy=engine': problem.byEngine }
    for (const [filter, count] of Object.entries(counts)) {
      const ids: string[] = []
      let expired = 0
      let cursor = ''
      do {
        const { status, body }: ApiResponse = await org.owner.get(
          `/api/spans?projectSlug=support&limit=${limit}&problemId=${problem.id}${filter}&reviewedFrom=${from}${cursor}`,
        )
        if (status !== 200) throw new Error(JSON.stringify(body))
        ids.push(...body.spans.map((span: { id: string }) => span.id))
        expired += body.expired ?? 0
        cursor = body.nextCursor && `&cursor=${body.nextCursor}`
      } while (cursor)
      if (new Set(ids).size !== ids.length || ids.length + expired !== count)
        mismatches.push(`${problem.stepId} ${problem.errorType}${filter}: ${count}, but ${ids.length} and ${expired}`)
    }
  }
  return mismatches
}

describe('the cases of problems', () => {
  it('form a list of exactly the right length for each number on the board', async ({ expect }) => {
    const org = await newOrg()
    const made = []
    for (const output of ['12', '13', '14']) made.push(await newReviewed(output, org))
    const [first, second, third] = made
    for (const each of [first, second])
      await each?.review({ decision: 'correct', approvedOutput: '24', errorType: 'reasoning_error' })
    if (third) await blame(org, third, { errorType: 'reasoning_error' })
    const problems = await problemsOf(org)
    expect(problems).toMatchObject([{ errorType: 'reasoning_error', count: 3, byReviewers: 2, byEngine: 1 }])
    expect([...(problems[0]?.examples ?? [])].sort()).toEqual(made.map(({ spanId }) => spanId).sort())
    // One case per page.
    for (const limit of [1, 50]) expect(await mismatchesOf(org, problems, limit)).toEqual([])
  })

  it('are counted under the step and doc that the engine blames, unless a reviewer names another type', async ({
    expect,
  }) => {
    const org = await newOrg()
    const one = await newReviewed('12', org)
    const span_id = crypto.randomUUID()
    await one.step({ span_id, step_id: 'retrieve', output: 'chunks' })
    const key = async () =>
      (await problemsOf(org)).map(({ stepId, errorType, docSlug }) => [stepId, errorType, docSlug])
    await blame(org, one, { errorType: 'outdated_reference', spanId: span_id, docSlug: 'warranty' })
    expect(await key()).toEqual([['retrieve', 'outdated_reference', 'warranty']])
    await one.review({ decision: 'correct', approvedOutput: '24' })
    expect(await key()).toEqual([['retrieve', 'outdated_reference', 'warranty']])
    await one.review({ decision: 'correct', approvedOutput: '24', errorType: 'outdated_reference' })
    expect(await problemsOf(org)).toMatchObject([{ stepId: 'retrieve', docSlug: 'warranty', byReviewers: 1, count: 1 }])
    await one.review({ decision: 'correct', approvedOutput: '24', errorType: 'reasoning_error' })
    expect(await key()).toEqual([['support-answer', 'reasoning_error', null]])
    // An acceptance that names the cause also overrules the engine.
    await one.review({ decision: 'accept', errorType: 'acceptable_variation' })
    expect(await key()).toEqual([['support-answer', 'acceptable_variation', null]])
  })
})

/*
 * The test below makes random decisions, answers, new outputs, renames, deletions, and expiries. The counts must equal
 * those of a model that counts from scratch, and each count must equal the length of its list.
 */

const STEPS = ['retrieve', 'answer'] as const
const TYPES = [undefined, 'reasoning_error', 'outdated_reference'] as const
const DOCS = [null, 'warranty'] as const
const NAMES: readonly Readonly<Record<string, string>>[] = [{}, { retrieve: 'answer' }, { answer: 'reply' }]
const TRACES = 3

const act = fc.record({
  kind: fc.constantFrom(
    ...(['accept', 'correct', 'correct', 'reset', 'answer', 'answer', 'output', 'delete', 'expire', 'rename'] as const),
  ),
  trace: fc.nat(TRACES - 1),
  span: fc.nat(STEPS.length - 1),
  type: fc.nat(TYPES.length - 1),
  doc: fc.nat(DOCS.length - 1),
  /** Whether the answer blames the span. If not, it blames no span. */
  isBlaming: fc.boolean(),
  names: fc.constantFrom(...NAMES),
})
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never

interface Decided {
  state: 'accept' | 'correct'
  type: string | undefined
  at: number
}

interface Case {
  step: string
  type: string
  doc: string
  isByEngine: boolean
}

interface ModelTrace {
  name: string
  spans: { step: string; decided?: Decided | undefined }[]
  answer?: { type: string; step: string; doc: string }
}

/** The cases of a trace, computed from scratch. */
function casesOf({ name, spans, answer }: ModelTrace): Case[] {
  const caseOf = (type: string | undefined, step: string): Case => {
    const isAgreed = answer !== undefined && (type === undefined || type === answer.type)
    return {
      step: (isAgreed && answer.step) || step,
      type: type ?? answer?.type ?? '',
      doc: isAgreed ? answer.doc : '',
      isByEngine: type === undefined && answer !== undefined,
    }
  }
  const corrected = spans.filter(({ decided }) => decided?.state === 'correct')
  if (corrected.length > 0) return corrected.map(({ step, decided }) => caseOf(decided?.type, step))
  if (!answer) return []
  const [naming] = spans
    .filter(({ decided }) => decided?.type !== undefined)
    .toSorted((left, right) => (right.decided?.at ?? 0) - (left.decided?.at ?? 0))
  return [caseOf(naming?.decided?.type, naming?.step ?? name)]
}

/** Performs the acts on a new organization and on the model. Returns the cases that the model counts. */
async function play(acts: readonly Act[]) {
  const org = await newOrg()
  const made = await Promise.all(
    Array.from({ length: TRACES }, async () => {
      const reviewed = await newReviewed('whole', org)
      const spanIds = STEPS.map(() => crypto.randomUUID())
      for (const [index, span_id] of spanIds.entries())
        await reviewed.step(
          aSpan({ trace_id: reviewed.trace_id, span_id, step_id: STEPS[index], output: `out ${index}` }),
        )
      const row = await stored
        .prepare('select key, organization_key, name from traces where id = ?')
        .bind(reviewed.id)
        .first<{ key: number; organization_key: number; name: string }>()
      const model: ModelTrace = { name: row?.name ?? '', spans: STEPS.map(step => ({ step })) }
      const keys = { organizationKey: row?.organization_key ?? 0, traceKey: row?.key ?? 0 }
      const job = { kind: 'purge_trace' as const, ...keys, ...(await jobPlace(keys.traceKey)) }
      return { ...reviewed, spanIds, model, job }
    }),
  )
  const live = new Set(made)
  const expired: Case[] = []
  let names: Readonly<Record<string, string>> = {}
  for (const [index, { kind, trace, span, type, doc, isBlaming, names: newNames }] of acts.entries()) {
    vi.setSystemTime(Date.now() + 1000)
    const target = made[trace]
    const own = target?.model.spans[span]
    const spanId = target?.spanIds[span]
    if (kind === 'rename') {
      names = newNames
      await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names })
    }
    if (!target || !own || !live.has(target)) continue
    const errorType = TYPES[type]
    if (kind === 'accept' || kind === 'correct' || kind === 'reset') {
      const body = { decision: kind, errorType, ...(kind === 'correct' && { approvedOutput: 'Corrected' }) }
      const { status } = await org.owner.put(
        `/api/spans/${spanId}/review`,
        kind === 'reset' ? { decision: kind } : body,
      )
      if (status !== 200) throw new Error(`unexpected ${status}`)
      const isSame = own.decided?.state === kind && own.decided.type === errorType
      if (kind === 'reset') own.decided = undefined
      else if (!isSame) own.decided = { state: kind, type: errorType, at: index }
    } else if (kind === 'answer') {
      const answer = { errorType: errorType ?? 'reasoning_error', docSlug: DOCS[doc] ?? null }
      await blame(org, target, { ...answer, spanId: isBlaming ? (spanId ?? null) : null })
      target.model.answer = { type: answer.errorType, step: isBlaming ? own.step : '', doc: answer.docSlug ?? '' }
    } else if (kind === 'output') {
      await target.observe({ span_id: spanId, data: `another ${index}` })
    } else if (kind === 'delete' || kind === 'expire') {
      if (kind === 'delete') await org.owner.delete(`/api/traces/${target.id}`)
      else {
        await stored
          .prepare('update traces set deleted_at = ?2, purge_due_at = ?2 where id = ?1')
          .bind(target.id, Date.now())
          .run()
        expired.push(...casesOf(target.model))
      }
      // Between the deletion and the purge, the counts include the cases, and the lists report them as expired.
      if (isBlaming) await requireLists(org)
      await runJob(target.job, env)
      await runJob(target.job, env)
      live.delete(target)
    }
  }
  const cases = [...[...live].flatMap(({ model }) => casesOf(model)), ...expired]
  return { org, cases: cases.map(each => ({ ...each, step: names[each.step] ?? each.step })) }
}

async function requireLists(org: Org): Promise<Listed[]> {
  const problems = await problemsOf(org)
  const mismatches = await mismatchesOf(org, problems)
  if (mismatches.length > 0) throw new Error(mismatches.join('; '))
  return problems
}

const THOROUGHNESS = inject('propertyRuns')

describe('the counts of problems', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('always equal a count from scratch and the lengths of their lists', {
    timeout: 120_000 * THOROUGHNESS,
  }, async ({ expect }) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const property = fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async acts => {
      const { org, cases } = await play(acts)
      const found = (await requireLists(org)).map(({ stepId, errorType, docSlug, byReviewers, byEngine }) =>
        [stepId, errorType ?? '', docSlug ?? '', byReviewers, byEngine].join('|'),
      )
      const groups = Map.groupBy(cases, ({ step, type, doc }) => [step, type, doc].join('|'))
      const counted = [...groups].map(([key, group]) => {
        const byEngine = group.filter(({ isByEngine }) => isByEngine).length
        return `${key}|${group.length - byEngine}|${byEngine}`
      })
      expect(found.sort()).toEqual(counted.sort())
    })
    await fc.assert(property, { numRuns: 12 * THOROUGHNESS, seed: inject('propertySeed') })
  })
})
