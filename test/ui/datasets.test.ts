import { readFile } from 'node:fs/promises'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization } from './organization.ts'
import { type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject
let managerKey: string
let datasetPath: string

test.beforeAll(async () => {
  sample = await sampleProject()
  managerKey = (await sample.reviewer('Mae', ['read', 'review', 'manage'])).key
  datasetPath = `/datasets/${sample.datasetId}?project=${sample.project.slug}`
})

test.beforeEach(({ context }) => signIn(context, managerKey))

test('a dataset’s counts link to its items, and an item to its diff and its span', async ({ page }) => {
  await page.goto(`/datasets?project=${sample.project.slug}`)
  await page.getByRole('link', { name: `1 corrected item in ${STEP}` }).click()
  const rows = page.getByRole('table', { name: 'Items' }).getByRole('row')
  await expect(rows).toHaveCount(2)
  await expect(rows.nth(1)).toContainText('Corrected')
  await expect(rows.nth(1)).toContainText('Ada')
  await rows.nth(1).getByRole('link').click()
  const drawer = page.getByRole('dialog', { name: 'Item 1 of 1' })
  await expect(drawer.getByRole('textbox', { name: /before and after/ })).toContainText('It lasts 24 months.')
  await expectAccessibleOnEveryScreen(page)
  await drawer.getByRole('link', { name: 'Open in its trace' }).click()
  await expect(page).toHaveURL(new RegExp(`/traces/${sample.traceId}.*span=${sample.spanId}`))
})

test('a dataset’s items are filtered from the keyboard, and every filter is in the URL', async ({ page }) => {
  await page.goto(`${datasetPath}&version=1`)
  const filters = page.getByRole('search', { name: 'Filters' })
  await expect(filters.getByRole('button', { name: 'Version: 1', exact: true })).toBeVisible()
  await filters.getByRole('button', { name: 'Remove filter: Version' }).click()
  await expect(page).not.toHaveURL(/version=/)
  await page.keyboard.press('f')
  await page.getByRole('combobox', { name: 'Filter by' }).fill('excl')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('combobox', { name: 'Excluded' })).toBeFocused()
  await page.keyboard.type('not')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/excluded=false/)
  await filters.getByRole('button', { name: 'Decision' }).click()
  await page.getByRole('option', { name: 'Corrected' }).click()
  await expect(page).toHaveURL(/decision=correct/)
  await expect(page.getByRole('table', { name: 'Items' }).getByRole('row')).toHaveCount(2)
  await expectAccessibleOnEveryScreen(page)
  await filters.getByRole('button', { name: 'Clear filters' }).click()
  await expect(page).not.toHaveURL(/decision=|excluded=/)
})

test('an item is excluded with a note, included again, and moved, using only the keyboard', async ({ page }) => {
  await page.goto(`${datasetPath}&decision=accept&excluded=false`)
  const table = page.getByRole('table', { name: 'Items' })
  await table.getByRole('link').first().focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog', { name: 'Item 1 of 4' })).toBeVisible()
  await page.keyboard.press('j')
  await expect(page.getByRole('dialog', { name: 'Item 2 of 4' })).toBeVisible()
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('textbox', { name: 'Note' }).focus()
  await page.keyboard.type('A test question')
  await page.keyboard.press('Enter')
  await expect(drawer.getByRole('button', { name: 'Include again' })).toBeVisible()
  await expect(drawer).toContainText('Note: A test question')
  // The item stays open, although the filters now leave it out.
  await expect(table.getByRole('row', { includeHidden: true })).toHaveCount(4)
  await drawer.getByRole('button', { name: 'Include again' }).press('Enter')
  await expect(drawer.getByRole('button', { name: 'Exclude from experiments' })).toBeVisible()
  await drawer.getByRole('combobox', { name: 'Split' }).fill('golden')
  await page.keyboard.press('Escape')
  await drawer.getByRole('button', { name: 'Move to this split' }).press('Enter')
  await expect(drawer).toContainText('Split: golden')
  await page.keyboard.press('Escape')
  await expect(drawer).toBeHidden()
  await expect(table.getByRole('row').filter({ hasText: 'golden' })).toHaveCount(1)
})

test('a user without the manage scope sees why items can’t be changed', async ({ anotherBrowser }) => {
  const page = await anotherBrowser((await sample.reviewer('Noor')).key)
  await page.goto(`${datasetPath}&item=${sample.spanId}`)
  await expect(page.getByRole('dialog')).toContainText('You need the “manage” scope to exclude items or move them.')
})

test('the evaluator can compare each part of an output in a different way', async ({ page }) => {
  await page.goto(datasetPath)
  await page.getByRole('button', { name: 'Evaluator' }).click()
  const dialog = page.getByRole('dialog', { name: 'Evaluator' })
  for (const path of ['months', 'answer']) {
    await dialog.getByRole('button', { name: 'Add a path' }).click()
    await dialog.getByRole('textbox', { name: 'Path' }).last().fill(path)
  }
  await dialog.getByRole('combobox', { name: 'Comparison' }).first().click()
  await page.getByRole('option', { name: 'Number' }).click()
  await dialog.getByRole('textbox', { name: 'Tolerance' }).fill('0.5')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Evaluator: Default, 2 paths')).toBeVisible()
  expect(await sample.call('GET', `/api/datasets/${sample.datasetId}`)).toMatchObject({
    evaluator: { paths: { months: { type: 'number', tolerance: 0.5 }, answer: { type: 'ignore' } } },
  })
})

test('an import adds the first items to a dataset, and reports each faulty line', async ({ page, context }) => {
  const { reviewer, project } = await newOrganization()
  await signIn(context, (await reviewer('Ada')).key)
  await page.goto(`/datasets?project=${project.slug}`)
  await expect(page.getByRole('heading', { name: 'No datasets yet' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'Review outputs' })).toBeVisible()
  await page.getByRole('button', { name: 'New dataset' }).click()
  await page.getByRole('textbox', { name: 'Step' }).fill('answer')
  await page.getByRole('button', { name: 'Create' }).click()
  await expect(page.getByRole('heading', { name: 'No items yet' })).toBeVisible()

  await page.getByRole('button', { name: 'Import examples' }).click()
  const dialog = page.getByRole('dialog', { name: 'Import examples' })
  const field = dialog.getByRole('textbox', { name: 'Examples' })
  await field.fill('{"input": "How long?", "expected": "24 months"}\n{"input": "Which day?"}')
  await expect(dialog.getByRole('list', { name: 'Problems' })).toHaveText('Line 2: expected is required')
  await expect(dialog.getByRole('button', { name: 'Import 2 examples' })).toBeDisabled()
  await field.fill('{"input": "How long?", "expected": "24 months"}\n{"input": "Which day?", "expected": "Monday"}')
  await dialog.getByRole('button', { name: 'Import 2 examples' }).click()
  await expect(page.getByRole('table', { name: 'Items' }).getByRole('row')).toHaveCount(3)
})

test('an export is downloaded, in parts if it’s large', async ({ page }) => {
  const downloadAfter = async (button: string) => {
    const downloading = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click()
    const download = await downloading
    return { name: download.suggestedFilename(), content: await readFile(await download.path(), 'utf8') }
  }
  await page.goto(datasetPath)
  await page.getByRole('button', { name: 'Export' }).click()
  const whole = await downloadAfter('Download')
  expect(whole.name).toBe(`${STEP}.jsonl`)
  expect(whole.content).toMatch(/It lasts 24 months.*"items":\s*5\}\s*$/s)
  await expect(page.getByRole('dialog')).toBeHidden()

  await page.route(/\/export\?/, (route, request) => {
    const isFirst = !request.url().includes('cursor=')
    return route.fulfill({ body: isFirst ? 'one' : 'two', headers: isFirst ? { 'x-next-cursor': 'next' } : {} })
  })
  await page.getByRole('button', { name: 'Export' }).click()
  expect(await downloadAfter('Download')).toEqual({ name: `${STEP}-part-1.jsonl`, content: 'one' })
  expect(await downloadAfter('Download part 2')).toEqual({ name: `${STEP}-part-2.jsonl`, content: 'two' })
  await expect(page.getByRole('dialog')).toBeHidden()
})
