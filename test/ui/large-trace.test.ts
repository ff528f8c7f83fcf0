import { randomUUID } from 'node:crypto'
import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { newOrganization } from './organization.ts'
import { time } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const SPANS = 10_000
/** The maximum number of spans in a response. */
const MAX_SPANS = 20_000
const MAX_OPENING_MS = 1_000
const ATTEMPTS = 5
const MAX_LINES = 200

const Traces = v.object({ traces: v.tuple([v.object({ id: v.string(), spanCount: v.number() })]) })

/** A project that has one trace with many spans, each with five children. */
async function withLargeTrace(spanTotal: number) {
  const organization = await newOrganization()
  const trace_id = 'trace_large'
  const ids = Array.from({ length: spanTotal - 1 }, () => randomUUID())
  const trace = { trace_id, name: 'large', timestamp: time(0), status: 'completed', duration_ms: spanTotal * 5 }
  await organization.post([
    { type: 'trace', body: trace },
    ...ids.map((span_id, index) => ({
      type: 'span' as const,
      body: {
        trace_id,
        span_id,
        step_id: `step-${index}`,
        ...(index > 0 && { parent_span_id: ids[Math.floor((index - 1) / 5)] }),
        input: { question: index },
        output: { answer: `Answer ${index}` },
        timestamp: time(index * 5),
        duration_ms: 20,
      },
    })),
  ])
  const listed = await organization.call('GET', `/api/traces?projectSlug=${organization.project.slug}`)
  const {
    traces: [{ id, spanCount }],
  } = v.parse(Traces, listed)
  expect(spanCount).toBe(spanTotal)
  return { organization, id, lastSpan: ids.at(-1) ?? '' }
}

const spans = (page: Page) => page.getByRole('tree', { name: 'Spans' })

const lineCount = (page: Page) => spans(page).getByRole('treeitem').count()

/** Opens the trace from the list, and measures in the page how long its spans take to appear, in milliseconds. */
async function timeToOpen(page: Page): Promise<number> {
  const row = page.getByRole('table', { name: 'Traces' }).getByRole('link', { name: 'large' })
  await row.waitFor()
  const opened = await page.evaluateHandle(() => ({
    after: new Promise<number>(resolve => {
      let clickedAt = Number.POSITIVE_INFINITY
      addEventListener('click', ({ timeStamp }) => (clickedAt = timeStamp), { capture: true, once: true })
      const observer = new MutationObserver(() => {
        if (!document.querySelector('[role="treeitem"]')) return
        observer.disconnect()
        // Wait until the browser has painted them.
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - clickedAt)))
      })
      observer.observe(document.body, { subtree: true, childList: true })
    }),
  }))
  await row.click()
  return opened.evaluate(({ after }) => after)
}

test('a trace with 10,000 spans opens in a second, and scrolls without all of them in the page', async ({
  page,
  context,
}) => {
  const { organization } = await withLargeTrace(SPANS)
  await signIn(context, organization.key)
  const times: number[] = []
  // Other load on the machine can only make it slower, so the fastest attempt is measured.
  while (times.length < ATTEMPTS && !times.some(duration => duration < MAX_OPENING_MS)) {
    await page.goto(`/traces?project=${organization.project.slug}`)
    times.push(await timeToOpen(page))
  }
  expect(Math.min(...times), times.join()).toBeLessThan(MAX_OPENING_MS)
  await expect(page.getByRole('region', { name: 'Spans' }).getByRole('status')).toHaveText('10,000 spans')
  expect(await lineCount(page)).toBeLessThan(MAX_LINES)

  // Go to the end of the tree, scroll to the middle with the wheel, and search for a step.
  await spans(page).focus()
  await page.keyboard.press('End')
  await expect(spans(page).getByRole('treeitem', { selected: true })).toBeInViewport()
  expect(await spans(page).evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(100_000)
  expect(await lineCount(page)).toBeLessThan(MAX_LINES)
  await spans(page).hover()
  for (let turns = 0; turns < 20; turns++) await page.mouse.wheel(0, -2_000)
  await expect(spans(page).getByRole('treeitem').first()).toBeAttached()
  expect(await lineCount(page)).toBeLessThan(MAX_LINES)
  await page.getByRole('textbox', { name: 'Find steps' }).fill('step-7777')
  await spans(page).getByRole('treeitem').filter({ hasText: 'step-7777' }).click()
  await expect(page.getByText('Answer 7777')).toBeVisible()
  expect(await lineCount(page)).toBeLessThan(MAX_LINES)
})

test('a trace with too many spans for one response shows how many are loaded, and loads more at the end of the list', async ({
  page,
  context,
}) => {
  const { organization, id, lastSpan } = await withLargeTrace(MAX_SPANS + 50)
  await signIn(context, organization.key)
  await page.goto(`/traces/${id}`)
  const list = page.getByRole('region', { name: 'Spans' })
  await expect(list.getByText('The first 20,000 of 20,050 spans')).toBeVisible()
  await spans(page).focus()
  await page.keyboard.press('End')
  await expect(list.getByRole('status')).toHaveText('20,050 spans')
  await expect(list.getByRole('button', { name: 'Load more' })).toBeHidden()
  expect(await lineCount(page)).toBeLessThan(MAX_LINES)

  // Open a link to a span that the first response doesn't include.
  await page.goto(`/traces/${id}?span=${lastSpan}`)
  await expect(page.getByText(`Answer ${MAX_SPANS + 48}`)).toBeVisible()
})
