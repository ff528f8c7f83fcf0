import type { Page } from '@playwright/test'
import { newOrganization } from './organization.ts'
import { answer, answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/** Creates an organization with spans to review, oldest first, and three people, one of whom is a manager. */
async function withQueue(length: number) {
  const organization = await newOrganization()
  const samples = Array.from({ length }, (_, index) => answered(index))
  await organization.post(samples.flatMap(({ events }) => events))
  const people = {
    grace: await organization.reviewer('Grace', ['read', 'review', 'manage']),
    ada: await organization.reviewer('Ada'),
    kofi: await organization.reviewer('Kofi'),
  }
  return { organization, spanIds: samples.map(({ span_id }) => span_id), ...people }
}

const output = (page: Page) => page.getByRole('region', { name: 'Output', exact: true })

const rowOf = (page: Page, name: string) =>
  page.getByRole('table', { name: 'People' }).getByRole('row').filter({ hasText: name })

test('a manager assigns outputs from the keyboard, and each person reviews their own outputs first', async ({
  page,
  context,
}) => {
  const { organization, spanIds, grace, ada, kofi } = await withQueue(5)
  await organization.call('POST', '/api/review-queue/assign', { spanIds: [spanIds[4]], userIds: [ada.id] })
  await signIn(context, grace.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  const open = page.getByRole('button', { name: 'Assign…' })
  await open.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Assign these outputs' })
  await expect(dialog.getByRole('button', { name: 'Assign', exact: true })).toBeDisabled()
  for (const name of ['Ada', 'Kofi']) {
    await dialog.getByRole('checkbox', { name }).focus()
    await page.keyboard.press('Space')
  }
  await expect(dialog.getByRole('status')).toContainText('4 outputs to assign.')
  await expect(dialog.getByText('+2')).toHaveCount(2)
  await dialog.getByLabel('Due on').fill('2020-01-31')
  await expect(dialog.getByRole('status')).toContainText('1 due date to change.')
  await page.keyboard.press('Enter')
  await expect(page.getByText('4 outputs assigned to 2 people.')).toBeVisible()
  await expect(dialog).toHaveCount(0)

  await page.getByRole('link', { name: 'Progress' }).click()
  await expect(rowOf(page, 'Ada').getByRole('cell')).toContainText(['Ada', '', '0', '3', '3', ''])
  await expect(rowOf(page, 'Kofi').getByRole('cell')).toContainText(['Kofi', '', '0', '2', '2', ''])

  await signIn(context, kofi.key)
  await page.goto(`/review?project=${organization.project.slug}`)
  await expect(page.getByText(/2 to review, 2 assigned to you/)).toBeVisible()
  await expect(page.getByRole('region', { name: 'Context' })).toContainText('Assigned to you, overdue since')
  await page.keyboard.press('a')
  await page.keyboard.press('a')
  await expect(page.getByText('All done. Nice work!')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Assign…' })).toHaveCount(0)
})

test('outputs are assigned from the list of spans, and moved to other people when somebody is away', async ({
  page,
  context,
}) => {
  const { organization, grace, ada } = await withQueue(3)
  await signIn(context, grace.key)
  await page.goto(`/spans?project=${organization.project.slug}&stepId=${STEP}`)
  const table = page.getByRole('table', { name: 'Spans' })
  const boxes = table.getByRole('checkbox')
  await boxes.first().click()
  await boxes.last().click({ modifiers: ['Shift'] })
  await page.getByRole('button', { name: 'Assign 3 outputs…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('checkbox', { name: 'Ada' }).check()
  await dialog.getByRole('button', { name: 'Assign', exact: true }).click()
  await expect(table.getByRole('cell').filter({ hasText: 'Ada' })).toHaveCount(3)
  await expect(page.getByText('3 outputs assigned to 1 person.')).toBeVisible()

  await page.goto(`/review/progress?project=${organization.project.slug}`)
  await page.getByRole('button', { name: "Reassign Ada's remaining outputs" }).click()
  await expect(dialog.getByRole('checkbox', { name: 'Ada' })).toHaveCount(0)
  await dialog.getByRole('checkbox', { name: 'Grace' }).check()
  await dialog.getByRole('checkbox', { name: 'Kofi' }).check()
  await dialog.getByRole('button', { name: 'Reassign', exact: true }).click()
  await expect(rowOf(page, 'Ada')).toHaveCount(0)
  await expect(rowOf(page, 'Grace')).toContainText('2')
  await rowOf(page, 'Grace').getByRole('link', { name: '2 open for Grace' }).click()
  await expect(page).toHaveURL(new RegExp(`assignee=${grace.id}`))
  await expect(table.getByRole('row')).toHaveCount(3)

  await signIn(context, ada.key)
  await page.goto(`/review?project=${organization.project.slug}&assignee=none`)
  await expect(page.getByText('No outputs match these filters')).toBeVisible()
  await page.goto(`/review?project=${organization.project.slug}&order=oldest`)
  await expect(output(page)).toContainText(answer(0).answer)
  await page.goto(`/spans?project=${organization.project.slug}`)
  await expect(table.getByRole('checkbox')).toHaveCount(0)
})
