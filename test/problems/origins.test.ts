import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, MAX_LISTED_CANDIDATES, MAX_PROBLEM_EXAMPLES } from '../../src/limits.ts'
import { withoutQueue } from '../support/attribution.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { keysOf } from '../support/experiments.ts'
import { newOrg, type Org } from '../support/org.ts'
import { blame } from '../support/problems.ts'
import { newReviewed, reviewerOf } from '../support/reviews.ts'

const LIST = '/api/problems?projectSlug=support'
const CORRECTION = { decision: 'correct', approvedOutput: 'No' }

const listOf = async (org: Org, query = '') => (await org.owner.get(LIST + query)).body
const problemsOf = async (org: Org, query = '') => (await listOf(org, query)).problems
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

describe('a case', () => {
  it('is counted once even if a root shows the review of a step with the same text', async ({ expect }) => {
    const text = 'The warranty lasts 24 months.'
    const { org, step, spanId, review } = await newReviewed({ answer: text })
    const span_id = crypto.randomUUID()
    await step({ span_id, step_id: 'generate', output: text })
    await review({ decision: 'correct', approvedOutput: { answer: 'It lasts 12 months.' } })
    expect((await org.owner.get(`/api/spans/${spanId}`)).body).toMatchObject({ review: { reviewedBy: span_id } })
    expect(await problemsOf(org)).toMatchObject([{ stepId: 'generate', count: 1, examples: [span_id], share: 1 }])
  })

  it('may be an imported decision, which is counted on the day when it was made', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    const { userId } = await reviewerOf(org, 'ada@example.com')
    expect(userId).toBeTruthy()
    const imported = { spanId, ...CORRECTION, source: 'import', by: 'ada@example.com', at: daysAgo(40) }
    await org.owner.post('/api/reviews', { reviews: [imported] })
    expect(await problemsOf(org)).toEqual([])
    expect(await problemsOf(org, `&from=${daysAgo(41)}&to=${daysAgo(39)}`)).toMatchObject([{ count: 1, trend: 1 }])
    // The decision is in the preceding range.
    expect(await problemsOf(org, `&from=${daysAgo(30)}`)).toEqual([])
    const other = await newReviewed('Yes', org)
    await other.review(CORRECTION)
    expect(await problemsOf(org)).toMatchObject([{ count: 1, trend: 0 }])
  })

  it('keeps a custom type, even if the type is disabled later', async ({ expect }) => {
    const { org, review } = await newReviewed('Yes')
    const path = `/api/projects/${org.project.id}/error-types/late_docs`
    const own = { name: 'Late documents', category: 'Human Error', rule: 'The documents came too late.' }
    await org.owner.put(path, own)
    await review({ ...CORRECTION, errorType: 'late_docs' })
    await org.owner.put(path, { ...own, isEnabled: false })
    expect(await problemsOf(org)).toMatchObject([{ errorType: 'late_docs', count: 1, byReviewers: 1 }])
  })

  it('stays when its output changes, and when its doc is deleted', async ({ expect }) => {
    const org = await newOrg()
    const doc = { projectSlug: 'support', slug: 'warranty', title: 'Warranty', content: '24 months' }
    const { id } = (await org.owner.post('/api/knowledge-docs', doc)).body
    const reviewed = await newReviewed('Yes', org)
    await blame(org, reviewed, { errorType: 'outdated_reference', docSlug: 'warranty' })
    await reviewed.review(CORRECTION)
    await reviewed.observe({ data: 'Maybe' })
    await org.owner.delete(`/api/knowledge-docs/${id}`)
    expect(await problemsOf(org)).toMatchObject([{ errorType: 'outdated_reference', docSlug: 'warranty', count: 1 }])
  })

  it('is found by cron if it arose before cases were stored', async ({ expect }) => {
    const org = await newOrg()
    const [first, second] = [await newReviewed('Yes', org), await newReviewed('Yes', org)]
    await first.review(CORRECTION)
    await blame(org, second, { errorType: 'outdated_reference', docSlug: 'warranty' })
    const before = await listOf(org)
    expect(before.problems).toHaveLength(2)
    for (const table of ['problem_cases', 'problem_days', 'problem_ids'])
      await stored.prepare(`delete from ${table}`).run()
    await stored.prepare('update attributions set doc_slug = null').run()
    await stored.prepare("delete from sweeps where name = 'cases'").run()
    expect(await problemsOf(org)).toEqual([])
    for (let run = 0; run < 2; run++) await sweep(withoutQueue(), Date.now())
    expect(await listOf(org)).toEqual(before)
  })

  it('is deleted with its project', async ({ expect }) => {
    const { org, review } = await newReviewed('Yes')
    await review(CORRECTION)
    const { id } = (await org.owner.get('/api/projects')).body.projects[0]
    expect(await problemsOf(org)).toHaveLength(1)
    await org.owner.delete(`/api/projects/${id}`, { confirm: 'support' })
    expect((await org.owner.get(LIST)).status).toBe(404)
  })
})

describe('the list of problems', () => {
  it('begins with the problems that have the most cases, and lists each problem once across pages', async ({
    expect,
  }) => {
    const org = await newOrg()
    const types = ['reasoning_error', 'hallucinated_content', 'outdated_reference', undefined]
    for (const [index, errorType] of types.entries()) {
      for (let made = 0; made <= index % 3; made++) {
        const { review } = await newReviewed('Yes', org)
        await review({ ...CORRECTION, errorType })
      }
    }
    const all = await problemsOf(org)
    expect(all.map(({ count }: { count: number }) => count)).toEqual([3, 2, 1, 1])
    const paged = []
    let cursor = ''
    do {
      const page = await listOf(org, `&limit=1${cursor}`)
      paged.push(...page.problems)
      // A problem that arrives in the meantime doesn't make another problem appear twice.
      if (paged.length === 1)
        await (await newReviewed('Yes', org)).review({ ...CORRECTION, errorType: 'system_failure' })
      cursor = page.nextCursor && `&cursor=${page.nextCursor}`
    } while (cursor)
    const ids = paged.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(all.every(({ id }: { id: string }) => ids.includes(id))).toBe(true)
    const other = await newOrg()
    const { nextCursor } = await listOf(org, '&limit=1')
    expect((await other.owner.get(`${LIST}&cursor=${nextCursor}`)).status).toBe(400)
  })

  it('shows only a few of the newest cases', async ({ expect }) => {
    const org = await newOrg()
    const made: string[] = []
    for (let index = 0; index < MAX_PROBLEM_EXAMPLES + 2; index++) {
      const { review, spanId } = await newReviewed('Yes', org)
      await review(CORRECTION)
      made.push(spanId)
    }
    const [{ examples }] = await problemsOf(org)
    expect(examples).toEqual(made.toReversed().slice(0, MAX_PROBLEM_EXAMPLES))
  })

  it('ends a page after a few problems with a candidate', async ({ expect }) => {
    const { org } = await newReviewed('Yes')
    const prompt = { projectSlug: 'support', stepId: 'step', content: 'x' }
    const { versionId, id: promptId } = (await org.owner.post('/api/prompts', prompt)).body
    const numbers = JSON.stringify(Array.from({ length: MAX_LISTED_CANDIDATES + 2 }, (_, index) => index))
    await stored
      .prepare(
        `insert into problems (project_key, step_id, error_type, doc_slug, is_dismissed, candidate_version_id, candidate_at, updated_at, revision)
       select projects.key, 'step', 'type_' || item.value, '', 0, ?2, 1, 1, 'a' from json_each(?3) as item cross join projects where projects.id = ?1`,
      )
      .bind(org.project.id, versionId, numbers)
      .run()
    for (const state of ['', '&state=live']) {
      const first = await listOf(org, state)
      expect(first.problems).toHaveLength(MAX_LISTED_CANDIDATES)
      const second = await listOf(org, `${state}&cursor=${first.nextCursor}`)
      expect([second.problems.length, second.nextCursor]).toEqual([2, null])
    }
    expect(await listOf(org, '&state=fixing')).toMatchObject({ problems: [] })
    // Once the prompt is deleted, there's neither a candidate nor a case.
    await org.owner.delete(`/api/prompts/${promptId}`)
    expect(await problemsOf(org, '&limit=200')).toEqual([])
  })

  it('reads at most one row per problem and day in two ranges, and the newest cases', async ({ expect }) => {
    const { org, id } = await newReviewed('Yes')
    const row = await keysOf(id)
    const [days, problems, cases] = [60, 3, 2000]
    const today = Math.floor(Date.now() / DAY_MS)
    const ofTrace = 'from traces cross join json_each(?2) as item where traces.key = ?1'
    const numbers = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => index))
    await stored.batch([
      stored
        .prepare(
          `insert into problem_days select project_key, ${today} - item.value / ${problems}, 'step', 'type_' || (item.value % ${problems}), '', 100, 0, 0, 0 ${ofTrace}`,
        )
        .bind(row?.key, numbers(days * problems)),
      stored
        .prepare(
          `insert into problem_cases select traces.key, 'span-' || item.value, project_key, 'step', 'type_' || (item.value % ${problems}), '', 0, ${Date.now()} - item.value ${ofTrace}`,
        )
        .bind(row?.key, numbers(cases)),
    ])
    const list = (bindings: Env) => org.bearer(bindings).get(LIST)
    expect((await list(env)).body.problems).toHaveLength(problems)
    // The first request stored the problems' ids. Each case reads its trace and looks for its span.
    // The rows are read again to group them.
    const most = 2 * days * problems + problems * (3 * MAX_PROBLEM_EXAMPLES + 10) + 30
    expect(await rowsReadBy(list)).toBeLessThan(most)
  })
})
