import type { Page } from '@playwright/test'
import { HOSTILE_TEXTS, type HostileProject, hostileProject } from './hostile-project.ts'
import { expectNoSidewaysScroll } from './layout.ts'
import { runCron } from './organization.ts'
import { expect, signIn, test } from './test.ts'

test.use({ viewport: { width: 390, height: 844 } })

let hostile: HostileProject

test.beforeAll(async () => {
  hostile = await hostileProject()
  await runCron()
})

test.beforeEach(({ context }) => signIn(context, hostile.ownerKey))

/** What no text may become. */
const MADE_OF_TEXT =
  'img[src="x"], script:not([src]), iframe, object, embed, [onerror], [onload], [onmouseover], a[href^="javascript:" i]'

/** The page is no wider for what it shows, and has made nothing but text of it. */
async function expectHarmless(page: Page): Promise<void> {
  await expect(page.locator(MADE_OF_TEXT)).toHaveCount(0)
  expect(await page.evaluate(() => window.__pwned)).toBeUndefined()
  await expectNoSidewaysScroll(page)
}

/** Opens a page, and waits until it shows all that it asked for. */
async function open(page: Page, path: string): Promise<void> {
  const separator = path.includes('?') ? '&' : '?'
  await page.goto(`${path}${separator}project=${hostile.project.slug}`)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.waitForLoadState('networkidle')
}

for (const [index, { name, shown }] of HOSTILE_TEXTS.entries()) {
  test.describe(name, () => {
    test('in a trace', async ({ page }) => {
      const place = hostile.places[index]
      await open(page, `/traces/${place?.trace}?span=${place?.span}`)
      await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
      await expectHarmless(page)
      const chosen = page.getByRole('region', { name: 'The chosen span' })
      for (const tab of ['Output', 'Input', 'State', 'Metadata', 'Observations', 'Feedback']) {
        await chosen.getByRole('tab', { name: tab }).click()
        await expect(chosen.getByRole('tabpanel')).toContainText(shown)
        await expectHarmless(page)
      }
      await page.getByRole('region', { name: 'Attribution' }).getByRole('button', { expanded: false }).click()
      await expectHarmless(page)
      await page.getByRole('button', { name: 'What can be done with this trace' }).click()
      await page.getByRole('menuitem', { name: 'Raw JSON' }).click()
      await expect(page.getByRole('dialog').getByRole('region', { name: 'the trace' })).toContainText('trace___proto__')
      await expectHarmless(page)
    })

    test('before a reviewer', async ({ page }) => {
      await open(page, `/review?span=${hostile.places[index]?.span}`)
      await expect(page.getByRole('region', { name: 'Output', exact: true })).toContainText(shown)
      await expect(page.getByRole('region', { name: 'Context', exact: true })).toContainText(shown)
      await expectHarmless(page)
      await page.getByRole('button', { name: 'Edit' }).click()
      await expect(page.getByRole('region', { name: 'Edit', exact: true })).toBeVisible()
      await page.waitForLoadState('networkidle')
      await expectHarmless(page)
    })

    test('in a prompt and a knowledge doc', async ({ page }) => {
      for (const path of [
        `/prompts/${hostile.places[index]?.prompt}`,
        `/knowledge-docs/${hostile.places[index]?.doc}`,
      ]) {
        await open(page, path)
        await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
        await expectHarmless(page)
      }
    })
  })
}

const SETTINGS = ['projects', 'keys', 'users', 'error-types', 'audit-log'].map(tab => `/settings/${tab}`)

test.describe('all of them', () => {
  for (const path of ['/', '/traces', '/prompts', '/knowledge-docs', ...SETTINGS]) {
    test(`on ${path}`, async ({ page }) => {
      await open(page, path)
      await expectHarmless(page)
    })
  }
})
