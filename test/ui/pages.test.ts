import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { EVERY_PAGE } from './every-page.ts'
import { roundsOfCalls } from './requests.ts'
import { type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

test.describe('each page loads in two rounds of calls, is accessible in both color schemes, and fits on a phone screen', () => {
  for (const { name, path, delayMs } of EVERY_PAGE) {
    test(name, async ({ page, context }) => {
      // Only the owner sees every section of the settings.
      await signIn(context, sample.ownerKey)
      const address = path(sample)
      const query = `${address.includes('?') ? '&' : '?'}project=${sample.project.slug}`
      const rounds = await roundsOfCalls(page, address + query, delayMs)
      expect(rounds.length, JSON.stringify(rounds, undefined, 2)).toBeLessThanOrEqual(2)

      await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
      await expect(page).toHaveTitle(/. · Countersign$/)
      await expect(page.getByRole('alert')).toHaveCount(0)
      await expectAccessibleOnEveryScreen(page)
    })
  }
})

test('the sign-in page is accessible in both color schemes, and fits on a phone screen', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByLabel('API key')).toBeVisible()
  await expectAccessibleOnEveryScreen(page)
})
