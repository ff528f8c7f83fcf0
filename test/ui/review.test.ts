import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { newOrganization, type Organization } from './organization.ts'
import { answer, answered, OUTPUT_SCHEMA, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/** Creates an organization that has two reviewers and a queue of spans, oldest first. */
async function withQueue(length: number) {
  const organization = await newOrganization()
  const { project, make, post } = organization
  await make('/api/prompts', {
    projectSlug: project.slug,
    stepId: STEP,
    content: 'Answer.',
    outputSchema: OUTPUT_SCHEMA,
  })
  const samples = Array.from({ length }, (_, index) => answered(index))
  await post(samples.flatMap(({ events }) => events))
  const spanIds = samples.map(({ span_id }) => span_id)
  return { organization, spanIds, ada: await organization.reviewer('Ada'), kofi: await organization.reviewer('Kofi') }
}

const Span = v.object({
  output: v.unknown(),
  approvedOutput: v.unknown(),
  review: v.object({ state: v.string(), by: v.nullable(v.string()) }),
})

const spanOf = async (organization: Organization, spanId: string | undefined) =>
  v.parse(Span, await organization.call('GET', `/api/spans/${spanId}`))

const stateOf = async (organization: Organization, spanId: string | undefined) =>
  (await spanOf(organization, spanId)).review.state

const Queue = v.object({ spans: v.array(v.object({ id: v.string() })) })

/** The first span in the queue that isn't claimed by another user. */
const firstFree = async (organization: Organization, key: string) =>
  v.parse(
    Queue,
    await organization.call('GET', `/api/review-queue?projectSlug=${organization.project.slug}`, undefined, key),
  ).spans[0]?.id

const output = (page: Page) => page.getByRole('region', { name: 'Output', exact: true })

const showsItem = (page: Page, index: number) => expect(output(page)).toContainText(answer(index).answer)

/** Presses a key, and expects the next item to appear before any of the page's API calls gets a response. */
async function showsNextAtOnce(page: Page, key: string, index: number): Promise<void> {
  const { promise: shown, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/api/**', async route => {
    await shown
    await route.continue()
  })
  await page.keyboard.press(key)
  await showsItem(page, index)
  release()
  await page.unrouteAll({ behavior: 'wait' })
}

test('filters the queue from the keyboard, and goes back to its first item', async ({ page, context }) => {
  const { organization, ada } = await withQueue(3)
  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)
  await page.keyboard.press('j')
  await showsItem(page, 1)
  const filters = page.getByRole('search', { name: 'Filters' })
  await filters.getByRole('button', { name: 'Order' }).click()
  await page.getByRole('combobox', { name: 'Order' }).fill('newest')
  await page.keyboard.press('Enter')
  await showsItem(page, 2)
  await expect(page).toHaveURL(/order=newest/)
  await filters.getByRole('button', { name: 'Step' }).click()
  // The field suggests the prompt's step.
  const step = page.getByRole('combobox', { name: 'Step' })
  await expect(step).toBeFocused()
  await expect(page.locator('datalist option')).toHaveAttribute('value', STEP)
  await expect(page.getByRole('button', { name: 'Apply' })).toBeDisabled()
  await step.fill('another-step')
  await page.keyboard.press('Enter')
  await expect(page.getByText('No outputs match these filters')).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).last().click()
  await showsItem(page, 0)
  await page.keyboard.press('f')
  await page.getByRole('combobox', { name: 'Filter by' }).fill('name')
  await page.keyboard.press('Enter')
  await page.getByRole('textbox', { name: 'Trace name' }).fill('other')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/[?&]name=other/)
  await filters.getByRole('button', { name: 'Remove filter: Trace name' }).click()
  await showsItem(page, 0)
  await page.keyboard.press('j')
  await showsItem(page, 1)
})

test('a reviewer decides on ten items from the keyboard, and the next item always appears before the response arrives', async ({
  page,
  context,
}) => {
  const { organization, spanIds, ada } = await withQueue(12)
  const { keyboard } = page
  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)

  await keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toContainText('Accept the output')
  await keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)

  for (let index = 0; index < 4; index++) await showsNextAtOnce(page, 'a', index + 1)
  // Undo the decision, and decide again.
  await keyboard.press('u')
  await showsItem(page, 3)
  await expect.poll(() => stateOf(organization, spanIds[3])).toBe('unreviewed')
  await showsNextAtOnce(page, 'a', 4)

  await keyboard.press('e')
  const edit = page.getByRole('region', { name: 'Edit', exact: true })
  await expect(edit.getByLabel('answer')).toBeFocused()
  await keyboard.press('ControlOrMeta+a')
  await keyboard.type('It lasts 24 months.')
  await expect(page.getByRole('region', { name: 'Changes', exact: true })).toContainText('It lasts 24 months.')
  await showsNextAtOnce(page, 'ControlOrMeta+Enter', 5)

  await keyboard.press('c')
  await expect(page.getByLabel('Comment', { exact: true })).toBeFocused()
  await keyboard.type('as in the letter of the law')
  await keyboard.press('ControlOrMeta+Enter')
  await expect(page.getByRole('region', { name: 'Feedback', exact: true })).toContainText('as in the letter of the law')
  await showsItem(page, 5)
  await showsNextAtOnce(page, 'a', 6)

  await showsNextAtOnce(page, 's', 7)
  await showsNextAtOnce(page, 'k', 6)
  await showsNextAtOnce(page, 'j', 7)
  for (let index = 7; index < 11; index++) await showsNextAtOnce(page, 'a', index + 1)
  await expect(page.getByText('2 to review')).toBeVisible()

  await expect
    .poll(() => Promise.all(spanIds.map(id => stateOf(organization, id))))
    .toEqual([
      ...Array.from({ length: 4 }, () => 'accepted'),
      'corrected',
      'accepted',
      'unreviewed',
      ...Array.from({ length: 4 }, () => 'accepted'),
      'unreviewed',
    ])
  const corrected = await spanOf(organization, spanIds[4])
  expect(corrected).toMatchObject({
    approvedOutput: { answer: 'It lasts 24 months.', months: 4 },
    review: { by: ada.id },
  })
})

test('a decision right after an undo is saved, even if the undone decision is still being sent', async ({
  page,
  context,
}) => {
  const { organization, spanIds, ada } = await withQueue(3)
  const sent: unknown[] = []
  const first = Promise.withResolvers<void>()
  await page.route('**/api/spans/*/review', async route => {
    sent.push(route.request().postDataJSON().decision)
    if (sent.length === 1) await first.promise
    await route.continue()
  })
  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)
  await page.keyboard.press('a')
  await showsItem(page, 1)
  await page.keyboard.press('u')
  await showsItem(page, 0)
  await page.keyboard.press('a')
  await showsItem(page, 1)
  first.resolve()
  await expect.poll(() => sent).toEqual(['accept', 'reset', 'accept'])
  await expect.poll(() => stateOf(organization, spanIds[0])).toBe('accepted')
})

test('a held key or a double-click records only one decision', async ({ page, context }) => {
  const { organization, spanIds, ada } = await withQueue(6)
  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)
  const accept = page.getByRole('button', { name: 'Accept' })
  await expect(accept).toBeEnabled()
  await accept.focus()
  for (const key of ['Enter', 'a']) {
    for (let times = 0; times < 5; times++) await page.keyboard.down(key)
    await page.keyboard.up(key)
  }
  await showsItem(page, 2)
  await accept.dblclick()
  await showsItem(page, 3)
  await expect
    .poll(() => Promise.all(spanIds.map(id => stateOf(organization, id))))
    .toEqual(['accepted', 'accepted', 'accepted', 'unreviewed', 'unreviewed', 'unreviewed'])
})

test('a comment appears even if the feedback was still loading when the comment was posted', async ({
  page,
  context,
}) => {
  const { organization, ada } = await withQueue(1)
  await signIn(context, ada.key)
  const { promise: posted, resolve: release } = Promise.withResolvers<void>()
  // The first response doesn't include the comment, but arrives after the comment is posted.
  await page.route(
    /\/api\/traces\//,
    async route => {
      const response = await route.fetch()
      await posted
      await route.fulfill({ response }).catch(() => undefined)
    },
    { times: 1 },
  )
  const loading = page.waitForRequest(/\/api\/traces\//)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)
  await loading
  await page.keyboard.press('c')
  await expect(page.getByLabel('Comment', { exact: true })).toBeFocused()
  await page.keyboard.type('It is 24 months.')
  await page.keyboard.press('ControlOrMeta+Enter')
  await expect(page.getByText('Comment posted')).toBeVisible()
  release()
  await expect(page.getByRole('region', { name: 'Feedback', exact: true })).toContainText('It is 24 months.')
})

test('a draft survives a reload, and becomes a decision only when submitted', async ({ page, context }) => {
  const { organization, spanIds, ada } = await withQueue(2)
  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await showsItem(page, 0)
  await page.keyboard.press('e')
  await page.getByRole('region', { name: 'Edit', exact: true }).getByLabel('answer').fill('Half of a senten')
  await page.getByLabel('Reason').fill('Because')
  await page.reload()

  await expect(page.getByRole('region', { name: 'Edit', exact: true }).getByLabel('answer')).toHaveValue(
    'Half of a senten',
  )
  await expect(page.getByLabel('Reason')).toHaveValue('Because')
  expect(await stateOf(organization, spanIds[0])).toBe('unreviewed')

  await page.getByRole('region', { name: 'Edit', exact: true }).getByLabel('answer').fill('A whole sentence.')
  await page.keyboard.press('ControlOrMeta+Enter')
  await showsItem(page, 1)
  await expect
    .poll(() => spanOf(organization, spanIds[0]))
    .toMatchObject({ approvedOutput: { answer: 'A whole sentence.', months: 0 } })
  await page.keyboard.press('k')
  await expect(page.getByLabel('Reason')).toHaveValue('')
})

test("two reviewers of one item see each other's decisions and lose no text", async ({
  page,
  context,
  anotherBrowser,
}) => {
  const { organization, spanIds, ada, kofi } = await withQueue(8)
  const address = `/review?project=${organization.project.slug}`
  const other = await anotherBrowser(kofi.key)
  await other.goto(address)
  // Kofi looks at the first items and moves on, which releases them.
  for (let index = 0; index < 4; index++) {
    await showsItem(other, index)
    await other.keyboard.press('j')
  }
  await showsItem(other, 4)
  await expect.poll(() => firstFree(organization, ada.key)).toBe(spanIds[0])

  await signIn(context, ada.key)
  await page.goto(address)
  await showsItem(page, 0)
  await page.keyboard.press('e')
  const edit = page.getByRole('region', { name: 'Edit', exact: true })
  await edit.getByLabel('answer').fill('What Ada wrote.')

  for (let index = 4; index > 0; index--) {
    await showsItem(other, index)
    await other.keyboard.press('k')
  }
  await showsItem(other, 0)
  await expect(other.getByText('Another reviewer has this item')).toBeVisible()
  await expect(other.getByRole('button', { name: 'Accept' })).toBeDisabled()
  // Release Ada's claim, as if it had expired.
  await organization.call('POST', '/api/review-queue/release', { spanIds }, ada.key)
  await other.getByRole('button', { name: 'Try again' }).click()
  await expect(other.getByRole('button', { name: 'Accept' })).toBeEnabled()
  await other.keyboard.press('a')
  await expect.poll(() => stateOf(organization, spanIds[0])).toBe('accepted')

  await page.keyboard.press('ControlOrMeta+Enter')
  const notice = page.getByRole('alert').filter({ hasText: "Couldn't save" })
  await expect(notice).toContainText('someone else changed it')
  await notice.getByRole('button', { name: 'Open' }).click()
  const conflict = page.getByRole('alert').filter({ hasText: 'This item has changed' })
  await expect(conflict).toContainText('Kofi accepted this')
  await expect(conflict).toContainText('Your draft is still here')
  await expect(conflict).toContainText('What Ada wrote.')
  expect(await stateOf(organization, spanIds[0])).toBe('accepted')

  await conflict.getByRole('button', { name: 'Decide again' }).click()
  await expect(edit.getByLabel('answer')).toHaveValue('What Ada wrote.')
  await page.keyboard.press('ControlOrMeta+Enter')
  await expect
    .poll(() => spanOf(organization, spanIds[0]))
    .toMatchObject({
      approvedOutput: { answer: 'What Ada wrote.', months: 0 },
      review: { state: 'corrected', by: ada.id },
    })
})

test('a reviewer has to take over an item that someone else holds before deciding on it', async ({ page, context }) => {
  const { organization, spanIds, ada, kofi } = await withQueue(2)
  await organization.call('POST', '/api/review-queue/claim', { spanIds }, ada.key)
  await signIn(context, kofi.key)
  // This is the link on the trace's page.
  await page.goto(`/review?project=${organization.project.slug}&span=${spanIds[0]}`)
  await expect(page.getByText('Another reviewer has this item')).toBeVisible()
  const accept = page.getByRole('button', { name: 'Accept' })
  await expect(accept).toBeDisabled()
  await page.getByRole('button', { name: 'Take over' }).click()
  await expect(accept).toBeEnabled()
  await page.keyboard.press('a')
  await expect.poll(() => stateOf(organization, spanIds[0])).toBe('accepted')
  expect((await spanOf(organization, spanIds[0])).review.by).toBe(kofi.id)
})
