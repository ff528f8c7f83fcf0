import { randomUUID } from 'node:crypto'
import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { newOrganization } from './organization.ts'
import { time } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const SPANS = 10_000
/** The maximum number of spans in a response. */
const MAX_SPANS = 20_000
/**
 * Opening a trace executes 27 code ranges per span. Searching all spans for each span would execute 10,000 more per
 * span.
 */
const MAX_RUNS_PER_SPAN = 100
const MAX_LINES = 200

const Traces = v.object({ traces: v.tuple([v.object({ id: v.string(), spanCount: v.number() })]) })

/** A project that has one trace with many spans. Each span has up to five children. */
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

/**
 * Opens the trace from the list. Counts the requests to the API, the lines that are ever added to the page, and how
 * often each part of the app's code runs. A callback or loop body that runs for each span counts once per span.
 */
async function workToOpen(page: Page) {
  const row = page.getByRole('table', { name: 'Traces' }).getByRole('link', { name: 'large' })
  await row.waitFor()
  const added = await page.evaluateHandle(() => {
    const counted = { lines: 0 }
    new MutationObserver(records => {
      for (const node of records.flatMap(({ addedNodes }) => [...addedNodes])) {
        if (!(node instanceof Element)) continue
        counted.lines += node.querySelectorAll('[role="treeitem"]').length + Number(node.role === 'treeitem')
      }
    }).observe(document.body, { subtree: true, childList: true })
    return counted
  })
  const requests: string[] = []
  page.on('request', request => requests.push(new URL(request.url()).pathname))
  await page.coverage.startJSCoverage({ resetOnNavigation: false })
  await row.click()
  await expect(spans(page).getByRole('treeitem').first()).toBeVisible()
  const scripts = await page.coverage.stopJSCoverage()
  const parts = scripts.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
  return {
    requests: requests.filter(path => path.startsWith('/api/')),
    lines: (await added.jsonValue()).lines,
    runs: parts.reduce((sum, { count }) => sum + count, 0),
  }
}

test('a trace with 10,000 spans opens with one request and linear work, and scrolls with only a few spans in the page', async ({
  page,
  context,
}) => {
  const { organization } = await withLargeTrace(SPANS)
  await signIn(context, organization.key)
  await page.goto(`/traces?project=${organization.project.slug}`)
  const { requests, lines, runs } = await workToOpen(page)
  expect(requests.filter(path => /^\/api\/traces\/[^/]+$/.test(path))).toHaveLength(1)
  expect(lines).toBeLessThan(MAX_LINES)
  expect(runs).toBeLessThan(SPANS * MAX_RUNS_PER_SPAN)
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
