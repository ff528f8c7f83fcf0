import type { Page } from '@playwright/test'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.beforeEach(({ context }) => signIn(context, sample.ownerKey))

const palette = (page: Page) => page.getByRole('dialog', { name: 'Go to' })

/** Opens the palette from the keyboard and enters some text. */
async function find(page: Page, text: string): Promise<void> {
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.keyboard.press('ControlOrMeta+k')
  await expect(page.getByRole('textbox', { name: 'Go to' })).toBeFocused()
  await page.keyboard.insertText(text)
}

/** Moves down to an item with the arrow keys, and opens it. */
async function choose(page: Page, name: string | RegExp): Promise<void> {
  const item = palette(page).getByRole('button', { name })
  await expect(item).toBeVisible()
  const count = await palette(page).getByRole('button').count()
  for (let step = 0; step < count && (await item.getAttribute('data-selected')) === null; step++) {
    await page.keyboard.press('ArrowDown')
  }
  await expect(item).toHaveAttribute('data-selected')
  await page.keyboard.press('Enter')
}

test('finds prompts, datasets, experiments, and knowledge docs by name', async ({ page }) => {
  await page.goto(`/settings?project=${sample.project.slug}`)
  for (const [text, group, name, address] of [
    ['GENERATE', 'Prompts', STEP, /\/prompts\/[0-9a-f-]{36}/],
    ['generate', 'Datasets', STEP, /\/datasets\/[0-9a-f-]{36}/],
    ['cite', 'Experiments', 'Cite the doc', /\/experiments\/[0-9a-f-]{36}/],
    ['warr', 'Knowledge docs', 'Warranty', /\/knowledge-docs\/[0-9a-f-]{36}/],
  ] as const) {
    await find(page, text)
    const item = palette(page).getByRole('group', { name: group }).getByRole('button', { name })
    await expect(item.locator('mark').first()).toHaveText(new RegExp(`^${text}$`, 'i'))
    await item.click()
    await expect(page).toHaveURL(address)
    await expect(palette(page)).toBeHidden()
  }
})

test('finds traces by ID or part of their name, and conversations', async ({ page }) => {
  const { slug } = sample.project
  await page.goto(`/settings?project=${slug}`)
  await find(page, 'ort-ANSW')
  await choose(page, 'All traces with “ort-ANSW” in their name')
  await expect(page).toHaveURL(/\/traces\?.*nameContains=ort-ANSW/)
  await find(page, 'trace_sample_11')
  await choose(page, /^Open trace trace_sample_11/)
  await expect(page).toHaveURL(new RegExp(`/traces/${sample.traceId}`))
  await page.goto(`/settings?project=${slug}`)
  await find(page, sample.traceId)
  await choose(page, `Open trace ${sample.traceId}`)
  await expect(page).toHaveURL(new RegExp(`/traces/${sample.traceId}`))
  await find(page, 'session-2')
  await choose(page, /^Read the conversation session-2/)
  await expect(page).toHaveURL(/\/traces\/conversations\/read\?.*value=session-2/)
  await expect(page.getByRole('heading', { level: 1, name: 'session-2' })).toBeVisible()
})

test('searches values on Enter, shows the matched text, and links to all matches', async ({ page }) => {
  await page.goto(`/settings?project=${sample.project.slug}`)
  await find(page, 'lasts 11 MONTHS')
  await choose(page, /^Search traces for “lasts 11 MONTHS”/)
  const found = palette(page).getByRole('group', { name: 'Traces with this text' })
  await expect(found.getByRole('button')).toHaveCount(1)
  await expect(found.locator('mark')).toHaveText('lasts 11 months')
  await expectAccessibleOnEveryScreen(page)
  await choose(page, 'See all traces with “lasts 11 MONTHS”')
  await expect(page).toHaveURL(/\/traces\?.*contains=lasts\+11\+MONTHS/)
  await find(page, 'no such words')
  await choose(page, /^Search traces for/)
  await expect(palette(page).getByText('No traces contain this text')).toBeVisible()
})

test('requests nothing before the user types, and then one search per pause', async ({ page }) => {
  await page.goto(`/settings?project=${sample.project.slug}`)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.waitForLoadState('networkidle')
  const calls: string[] = []
  page.on('request', request => {
    if (request.url().includes('/api/')) calls.push(new URL(request.url()).pathname + new URL(request.url()).search)
  })
  await page.keyboard.press('ControlOrMeta+k')
  await expect(page.getByRole('textbox', { name: 'Go to' })).toBeFocused()
  expect(calls).toEqual([])
  await page.keyboard.insertText('warranty')
  await expect(palette(page).getByRole('group', { name: 'Knowledge docs' })).toBeVisible()
  await page.keyboard.insertText(' page')
  await expect(palette(page).getByRole('group', { name: 'Knowledge docs' })).toBeHidden()
  await expect(palette(page).getByRole('status')).toBeHidden()
  expect(calls.filter(call => call.includes('nameContains'))).toHaveLength(2)
  for (const list of ['prompts', 'datasets', 'experiments', 'knowledge-docs']) {
    expect(calls.filter(call => call.startsWith(`/api/${list}?`))).toHaveLength(1)
  }
})

test('shows an error if some results could not be loaded', async ({ page }) => {
  await page.route(/nameContains/, route => route.fulfill({ status: 403, json: { error: 'Not allowed', code: 'x' } }))
  await page.goto(`/settings?project=${sample.project.slug}`)
  await find(page, 'warranty')
  await expect(palette(page).getByRole('alert')).toContainText("Some results couldn't be loaded")
})
