import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

/** Describes each serious or critical accessibility violation that axe finds in a page. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Legacy mode takes half the time. The default mode opens an extra page to look into cross-origin frames.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))
}
