import { expect, type Page } from '@playwright/test'
import axe from 'axe-core'
import { expectNoSidewaysScroll } from './layout.ts'

declare global {
  interface Window {
    axe: typeof axe
  }
}

/** The rules whose results depend on the color scheme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']

const PHONE = { width: 390, height: 844 }

/** Asserts that a page has no serious accessibility violation in either color scheme. Leaves the page dark. */
export async function expectAccessible(page: Page): Promise<void> {
  await chooseScheme(page, 'light')
  expect(await seriousFindings(page)).toEqual([])
  await chooseScheme(page, 'dark')
  // Nothing else differs between the color schemes.
  expect(await seriousFindings(page, { rules: COLOR_RULES })).toEqual([])
}

/**
 * Asserts that a page is accessible in both color schemes and fits on a phone screen. Leaves the page dark and narrow.
 */
export async function expectAccessibleOnEveryScreen(page: Page): Promise<void> {
  await expectAccessible(page)
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
}

/** Asserts that the open dialog has no serious accessibility violation in the current color scheme. */
export async function expectAccessibleDialog(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  // Axe can't judge colors while the dialog fades in, and the dialog gets its name just after it appears.
  await expect(dialog).toHaveCSS('opacity', '1')
  await expect(dialog).toHaveAccessibleName(/./)
  expect(await seriousFindings(page, { within: '[role="dialog"]' })).toEqual([])
}

async function chooseScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', colorScheme)
  // Otherwise, axe would see an element's color in mid-transition.
  await page.evaluate(() => {
    for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish()
  })
}

interface Search {
  /** All rules by default. */
  rules?: string[]
  /** A selector for the part to search. By default, it's the whole page. */
  within?: string
}

/** Describes each serious or critical accessibility violation that axe finds in a page. */
async function seriousFindings(page: Page, { rules, within = 'html' }: Search = {}): Promise<string[]> {
  // A page keeps axe until the browser leaves the page. Adding axe again takes as long as a search.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const options: axe.RunOptions = {
    // Otherwise, axe also describes every element that passed.
    resultTypes: ['violations'],
    ...(rules && { runOnly: rules }),
  }
  return page.evaluate(
    async ([within, options]) => {
      const { violations } = await window.axe.run(within, options)
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))
    },
    [within, options] as const,
  )
}
