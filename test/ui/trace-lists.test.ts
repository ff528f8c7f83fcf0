import { readFile } from 'node:fs/promises'
import type { Download, Page } from '@playwright/test'
import { newOrganization, type Organization } from './organization.ts'
import { answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization

test.beforeEach(async ({ context }) => {
  organization = await newOrganization()
  await organization.post(Array.from({ length: 8 }, (_, index) => answered(index).events).flat())
  await signIn(context, organization.ownerKey)
})

const open = (page: Page) => page.goto(`/traces?project=${organization.project.slug}`)
const select = (page: Page, index: number) => page.getByRole('checkbox', { name: `Select trace_sample_${index}` })
const rows = (page: Page) => page.getByRole('table', { name: 'Traces' }).getByRole('row')
const textOf = async (download: Download) => readFile(await download.path(), 'utf8')

test('selected traces are deleted after a confirmation that says how many there are', async ({ page }) => {
  await open(page)
  await expect(rows(page)).toHaveCount(9)
  await select(page, 6).check()
  await select(page, 3).click({ modifiers: ['Shift'] })
  await select(page, 4).uncheck()
  await expect(page.getByRole('checkbox', { name: 'Select all loaded traces' })).not.toBeChecked()
  // A click on a checkbox doesn't open the trace.
  await expect(page).toHaveURL(/\/traces\?/)
  await page.getByRole('button', { name: 'Delete 3 traces' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete 3 traces?' })
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await expect(page.getByText('3 traces deleted.')).toBeVisible()
  await expect(dialog).toBeHidden()
  await expect(rows(page)).toHaveCount(6)
  await expect(select(page, 4)).toBeVisible()
  await page.reload()
  await expect(rows(page)).toHaveCount(6)
  await page.getByRole('checkbox', { name: 'Select all loaded traces' }).check()
  await expect(page.getByRole('button', { name: 'Delete 5 traces' })).toBeVisible()
  await page.getByRole('checkbox', { name: 'Select all loaded traces' }).uncheck()
  await expect(page.getByRole('button', { name: /^Delete/ })).toBeHidden()
})

test('more traces than one call accepts are deleted in several calls', async ({ page }) => {
  await page.route('**/api/traces?*', async route => {
    const response = await route.fetch()
    const { traces, ...rest } = await response.json()
    const many = Array.from({ length: 201 }, (_, index) => ({
      ...traces[0],
      id: `${index}`.padStart(8, '0') + traces[0].id.slice(8),
      traceId: `trace_many_${index}`,
    }))
    await route.fulfill({ response, json: { ...rest, traces: many } })
  })
  const parts: number[] = []
  await page.route('**/api/traces/delete', async route => {
    const { ids } = route.request().postDataJSON()
    parts.push(ids.length)
    const result = parts.length === 1 ? { status: 200, body: {} } : { status: 503, body: { error: 'Try again later' } }
    await route.fulfill({ status: 207, json: { results: ids.map(() => result) } })
  })
  await open(page)
  await expect(page.getByRole('checkbox', { name: 'Select trace_many_0', exact: true })).toBeVisible()
  await page.getByRole('checkbox', { name: 'Select all loaded traces' }).check()
  await page.getByRole('button', { name: 'Delete 201 traces' }).click()
  await page.getByRole('dialog', { name: 'Delete 201 traces?' }).getByRole('button', { name: 'Delete' }).click()
  await expect(page.getByText('200 traces deleted.')).toBeVisible()
  const dialog = page.getByRole('dialog', { name: 'Delete 1 trace?' })
  await expect(dialog.getByRole('alert')).toContainText("Couldn't delete 1 trace")
  await expect(dialog.getByRole('alert')).toContainText('trace_many_200')
  expect(parts).toEqual([200, 1])
})

test('traces that could not be deleted are listed and stay selected', async ({ page }) => {
  await page.route('**/api/traces/delete', async route => {
    const [, gone, ...rest] = route.request().postDataJSON().ids
    // Someone else deletes one of them first.
    await organization.call('DELETE', `/api/traces/${gone}`)
    const response = await route.fetch({ postData: { ids: [gone, ...rest] } })
    const { results } = await response.json()
    expect(results.map(({ status }: { status: number }) => status)).toEqual([404, 200])
    await route.fulfill({
      response,
      json: { results: [{ status: 503, body: { error: 'Try again later' } }, ...results] },
    })
  })
  await open(page)
  for (const index of [7, 6, 5]) await select(page, index).check()
  await page.getByRole('button', { name: 'Delete 3 traces' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete 1 trace?' })
  await expect(dialog.getByRole('alert')).toContainText("Couldn't delete 1 trace")
  await expect(dialog.getByRole('alert')).toContainText('trace_sample_7: Try again later')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(select(page, 7)).toBeChecked()
  await expect(rows(page)).toHaveCount(7)
})

test('only owners can select traces', async ({ page, context }) => {
  await signIn(context, (await organization.reviewer('Ada')).key)
  await open(page)
  await expect(rows(page)).toHaveCount(9)
  await expect(page.getByRole('checkbox', { name: /^Select/ })).toHaveCount(0)
})

test('the filtered traces are exported as JSONL or CSV, in parts', async ({ page }) => {
  await page.goto(`/traces?project=${organization.project.slug}&metadata.customer.tier=gold`)
  await page.getByRole('button', { name: 'Export' }).click()
  const dialog = page.getByRole('dialog', { name: 'Export traces' })
  const [jsonl] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Download' }).click(),
  ])
  expect(jsonl.suggestedFilename()).toBe('support-traces.jsonl')
  const lines = (await textOf(jsonl)).trim().split('\n')
  expect(lines).toHaveLength(5)
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ end: true, items: 4 })
  await expect(dialog).toBeHidden()

  let parts = 0
  await page.route('**/api/traces/export?*', async route => {
    const { searchParams } = new URL(route.request().url())
    expect(searchParams.get('format')).toBe('csv')
    expect(searchParams.get('metadata.customer.tier')).toBe('gold')
    expect(searchParams.get('cursor')).toBe(parts === 0 ? null : 'next')
    const headers = { 'content-type': 'text/csv', ...(parts++ === 0 && { 'x-next-cursor': 'next' }) }
    await route.fulfill({ headers, body: `part ${parts}` })
  })
  await page.getByRole('button', { name: 'Export' }).click()
  await dialog.getByRole('combobox', { name: 'Format' }).click()
  await page.getByRole('option', { name: /^CSV/ }).click()
  const names = []
  for (const act of ['Download', 'Download part 2']) {
    const button = dialog.getByRole('button', { name: act, exact: true })
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
    names.push(download.suggestedFilename())
    expect(await textOf(download)).toBe(`part ${names.length}`)
    if (names.length === 1) await expect(dialog.getByRole('status')).toHaveText('1 part saved. There are more traces.')
  }
  expect(names).toEqual(['support-traces-part-1.csv', 'support-traces-part-2.csv'])
  await expect(dialog).toBeHidden()
})

test("an export of spans uses the page's filters", async ({ page }) => {
  await page.goto(`/spans?project=${organization.project.slug}&stepId=${STEP}&review=unreviewed`)
  await page.getByRole('button', { name: 'Export' }).click()
  const dialog = page.getByRole('dialog', { name: 'Export spans' })
  const [jsonl] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Download' }).click(),
  ])
  expect(jsonl.suggestedFilename()).toBe('support-spans.jsonl')
  const lines = (await textOf(jsonl)).trim().split('\n')
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ end: true, items: 8 })
  expect(lines.slice(0, -1).map(line => JSON.parse(line).stepId)).toEqual(Array.from({ length: 8 }, () => STEP))
  await expect(dialog).toBeHidden()
})
