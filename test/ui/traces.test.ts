import type { Page } from '@playwright/test'
import { expectAccessible, expectAccessibleOnEveryScreen } from './accessibility.ts'
import { type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.beforeEach(({ context }) => signIn(context, sample.ownerKey))

const open = (page: Page, query = '') => page.goto(`/traces?project=${sample.project.slug}${query}`)
const rows = (page: Page) => page.getByRole('table', { name: 'Traces' }).locator('tbody').getByRole('row')
const filters = (page: Page) => page.getByRole('search', { name: 'Filters' })

test('a filter is added, edited, and removed from the keyboard', async ({ page }) => {
  await open(page)
  await expect(rows(page)).toHaveCount(12)
  await page.keyboard.press('f')
  await page.getByRole('combobox', { name: 'Filter by' }).fill('feed')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('combobox', { name: 'Feedback' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/rating=negative/)
  await expect(rows(page)).toHaveCount(1)
  await expect(page.getByRole('button', { name: 'Add filter' })).toBeFocused()

  await filters(page).getByRole('button', { name: 'Feedback: Negative' }).press('Enter')
  await page.getByRole('combobox', { name: 'Feedback' }).fill('pos')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/rating=positive/)
  await expect(page.getByRole('heading', { name: 'No traces match these filters' })).toBeVisible()
  await expect(filters(page).getByRole('button', { name: 'Feedback: Positive' })).toBeFocused()

  await filters(page).getByRole('button', { name: 'Remove filter: Feedback' }).press('Enter')
  await expect(page).not.toHaveURL(/rating/)
  await expect(rows(page)).toHaveCount(12)
  await expect(page.getByRole('button', { name: 'Add filter' })).toBeFocused()
})

test('choosing a feedback filter replaces the previous one', async ({ page }) => {
  await open(page, '&rating=negative&hasFeedback=true')
  await expect(rows(page)).toHaveCount(1)
  await expect(page.getByText('1 trace', { exact: true })).toBeVisible()
  await filters(page).getByRole('button', { name: 'Feedback: Any' }).click()
  await page.getByRole('option', { name: 'None' }).click()
  await expect(page).toHaveURL(/hasFeedback=false/)
  await expect(page).not.toHaveURL(/rating/)
  await expect(rows(page)).toHaveCount(11)
  await expect(page.getByText('11 traces', { exact: true })).toBeVisible()
})

test('a filter without a value cannot be applied', async ({ page }) => {
  await open(page)
  for (const label of ['Name', 'Step', 'Prompt version']) {
    await page.getByRole('button', { name: 'Add filter' }).click()
    await page.getByRole('option', { name: label, exact: true }).click()
    const editor = page.getByRole('dialog')
    const apply = editor.getByRole('button', { name: 'Apply' })
    await expect(apply).toBeDisabled()
    const field = editor.getByRole('textbox', { name: label })
    await field.fill('  ')
    await field.press('Enter')
    await expect(apply).toBeDisabled()
    await field.fill('x')
    await expect(apply).toBeEnabled()
    await page.keyboard.press('Escape')
  }
  await filters(page).getByRole('button', { name: 'Time' }).click()
  await expect(page.getByRole('button', { name: 'Apply' })).toBeDisabled()
})

test('Escape closes a filter without changing it', async ({ page }) => {
  await open(page, '&rating=negative')
  await filters(page).getByRole('button', { name: 'Feedback: Negative' }).click()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(filters(page).getByRole('button', { name: 'Feedback: Negative' })).toBeFocused()
  await expect(page).toHaveURL(/rating=negative/)
})

test('each filter in the URL is shown as a chip with its value in words', async ({ page }) => {
  const version = sample.promptId
  await open(
    page,
    `&name=support-answer&stepId=${STEP}&status=completed&review=unreviewed&hasFeedback=false&rating=negative` +
      `&errorType=hallucinated_content&promptVersionId=${version}&metadata.customer.tier=gold&metadata.a=b&kind=all` +
      '&from=2020-01-01T00:00:00.000Z&to=2020-01-02T00:00:00.000Z',
  )
  for (const words of [
    'Name: support-answer',
    `Step: ${STEP}`,
    'Status: Completed',
    'Review: Unreviewed',
    'Feedback: None',
    'Feedback: Negative',
    'Error type: Hallucinated content',
    `Prompt version: ${version}`,
    'customer.tier: gold',
    'a: b',
    "Telemetry: Include traces that aren't from AI pipelines",
  ]) {
    await expect(filters(page).getByRole('button', { name: words, exact: true })).toBeVisible()
  }
  await expect(filters(page).getByRole('button', { name: /^Time: .*2020.* – .*2020/ })).toBeVisible()
  await expectAccessibleOnEveryScreen(page)
  await page.getByRole('heading', { name: 'No traces match these filters' }).waitFor()
  await filters(page).getByRole('button', { name: 'Clear filters' }).click()
  await expect(page).toHaveURL(`/traces?project=${sample.project.slug}`)
})

test('a metadata filter keeps its field when its value is edited', async ({ page }) => {
  await open(page)
  await page.getByRole('button', { name: 'Add filter' }).click()
  await page.getByRole('option', { name: 'Metadata' }).click()
  const editor = page.getByRole('dialog')
  await editor.getByLabel('Field').fill('customer.tier')
  await editor.getByRole('button', { name: 'Apply' }).click()
  await expect(editor.getByText('Required')).toBeVisible()
  await editor.getByLabel('Value').fill('gold')
  await page.keyboard.press('Enter')
  await expect(rows(page)).toHaveCount(6)
  await filters(page).getByRole('button', { name: 'customer.tier: gold' }).click()
  await expect(editor.getByLabel('Field')).toHaveValue('customer.tier')
  await editor.getByLabel('Value').fill('basic')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/metadata\.customer\.tier=basic/)
  await expect(rows(page)).toHaveCount(6)
})

test('a period is set with a shortcut or by its start and end', async ({ page }) => {
  await open(page)
  await filters(page).getByRole('button', { name: 'Time' }).click()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Last 24 hours' }).click()
  await expect(page).toHaveURL(/from=/)
  await expect(rows(page)).toHaveCount(12)
  await filters(page)
    .getByRole('button', { name: /^Time: since/ })
    .click()
  await page.getByLabel('From').fill('')
  await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
  await page.keyboard.press('Enter')
  await expect(page).not.toHaveURL(/from=/)
  await expect(filters(page).getByRole('button', { name: /^Time: before 1 Jan 2020/ })).toBeVisible()
  await expect(page.getByRole('heading', { name: 'No traces match these filters' })).toBeVisible()
})

test("a row shows the beginning of the trace's input and output, and the error type that a reviewer set", async ({
  page,
}) => {
  await open(page, '&errorType=hallucinated_content')
  await expect(rows(page)).toHaveCount(1)
  const cells = rows(page).first().getByRole('cell')
  await expect(cells.filter({ hasText: /^Hallucinated content$/ })).toHaveCount(1)
  // The whole row links to the trace.
  await cells.getByText('Hallucinated content').click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?/)
  await open(page, '&review=accepted')
  await expect(rows(page)).toHaveCount(4)
  const texts = rows(page).first().getByRole('cell')
  await expect(texts.filter({ hasText: 'Question 3: how long is the warranty?' })).toHaveCount(1)
  await expect(texts.filter({ hasText: 'answer: Answer 3: the warranty lasts 3 months., months: 3' })).toHaveCount(1)
})

/** The names of the columns, except the column with checkboxes. */
const columnNames = (page: Page) => page.getByRole('columnheader').filter({ hasText: /./ })

test('columns are chosen and ordered from the keyboard, remembered, and reset', async ({ page }) => {
  await open(page)
  const headers = columnNames(page)
  await expect(headers.first()).toHaveText('Time')
  await expect(page.getByRole('button', { name: 'Columns' })).toBeEnabled()
  await page.getByRole('button', { name: 'Columns' }).press('Enter')
  const menu = page.getByRole('dialog')
  await expect(menu.getByRole('checkbox', { name: 'Name' })).toBeDisabled()
  await menu.getByRole('checkbox', { name: 'Metadata' }).press('Space')
  await menu.getByRole('checkbox', { name: 'Input' }).press('Space')
  await menu.getByRole('button', { name: 'Move Time down' }).press('Enter')
  await expect(menu.getByRole('button', { name: 'Move Time down' })).toBeFocused()
  await expect(menu.getByRole('status')).toHaveText(/^Time is column 2 of \d+$/)
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'Columns' })).toBeFocused()
  await expect(page.getByRole('columnheader', { name: 'Metadata' })).toBeVisible()

  await page.reload()
  await expect(headers.first()).toHaveText('Name')
  await expect(headers.nth(1)).toHaveText('Time')
  await expect(page.getByRole('columnheader', { name: 'Input' })).toHaveCount(0)
  await page.getByRole('button', { name: 'customer.tier=gold' }).first().click()
  await expect(rows(page)).toHaveCount(6)

  await page.getByRole('button', { name: 'Columns' }).click()
  await menu.getByRole('button', { name: 'Reset to default' }).click()
  await expect(headers.first()).toHaveText('Time')
  await expect(page.getByRole('columnheader', { name: 'Metadata' })).toHaveCount(0)
})

test('stored columns that the app does not recognize are left out', async ({ page }) => {
  await page.addInitScript(() => localStorage.setItem('countersign.traces.columns', '["mood","name","cost","name"]'))
  await open(page)
  await expect(columnNames(page)).toHaveText(['Name', 'Cost'])
})

test('a row on a phone shows the name, the output, and the review state', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, '&review=accepted')
  const row = rows(page).first()
  for (const text of ['support-answer', /^answer: Answer 3/, 'Accepted']) {
    await expect(row.getByText(text)).toBeVisible()
  }
})

test('a search starts on Enter, highlights its matches, and links to the span', async ({ page }) => {
  await open(page)
  await expect(rows(page)).toHaveCount(12)
  await page.keyboard.press('/')
  const search = page.getByRole('textbox', { name: 'Search text' })
  await expect(search).toBeFocused()
  await search.fill('LA')
  await page.keyboard.press('Enter')
  await expect(page.getByText('Enter at least 3 characters')).toBeVisible()
  await search.fill('LASTS 7 months')
  await expect(page).not.toHaveURL(/contains/)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/contains=LASTS\+7\+months/)
  await expect(rows(page)).toHaveCount(1)
  const match = page.getByRole('list', { name: 'Matches' }).getByRole('link').first()
  await expect(match).toContainText('output')
  await expect(match.locator('mark')).toHaveText('lasts 7 months')
  await expectAccessibleOnEveryScreen(page)
  await match.click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?.*span=/)
  await page.goBack()
  await page.getByRole('button', { name: 'Clear search' }).click()
  await expect(page).not.toHaveURL(/contains/)
  await expect(rows(page)).toHaveCount(12)
})

test('a search continues automatically, pauses after 20 pages without a match, and says how far back it went', async ({
  page,
}) => {
  let calls = 0
  await page.route(/\/api\/traces\?.*contains/, route => {
    calls++
    const warnings = ['For 1 value over 8 KiB, only the beginning was searched']
    const searchedTo = '2026-01-02T03:04:05.000Z'
    return route.fulfill({ json: { traces: [], searchedTo, warnings, nextCursor: `c${calls}` } })
  })
  await open(page, '&contains=nowhere')
  await expect(page.getByText('Searched back to 2 Jan 2026')).toBeVisible()
  await expect(page.getByText('For 1 value over 8 KiB, only the beginning was searched.')).toBeVisible()
  const goOn = page.getByRole('button', { name: 'Search older traces' })
  await expect(goOn).toBeVisible()
  expect(calls).toBe(20)
  await goOn.click()
  await expect.poll(() => calls).toBe(40)
  await expect(goOn).toBeVisible()
})

test('traces can be filtered by their full name or part of it', async ({ page }) => {
  await open(page)
  await page.getByRole('button', { name: 'Add filter' }).click()
  await page.getByRole('option', { name: 'Name' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('ANSW')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/nameContains=ANSW/)
  await expect(rows(page)).toHaveCount(12)
  await filters(page).getByRole('button', { name: 'Name contains: ANSW' }).click()
  await page.getByText('Is', { exact: true }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await expect(page).toHaveURL(/[?&]name=ANSW/)
  await expect(page).not.toHaveURL(/nameContains/)
  await expect(page.getByRole('heading', { name: 'No traces match these filters' })).toBeVisible()
})

test('traces can be sorted from a column header or the filter bar, and the page says if older traces are left out', async ({
  page,
}) => {
  await open(page)
  const header = page.getByRole('columnheader', { name: 'Duration' })
  await header.getByRole('button').click()
  await expect(page).toHaveURL(/sort=duration/)
  await expect(header).toHaveAttribute('aria-sort', 'descending')
  await expect(rows(page)).toHaveCount(12)
  await filters(page).getByRole('button', { name: 'Remove filter: Sort' }).click()
  await expect(page).not.toHaveURL(/sort/)
  await page.route(/\/api\/traces\?.*sort=cost/, route =>
    route.fulfill({ json: { traces: [], sortedOver: { traces: 1234, isAll: false }, nextCursor: null } }),
  )
  await filters(page).getByRole('button', { name: 'Sort' }).click()
  await page.getByRole('option', { name: 'Most expensive first' }).click()
  await expect(page.getByText('Only the newest 5,000 traces were sorted; 1,234 of them match.')).toBeVisible()
})
