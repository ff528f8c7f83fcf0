import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { expectAccessible } from './accessibility.ts'
import { CITED, type JudgedProject, judgedProject } from './judging.ts'
import { expectNoSidewaysScroll } from './layout.ts'
import { open } from './requests.ts'
import { expect, signIn, test } from './test.ts'

let judged: JudgedProject

test.beforeEach(async ({ context }) => {
  judged = await judgedProject()
  await signIn(context, judged.ownerKey)
})

const item = () => `/review?span=${judged.answerId}&project=${judged.project.slug}`

const Span = v.object({
  review: v.object({ state: v.string(), errorType: v.nullable(v.string()), comment: v.nullable(v.string()) }),
})

const reviewOf = async (spanId: string) => v.parse(Span, await judged.call('GET', `/api/spans/${spanId}`)).review

test('an item shows what its output is based on, and a citation links to its source', async ({ page }) => {
  await open(page, item())
  const context = page.getByRole('region', { name: 'Context', exact: true })
  const sources = context.getByRole('region', { name: 'Sources' }).getByRole('article')
  await expect(sources).toHaveCount(3)
  await expect(sources.first()).toContainText('Cited')
  await expect(sources.first()).toContainText('Points expire after 24 months without a purchase.')
  await expect(sources.first().getByRole('link', { name: 'retrieve' })).toHaveAttribute(
    'href',
    new RegExp(`span=${judged.retrieveId}`),
  )
  await expect(sources.nth(1)).toContainText('Show all')
  await page
    .getByRole('region', { name: 'Output', exact: true })
    .getByRole('button', { name: 'loyalty', exact: true })
    .click()
  await expect(sources.first()).toBeFocused()

  const doc = context.getByRole('region', { name: 'Knowledge doc loyalty', exact: true })
  await doc.getByText('Loyalty program').click()
  await expect(doc).toContainText(CITED.replaceAll('*', ''))
  await expect(doc).toContainText('Version 1')
  const prompt = context.getByRole('region', { name: 'Prompt', exact: true })
  await prompt.getByText('active at the time').click()
  await expect(prompt).toContainText('Answer only from the chunks.')
  await expect(prompt.getByRole('link', { name: 'Open this version' })).toHaveAttribute(
    'href',
    new RegExp(`/prompts/${judged.promptId}`),
  )
  await expectAccessible(page)
  await page.setViewportSize({ width: 390, height: 844 })
  await expectNoSidewaysScroll(page)
})

const Located = v.object({ trace: v.object({ id: v.string() }) })

test('on request, a trace shows what an output is based on, and citations in the output link to the sources', async ({
  page,
}) => {
  const span_id = randomUUID()
  const output =
    'Points expire after **24 months** [3]; see `loyalty` and [the loyalty page](https://example.com/loyalty).\n\n' +
    'A loyalty program has 1 rule.\n\nSources: loyalty'
  const { traceId: trace_id } = judged
  const body = { trace_id, span_id, step_id: 'summarize', output, timestamp: new Date().toISOString() }
  await judged.post([{ type: 'span', body }])
  const { trace } = v.parse(Located, await judged.call('GET', `/api/spans/${span_id}`))
  let requests = 0
  page.on('request', request => {
    if (request.url().endsWith('/sources')) requests++
  })
  await open(page, `/traces/${trace.id}?span=${span_id}&project=${judged.project.slug}`)
  const panel = page.getByRole('region', { name: 'Selected span' })
  const text = panel.getByRole('region', { name: 'output' })
  await expect(text).toContainText('Sources: loyalty')
  await expect(text.getByRole('button')).toHaveCount(0)
  expect(requests).toBe(0)

  await panel.getByRole('button', { name: 'What this output is based on', expanded: false }).click()
  const sources = panel.getByRole('region', { name: 'Sources' }).getByRole('article')
  await expect(sources.first()).toContainText('Cited')
  await expect(text.getByRole('button')).toHaveText(['3', 'loyalty', 'loyalty'])
  await expect(text.getByRole('link', { name: 'the loyalty page' })).toBeVisible()
  for (const name of ['3', 'loyalty']) {
    await text.getByRole('button', { name }).first().focus()
    await page.keyboard.press('Enter')
    await expect(sources.and(page.locator(':focus'))).toContainText('Points expire after 24 months')
  }
  await expectAccessible(page)
  await page.setViewportSize({ width: 390, height: 844 })
  await expectNoSidewaysScroll(page)
  await panel.getByRole('button', { name: 'What this output is based on', expanded: true }).click()
  await expect(sources).toHaveCount(0)
  await expect(text.getByRole('button')).toHaveCount(0)
})

test('a manager edits the guideline next to the item, and a reviewer can only read it', async ({
  page,
  anotherBrowser,
}) => {
  await open(page, item())
  const guideline = page.getByRole('region', { name: 'Guideline', exact: true })
  await expect(guideline).toContainText('Correct every period that the docs contradict.')
  await guideline.getByRole('button', { name: 'Edit guideline' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('Names count as **well**.')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(guideline).toContainText('Names count as well.')
  const { key } = await judged.reviewer('Kofi')
  const other = await anotherBrowser(key)
  await open(other, item())
  await expect(other.getByRole('region', { name: 'Guideline', exact: true })).toContainText('Names count as well.')
  await expect(other.getByRole('button', { name: 'Edit guideline' })).toHaveCount(0)
})

test('a reviewer can say what is wrong with an output without rewriting it, and this records no decision', async ({
  page,
}) => {
  await open(page, item())
  await expect(page.getByRole('button', { name: /^Accept/ })).toBeEnabled()
  await page.keyboard.press('w')
  const wrong = page.getByRole('region', { name: 'Wrong', exact: true })
  await expect(wrong.getByRole('button', { name: 'Post feedback' })).toBeDisabled()
  await expect(wrong.getByRole('button', { name: 'Post feedback' })).toHaveAccessibleDescription(
    'To post feedback, choose what went wrong or write a reason.',
  )
  const types = page.getByRole('region', { name: 'What went wrong?' })
  const name = (await types.getByRole('button').nth(1).textContent())?.replace(/^2\s*/, '') ?? ''
  await page.keyboard.press('2')
  await expect(types.getByRole('button', { pressed: true })).toHaveText(new RegExp(name))
  // Digits that are typed into a field are text, not shortcuts.
  await page.getByRole('textbox', { name: 'Reason' }).pressSequentially('It is 24 months, see 3')
  await expect(types.getByRole('button', { pressed: true })).toHaveText(new RegExp(name))
  await expectAccessible(page)
  await page.reload()
  await expect(wrong).toBeVisible()
  await expect(page.getByRole('textbox', { name: 'Reason' })).toHaveValue('It is 24 months, see 3')
  await wrong.getByRole('button', { name: 'Post feedback' }).click()
  await expect(page.getByText('Negative feedback posted')).toBeVisible()
  expect((await reviewOf(judged.answerId)).state).toBe('unreviewed')
  const list = v.parse(
    v.object({ traces: v.array(v.unknown()) }),
    await judged.call('GET', `/api/traces?projectSlug=${judged.project.slug}&rating=negative`),
  )
  expect(list.traces).toHaveLength(1)
  await open(page, item())
  await expect(page.getByRole('region', { name: 'Feedback' })).toContainText(`${name}: It is 24 months, see 3`)
  await expect(wrong).toHaveCount(0)
})

test('an output that is marked as wrong can be corrected, and the correction has the chosen error type', async ({
  page,
}) => {
  await open(page, item())
  await expect(page.getByRole('button', { name: /^Accept/ })).toBeEnabled()
  await page.keyboard.press('w')
  const types = page.getByRole('region', { name: 'What went wrong?' })
  await expect(types.getByRole('button').first()).toBeVisible()
  await page.keyboard.press('1')
  await expect(types.getByRole('button', { pressed: true })).toBeVisible()
  await page.keyboard.press('e')
  const changes = page.getByRole('region', { name: 'Changes' })
  await expect(changes).toContainText('You marked this output as wrong.')
  await expect(changes).not.toContainText('Saving accepts the output')
  // Saving the unchanged output would accept it.
  await page.keyboard.press('Control+Enter')
  await expect(page.getByRole('alert').filter({ hasText: 'You marked this output as wrong' })).toBeVisible()
  await page.getByRole('region', { name: 'Edit', exact: true }).getByLabel('answer').fill('After 24 months.')
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('Corrected. Press U to undo.')).toBeVisible()
  expect((await reviewOf(judged.answerId)).state).toBe('corrected')
  expect((await reviewOf(judged.answerId)).errorType).not.toBeNull()
})

test('the help lists the keys for wrong outputs', async ({ page }) => {
  await open(page, item())
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await expect(help).toContainText('Mark the output as wrong')
  await expect(help).toContainText('1-9')
})
