import { type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.beforeEach(({ context }) => signIn(context, sample.ownerKey))

test('each number of decisions in insights leads to as many spans', async ({ page }) => {
  await page.goto(`/?project=${sample.project.slug}`)
  const link = page.getByRole('link', { name: `decisions on ${STEP}` }).first()
  const decided = Number((await link.textContent())?.trim())
  await link.click()
  await expect(page).toHaveURL(/\/spans\?.*stepId=.*reviewedFrom=/)
  const rows = page.getByRole('table', { name: 'Spans' }).getByRole('row')
  await expect(rows).toHaveCount(1 + decided)
  await expect(rows.nth(1).getByText(/^(Accepted|Corrected)$/)).toBeVisible()
  await rows.nth(1).getByRole('link', { name: STEP }).click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?.*span=/)
  await expect(page.getByText(STEP).first()).toBeVisible()
})

test('the filters of spans are in the URL and can be removed', async ({ page }) => {
  const period = 'reviewedFrom=2020-01-01T00:00:00.000Z'
  await page.goto(`/spans?project=${sample.project.slug}&${period}&stepId=nothing`)
  await expect(page.getByRole('heading', { name: 'No spans match' })).toBeVisible()
  await expect(page.getByText('Decided from: 2020-01-01')).toBeVisible()
  await page.getByLabel('Step').fill(STEP)
  await page.getByLabel('Step').press('Enter')
  await expect(page).toHaveURL(new RegExp(`stepId=${STEP}`))
  await expect(page.getByRole('table', { name: 'Spans' }).getByRole('link', { name: STEP }).first()).toBeVisible()
  await page.getByRole('combobox', { name: 'Decision' }).click()
  await page.getByRole('option', { name: 'Accepted' }).click()
  await expect(page).toHaveURL(/decision=accept/)
  await page.getByRole('button', { name: 'Remove filter: Decided from' }).click()
  await expect(page).not.toHaveURL(/reviewedFrom/)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(page).not.toHaveURL(/decision|stepId/)
  await expect(page).toHaveURL(/project=/)
})

test('spans say how many more decisions are counted', async ({ page }) => {
  await page.route(/\/api\/spans\?/, route => route.fulfill({ json: { spans: [], expired: 2, nextCursor: null } }))
  await page.goto(`/spans?project=${sample.project.slug}&decision=accept`)
  await expect(page.getByRole('status')).toHaveText('2 more decisions are counted, but their traces have expired.')
})
