import type { Page } from '@playwright/test'
import { runCron } from '../scripts/server.ts'
import { HOSTILE_TEXTS, type HostileProject, hostileProject } from './hostile-project.ts'
import { expectNoSidewaysScroll } from './layout.ts'
import { open } from './requests.ts'
import { serverUrl } from './server.ts'
import { expect, signIn, test } from './test.ts'

test.use({ viewport: { width: 390, height: 844 } })

let hostile: HostileProject

test.beforeAll(async () => {
  hostile = await hostileProject()
  await runCron(serverUrl())
})

test.beforeEach(({ context }) => signIn(context, hostile.ownerKey))

/** Matches elements that exist only if the app renders a hostile string as markup. */
const INJECTED =
  'img[src="x"], script:not([src]), iframe, object, embed, [onerror], [onload], [onmouseover], a[href^="javascript:" i]'

/** Asserts that the page shows hostile strings as plain text and isn't wider than the window. */
async function expectHarmless(page: Page): Promise<void> {
  await expect(page.locator(INJECTED)).toHaveCount(0)
  expect(await page.evaluate(() => window.__pwned)).toBeUndefined()
  await expectNoSidewaysScroll(page)
}

const at = (path: string) => `${path}${path.includes('?') ? '&' : '?'}project=${hostile.project.slug}`

const SETTINGS = [
  'projects',
  'keys',
  'users',
  'error-types',
  'step-names',
  'review-policy',
  'webhooks',
  'audit-log',
].map(tab => `/settings/${tab}`)

test('lists show hostile strings as text', async ({ page }) => {
  for (const path of [
    '/',
    '/problems',
    '/traces',
    '/datasets',
    '/experiments',
    '/prompts',
    '/knowledge-docs',
    ...SETTINGS,
  ]) {
    await test.step(path, async () => {
      await open(page, at(path))
      await expect(page.getByRole('main')).toContainText(HOSTILE_TEXTS[0]?.shown ?? '')
      await expectHarmless(page)
    })
  }
})

test('datasets show hostile strings as text', async ({ page }) => {
  for (const [index, { name, shown }] of HOSTILE_TEXTS.entries()) {
    await test.step(name, async () => {
      const { dataset, item } = hostile.places[index] ?? {}
      await open(page, at(`/datasets/${dataset}?item=${item}`))
      await expect(page.getByRole('dialog').getByRole('region', { name: 'State', exact: true })).toContainText(shown)
      await expectHarmless(page)
      await page.keyboard.press('Escape')
      await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
      await expect(page.getByRole('table', { name: 'Items' })).toContainText(shown)
      await expectHarmless(page)
    })
  }
})

test('experiments show hostile strings as text', async ({ page }) => {
  for (const [index, { name, shown }] of HOSTILE_TEXTS.entries()) {
    await test.step(name, async () => {
      await open(page, at(`/experiments/${hostile.places[index]?.experiment}?items=all`))
      await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
      for (const value of ['State', 'Expected']) {
        await expect(page.getByRole('region', { name: value, exact: true })).toContainText(shown)
      }
      await expect(page.getByRole('region', { name: 'Candidate', exact: true }).locator('.cm-content')).toBeVisible()
      await expectHarmless(page)
    })
  }
})

for (const [index, { name, shown }] of HOSTILE_TEXTS.entries()) {
  test(`pages show ${name} as text`, async ({ page }) => {
    const { trace, span, prompt, doc } = hostile.places[index] ?? {}
    await test.step('a trace', async () => {
      await open(page, at(`/traces/${trace}?span=${span}`))
      await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
      await expectHarmless(page)
      const chosen = page.getByRole('region', { name: 'Selected span' })
      for (const tab of ['Output', 'Input', 'State', 'Metadata', 'Observations', 'Feedback']) {
        await chosen.getByRole('tab', { name: tab }).click()
        await expect(chosen.getByRole('tabpanel')).toContainText(shown)
        await expectHarmless(page)
      }
      await page.getByRole('region', { name: 'Attribution' }).getByRole('button', { expanded: false }).click()
      await expect(page.getByRole('heading', { name: 'Evidence' })).toBeVisible()
      await expectHarmless(page)
      await page.getByRole('button', { name: 'Trace actions' }).click()
      await page.getByRole('menuitem', { name: 'Raw JSON' }).click()
      await expect(page.getByRole('dialog').getByRole('region', { name: 'the trace' })).toContainText('trace___proto__')
      await expectHarmless(page)
    })

    await test.step('the inbox', async () => {
      await open(page, at(`/review?span=${span}`))
      await expect(page.getByRole('region', { name: 'Output', exact: true })).toContainText(shown)
      await expect(page.getByRole('region', { name: 'Context', exact: true })).toContainText(shown)
      await expect(page.getByRole('region', { name: 'Suggestions' })).toContainText(shown)
      await expectHarmless(page)
      await page.getByRole('button', { name: 'Edit' }).click()
      await expect(page.getByRole('region', { name: 'Edit', exact: true })).toBeVisible()
      await expect(page.getByRole('region', { name: 'Changes', exact: true })).toBeVisible()
      await expectHarmless(page)
    })

    await test.step('a prompt and a knowledge doc', async () => {
      for (const path of [`/prompts/${prompt}`, `/knowledge-docs/${doc}`]) {
        await open(page, at(path))
        await expect(page.getByRole('heading', { level: 1 })).toContainText(shown)
        await expectHarmless(page)
      }
    })
  })
}
