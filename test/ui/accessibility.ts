import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'
import { expectNoSidewaysScroll } from './layout.ts'

const PHONE = { width: 390, height: 844 }

/** Asserts that a page has no serious accessibility violation in either color scheme. Leaves it in the dark one. */
export async function expectAccessible(page: Page): Promise<void> {
  const html = page.locator('html')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expect(html).toHaveAttribute('data-mantine-color-scheme', colorScheme)
    expect(await seriousFindings(page)).toEqual([])
  }
}

/** Asserts that a page is accessible in both color schemes and fits a phone. Leaves it dark and as narrow as a phone. */
export async function expectAccessibleOnEveryScreen(page: Page): Promise<void> {
  await expectAccessible(page)
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
}

/** Describes each serious or critical accessibility violation that axe finds in a page. */
async function seriousFindings(page: Page): Promise<string[]> {
  // Legacy mode takes half the time. The default mode opens an extra page to look into cross-origin frames.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))
}
