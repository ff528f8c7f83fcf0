import * as v from 'valibot'
import { type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.beforeEach(({ context }) => signIn(context, sample.ownerKey))

test('each decision count in Insights links to exactly that many spans', async ({ page }) => {
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

const List = v.object({
  spans: v.optional(v.array(v.unknown()), []),
  traces: v.optional(v.array(v.unknown()), []),
  expired: v.optional(v.number(), 0),
})

/** The number of items in the list that a link leads to, including expired ones. */
async function listedAt(href: string): Promise<number> {
  const { pathname, searchParams } = new URL(href, 'http://localhost')
  const { project, ...filters } = Object.fromEntries(searchParams)
  const query = new URLSearchParams({ ...filters, projectSlug: project ?? '', limit: '200' })
  const { spans, traces, expired } = v.parse(List, await sample.call('GET', `/api${pathname}?${query}`))
  return spans.length + traces.length + expired
}

test('every number in Insights and on a prompt’s page links to a list with that many items', async ({ page }) => {
  const numbers = async () => {
    const links = await page.locator('main a[href^="/spans?"], main a[href^="/traces?"]').all()
    return Promise.all(
      links.map(async link => ({
        text: (await link.textContent())?.trim() ?? '',
        href: (await link.getAttribute('href')) ?? '',
      })),
    )
  }
  await page.goto(`/?project=${sample.project.slug}`)
  await expect(page.getByRole('region', { name: 'Reviewers' })).toBeVisible()
  const shown = await numbers()
  await page.getByRole('radiogroup', { name: 'Acceptance by step' }).getByText('Table').click()
  await page.getByRole('radiogroup', { name: 'Reviewers' }).getByText('Table').click()
  shown.push(...(await numbers()))
  await page.goto(`/prompts/${sample.promptId}?project=${sample.project.slug}`)
  await expect(page.getByRole('link', { name: /accepted outputs?/ }).first()).toBeVisible()
  shown.push(...(await numbers()))
  const counts = shown.flatMap(({ text, href }) => {
    const [number] = text.match(/^\d+/) ?? []
    return number === undefined || text.includes('%') ? [] : [{ href, number: Number(number) }]
  })
  expect(counts.length).toBeGreaterThan(20)
  for (const { href, number } of counts) expect([href, await listedAt(href)]).toEqual([href, number])
  // A percentage links to the items in its numerator. Another link to that list shows how many items it has.
  const shares = shown.filter(({ text }) => text.endsWith('%'))
  expect(shares.length).toBeGreaterThan(3)
  for (const { href } of shares) expect(await listedAt(href)).toBeGreaterThan(0)
})

test('the filters for spans are in the URL, and can be edited and removed', async ({ page }) => {
  const period = 'reviewedFrom=2020-01-01T00:00:00.000Z&reviewedTo=2020-02-01T00:00:00.000Z'
  await page.goto(`/spans?project=${sample.project.slug}&${period}&stepId=nothing`)
  const filters = page.getByRole('search', { name: 'Filters' })
  await expect(page.getByRole('heading', { name: 'No spans match' })).toBeVisible()
  await filters.getByRole('button', { name: 'Step: nothing' }).click()
  await page.getByRole('textbox', { name: 'Step' }).fill(STEP)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`stepId=${STEP}`))
  await filters.getByRole('button', { name: 'Decided: 1 Jan 2020 – 31 Jan 2020' }).click()
  const decided = page.getByRole('dialog')
  await expect(decided.getByLabel('Through')).toHaveValue('2020-01-31')
  await decided.getByLabel('Through').fill('2019-12-31')
  await decided.getByRole('button', { name: 'Apply' }).click()
  await expect(decided.getByText('The end is before the start')).toBeVisible()
  await decided.getByLabel('Through').fill('')
  await decided.getByRole('button', { name: 'Apply' }).click()
  await expect(filters.getByRole('button', { name: 'Decided: since 1 Jan 2020' })).toBeVisible()
  await expect(page).not.toHaveURL(/reviewedTo/)
  await expect(page.getByRole('table', { name: 'Spans' }).getByRole('link', { name: STEP }).first()).toBeVisible()
  await filters.getByRole('button', { name: 'Decision' }).click()
  await page.getByRole('option', { name: 'Accepted' }).click()
  await expect(page).toHaveURL(/decision=accept/)
  await filters.getByRole('button', { name: 'Remove filter: Decided' }).click()
  await expect(page).not.toHaveURL(/reviewedFrom/)
  await filters.getByRole('button', { name: 'Clear filters' }).click()
  await expect(page).not.toHaveURL(/decision|stepId/)
  await expect(page).toHaveURL(/project=/)
})

test('the list of spans says how many counted decisions it cannot show', async ({ page }) => {
  await page.route(/\/api\/spans\?/, route => route.fulfill({ json: { spans: [], expired: 2, nextCursor: null } }))
  await page.goto(`/spans?project=${sample.project.slug}&decision=accept`)
  await expect(page.getByRole('status')).toHaveText('2 more decisions are counted, but their traces have expired.')
})
