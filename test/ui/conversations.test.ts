import { randomUUID } from 'node:crypto'
import { type Event, newOrganization, type Organization } from './organization.ts'
import { time } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const TURNS = 25
const LONG = `${'A long explanation. '.repeat(300)}The end.`

let organization: Organization

/** A trace with a question and an answer. */
function turn(index: number, group_id: string, output: unknown): Event[] {
  const trace_id = `trace_chat_${index}`
  const about = { trace_id, timestamp: time(index * 1_000) }
  return [
    {
      type: 'trace',
      body: { ...about, name: 'support-chat', status: 'completed', metadata: { group_id, user: { id: 'noor' } } },
    },
    {
      type: 'observation',
      body: {
        ...about,
        type: 'input',
        data: {
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: `Question ${index}` },
          ],
        },
      },
    },
    { type: 'observation', body: { ...about, type: 'output', data: output } },
  ]
}

test.beforeAll(async () => {
  organization = await newOrganization()
  const { post } = organization
  await post(Array.from({ length: TURNS }, (_, index) => turn(index, 'chat-1', `Answer ${index}`)).flat())
  await post([
    ...turn(100, 'chat/2 & more', LONG),
    {
      type: 'feedback',
      body: { feedback_id: randomUUID(), trace_id: 'trace_chat_1', rating: 'negative', comment: 'Not helpful.' },
    },
  ])
})

test.beforeEach(({ context }) => signIn(context, organization.ownerKey))

test('a conversation reads from top to bottom, and each turn links to its trace', async ({ page }) => {
  await page.goto(`/traces?project=${organization.project.slug}`)
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('checkbox', { name: 'Metadata' }).check()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'group_id=chat-1' }).first().click()
  await expect(page.getByRole('heading', { level: 1, name: 'chat-1' })).toBeVisible()
  await page.goBack()
  await page.getByRole('navigation', { name: 'Lists' }).getByRole('link', { name: 'Conversations' }).click()
  const table = page.getByRole('table', { name: 'Conversations' })
  await expect(table.getByRole('row')).toHaveCount(3)
  const row = table.getByRole('row').filter({ hasText: 'chat-1' })
  await expect(row.getByRole('cell').nth(1)).toContainText(String(TURNS))
  await expect(row.getByRole('cell').nth(2)).toContainText('1')
  await row.getByRole('link', { name: 'chat-1' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'chat-1' })).toBeVisible()
  const turns = page.getByRole('list', { name: 'Turns' }).getByRole('article')
  await expect(turns.first()).toContainText('Question 0')
  await expect(turns.first()).not.toContainText('Be brief.')
  await expect(turns.first()).toContainText('Answer 0')
  await expect(turns.nth(1)).toContainText('Not helpful.')
  await turns.last().scrollIntoViewIfNeeded()
  await expect(turns).toHaveCount(TURNS)
  await expect(turns.last()).toContainText(`Answer ${TURNS - 1}`)
  await page.getByText('Newest first').click()
  await expect(turns.first()).toContainText(`Answer ${TURNS - 1}`)
  await turns.first().getByRole('link', { name: 'support-chat' }).click()
  await expect(page).toHaveURL(/\/traces\/[0-9a-f-]+\?/)
  await page.getByRole('link', { name: 'group_id=chat-1' }).click()
  await expect(page).toHaveURL(/\/traces\/conversations\/read\?.*value=chat-1/)
})

test('long values are collapsed at first', async ({ page }) => {
  await page.goto(`/traces/conversations?project=${organization.project.slug}`)
  await page.getByRole('link', { name: 'chat/2 & more' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'chat/2 & more' })).toBeVisible()
  await expect(page.getByText('A long explanation.')).toBeVisible()
  await expect(page.getByText('The end.')).toBeHidden()
  await page.getByRole('button', { name: /^Show all 6,008 characters$/ }).click()
  await expect(page.getByText('The end.')).toBeVisible()
})

test('traces can be grouped by any metadata field', async ({ page }) => {
  await page.goto(`/traces/conversations?project=${organization.project.slug}`)
  const field = page.getByRole('combobox', { name: 'Group by metadata' })
  await field.fill('user')
  await page.getByRole('option', { name: 'user.id' }).click()
  await expect(page).toHaveURL(/key=user\.id/)
  const row = page.getByRole('table', { name: 'Conversations' }).getByRole('row').nth(1)
  await expect(row).toContainText('noor')
  await row.getByRole('link', { name: 'noor' }).click()
  await expect(page.getByRole('list', { name: 'Turns' }).getByRole('article').first()).toContainText('Question 0')
  await page.goto(`/traces/conversations?project=${organization.project.slug}&key=nothing`)
  await expect(page.getByRole('heading', { name: 'No traces have nothing in their metadata' })).toBeVisible()
})
