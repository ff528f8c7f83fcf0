import * as v from 'valibot'
import { expectAccessible } from './accessibility.ts'
import { answered, type SampleProject, STEP, sampleProject, time } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

const Span = v.object({ trace: v.object({ id: v.string() }) })

/** Ingests a trace, and returns the path of the page that shows its span. */
async function withSpan(index: number) {
  const { trace_id, span_id, events } = answered(index)
  await sample.post(events)
  const { trace } = v.parse(Span, await sample.call('GET', `/api/spans/${span_id}`))
  return { trace_id, span_id, path: `/traces/${trace.id}?span=${span_id}&project=${sample.project.slug}` }
}

test('marks the chosen tab of a trace that was opened from the list', async ({ page, context }) => {
  await signIn(context, sample.key)
  await page.goto(`/traces?project=${sample.project.slug}`)
  await page.getByRole('table', { name: 'Traces' }).getByRole('link').first().click()
  const tab = page.getByRole('region', { name: 'Selected span' }).getByRole('tab', { selected: true })
  await expect(tab).toHaveCSS('border-bottom-width', '2px')
  await expect(tab).toHaveCSS('border-bottom-style', 'solid')
})

test('the list, the tree, and the decision show that an output changed after its review', async ({ page, context }) => {
  const { trace_id, span_id, path } = await withSpan(20)
  await sample.call('PUT', `/api/spans/${span_id}/review`, { decision: 'accept' })
  const changed = { trace_id, span_id, step_id: STEP, output: { answer: 'Another one.' }, timestamp: time(20_010) }
  await sample.post([{ type: 'span', body: changed }])
  await signIn(context, sample.key)
  await page.goto(`/traces?project=${sample.project.slug}`)
  await expect(page.getByRole('table', { name: 'Traces' }).getByText('Unreviewed, output changed')).toHaveCount(1)

  await page.goto(path)
  const line = page.getByRole('treeitem', { selected: true })
  await expect(line.getByRole('img', { name: 'Output changed after review' })).toBeVisible()
  await expect(line.getByRole('img', { name: 'Accepted' })).toHaveCount(0)
  const chosen = page.getByRole('region', { name: 'Selected span' })
  await expect(chosen.getByText('Accepted, output changed')).toBeVisible()
  await chosen.getByRole('button', { name: 'Accept' }).click()
  await expect(chosen.getByText('Accepted', { exact: true })).toBeVisible()
  await expect(line.getByRole('img', { name: 'Accepted' })).toBeVisible()
})

test('a root with the same text as a step shows the step’s review, and passes decisions on to the step', async ({
  page,
  context,
}) => {
  const { trace_id, span_id, path } = await withSpan(23)
  const { output } = v.parse(v.object({ output: v.unknown() }), await sample.call('GET', `/api/spans/${span_id}`))
  await sample.post([
    { type: 'observation', body: { trace_id, type: 'output', data: output, timestamp: time(23_020) } },
  ])
  await signIn(context, sample.key)
  await page.goto(path)
  const tree = page.getByRole('treeitem')
  await tree.first().click()
  const chosen = page.getByRole('region', { name: 'Selected span' })
  await expect(chosen.getByText('has the same text')).toBeVisible()
  await expectAccessible(page)
  await chosen.getByRole('button', { name: 'Accept' }).click()
  await expect(chosen.getByText('Accepted', { exact: true })).toBeVisible()
  await expect(tree.first().getByRole('img', { name: `Accepted, reviewed in step ${STEP}` })).toBeVisible()
  await expect(tree.nth(1).getByRole('img', { name: 'Accepted', exact: true })).toBeVisible()
  await chosen.getByRole('link', { name: 'A step below' }).click()
  await expect(tree.nth(1)).toHaveAttribute('aria-selected', 'true')
  await chosen.getByRole('button', { name: 'Undo review' }).click()
  await expect(tree.first().getByRole('img', { name: 'Accepted' })).toHaveCount(0)
})

test('links to a span that is in another trace', async ({ page, context }) => {
  const [shown, linked] = [await withSpan(26), await withSpan(27)]
  await signIn(context, sample.key)
  await page.goto(shown.path.replace(shown.span_id, linked.span_id))
  const notice = page.getByRole('status').filter({ hasText: "The linked span isn't in this trace." })
  await notice.getByRole('link', { name: 'Open it in its trace' }).click()
  await expect(page).toHaveURL(url => url.pathname + url.search === linked.path)
  await expect(page.getByRole('treeitem', { selected: true })).toContainText(STEP)
  await expect(notice).toHaveCount(0)

  await page.goto(shown.path.replace(shown.span_id, crypto.randomUUID()))
  await expect(notice).toBeVisible()
  await expect(notice.getByRole('link')).toHaveCount(0)
})

test("shows a call's model, tokens, and cost, and the trace's totals", async ({ page, context }) => {
  const { trace_id, span_id, path } = await withSpan(22)
  const call = { model: 'gpt-4.1-mini', usage: { input_tokens: 1_400, output_tokens: 36 }, cost_usd: 0.00018 }
  const span = { trace_id, step_id: STEP, timestamp: time(22_010), ...call }
  await sample.post([
    { type: 'span', body: { ...span, span_id } },
    { type: 'span', body: { ...span, span_id: crypto.randomUUID(), usage: { input_tokens: 64 } } },
  ])
  await signIn(context, sample.key)
  await page.goto(path)
  const chosen = page.getByRole('region', { name: 'Selected span' })
  await expect(chosen.getByText('gpt-4.1-mini')).toBeVisible()
  await expect(chosen.getByTitle('1,400 input, 36 output')).toHaveText('1,436 tokens')
  await expect(chosen.getByText('$0.00018')).toBeVisible()
  const header = page.getByRole('banner').or(page.locator('main header')).filter({ hasText: 'tokens' })
  await expect(header.getByText('1,500 tokens')).toBeVisible()
  await expect(header.getByText('$0.00036')).toBeVisible()
  await expectAccessible(page)
  await page.goto(`/traces?project=${sample.project.slug}`)
  const row = page.getByRole('row').filter({ hasText: 'gpt-4.1-mini' })
  await expect(row.getByTitle('1,464 input, 36 output')).toHaveText('1,500')
  await expect(row.getByText('$0.00036')).toBeVisible()
})

test('on the trace page, a reviewer has to take over a span that someone else holds before deciding on it', async ({
  page,
  context,
}) => {
  const { span_id, path } = await withSpan(21)
  const kofi = await sample.reviewer('Kofi')
  await signIn(context, sample.key)
  // The other reviewer claims the span after the page has loaded.
  await page.goto(path)
  const chosen = page.getByRole('region', { name: 'Selected span' })
  await expect(chosen.getByRole('button', { name: 'Accept' })).toBeVisible()
  await sample.call('POST', '/api/review-queue/claim', { spanIds: [span_id] }, kofi.key)
  await chosen.getByRole('button', { name: 'Accept' }).click()
  const notice = chosen.getByRole('alert')
  await expect(notice).toContainText("Kofi is reviewing it. Your decision wasn't saved.")
  await expectAccessible(page)
  await notice.getByRole('button', { name: 'Take over' }).click()
  await expect(chosen.getByText('Accepted', { exact: true })).toBeVisible()
  await expect(notice).toBeHidden()
})

test('shows who is reviewing a span before anyone else decides on it', async ({ page, context }) => {
  const { span_id, path } = await withSpan(24)
  const tunde = await sample.reviewer('Tunde')
  const claim = () => sample.call('POST', '/api/review-queue/claim', { spanIds: [span_id] }, tunde.key)
  await claim()
  await signIn(context, sample.key)
  await page.clock.install()
  await page.goto(path)
  const chosen = page.getByRole('region', { name: 'Selected span' })
  const notice = chosen.getByRole('status').filter({ hasText: 'Tunde is reviewing this. The claim ends at' })
  const accept = chosen.getByRole('button', { name: 'Accept' })
  await expect(notice).toBeVisible()
  await expect(accept).toBeDisabled()
  await expectAccessible(page)

  await sample.call('POST', '/api/review-queue/release', { spanIds: [span_id] }, tunde.key)
  await page.clock.runFor(30_000)
  await expect(notice).toBeHidden()
  await expect(accept).toBeEnabled()

  await claim()
  await page.reload()
  await page.clock.runFor(15 * 60_000)
  // The claim has ended according to the browser's clock, although not according to the service's.
  await expect(notice).toBeHidden()
  await page.reload()
  await expect(accept).toBeEnabled()
})

test('a reviewer can decide on a span that they have claimed, and take over a span that someone else has claimed', async ({
  page,
  context,
}) => {
  const { span_id, path } = await withSpan(25)
  const [amina, yaw] = [await sample.reviewer('Amina'), await sample.reviewer('Yaw')]
  await sample.call('POST', '/api/review-queue/claim', { spanIds: [span_id] }, amina.key)
  await signIn(context, amina.key)
  await page.goto(path)
  const chosen = page.getByRole('region', { name: 'Selected span' })
  await expect(chosen.getByRole('button', { name: 'Accept' })).toBeEnabled()
  await expect(chosen.getByText('is reviewing this. The claim ends at')).toBeHidden()

  await signIn(context, yaw.key)
  await page.goto(path)
  await expect(chosen.getByRole('button', { name: 'Accept' })).toBeDisabled()
  await chosen.getByRole('button', { name: 'Take over' }).click()
  await expect(chosen.getByText('is reviewing this. The claim ends at')).toBeHidden()
  await chosen.getByRole('button', { name: 'Accept' }).click()
  await expect(chosen.getByText('Accepted', { exact: true })).toBeVisible()
})

test("a reviewer's error type is shown before the engine's, which stays visible", async ({ page, context }) => {
  await signIn(context, sample.key)
  await page.goto(`/traces/${sample.traceId}?project=${sample.project.slug}`)
  const attribution = page.getByRole('region', { name: 'Attribution' })
  await expect(attribution).toContainText('Hallucinated content · AI Error · set by a reviewer')
  await attribution.getByRole('button', { expanded: false }).click()
  await expect(attribution.getByRole('heading', { level: 3 }).first()).toContainText('Hallucinated content · Ada')
  await expect(attribution).toContainText("The engine's answer, overruled by the reviewer:")
  await expect(attribution.getByRole('heading', { name: "The engine's evidence" })).toBeVisible()
})

const Quality = v.object({
  errorTypes: v.array(
    v.object({
      errorType: v.string(),
      answered: v.number(),
      agreed: v.number(),
      interval: v.object({ low: v.number() }),
    }),
  ),
})
const History = v.object({
  attributions: v.array(
    v.variant('kind', [
      v.object({
        kind: v.literal('engine'),
        errorType: v.string(),
        errorTypeName: v.string(),
        confidence: v.number(),
        alternatives: v.array(v.object({ errorType: v.string(), confidence: v.number() })),
      }),
      v.object({ kind: v.literal('review') }),
    ]),
  ),
})

test("an engine's answer appears next to its track record, and no bar is longer than the record supports", async ({
  page,
  context,
}) => {
  const { attributions } = v.parse(History, await sample.call('GET', `/api/traces/${sample.traceId}/attributions`))
  const answer = attributions.findLast(past => past.kind === 'engine')
  if (!answer) throw new Error('There is no answer')
  const { errorTypes } = v.parse(
    Quality,
    await sample.call('GET', `/api/attribution-quality?projectSlug=${sample.project.slug}`),
  )
  await signIn(context, sample.key)
  await page.goto(`/traces/${sample.traceId}?project=${sample.project.slug}`)
  const attribution = page.getByRole('region', { name: 'Attribution' })
  await attribution.getByRole('button', { expanded: false }).click()
  const bars = attribution.getByRole('progressbar', { includeHidden: true })
  const candidates = [answer, ...answer.alternatives]
  await expect(bars).toHaveCount(candidates.length)
  expect(errorTypes.map(({ errorType }) => errorType)).toContain(answer.errorType)
  for (const [index, { errorType, confidence }] of candidates.entries()) {
    const record = errorTypes.find(each => each.errorType === errorType)
    const shown = Number(await bars.nth(index).getAttribute('aria-valuenow'))
    expect(shown).toBeCloseTo(100 * Math.min(confidence, record?.interval.low ?? 0), 6)
    await expect(attribution).toContainText(
      record ? `right in ${record.agreed} of ${record.answered}` : 'no track record',
    )
    await expect(attribution).toContainText(`${Math.round(100 * confidence)}% sure`)
  }
  await expectAccessible(page)
})
