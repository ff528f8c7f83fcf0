import { expect, type Page } from '@playwright/test'

/** Asserts that the page isn't wider than the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth))
    .toBeLessThanOrEqual(0)
}

/** How far the page's contents have moved without user input since it opened: the sum of its layout shifts. */
export const layoutShift = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise(resolve => {
        new PerformanceObserver(list => {
          const shifts = list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]
          resolve(shifts.reduce((sum, { value, hadRecentInput }) => (hadRecentInput ? sum : sum + value), 0))
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(resolve, 100, 0)
      }),
  )
