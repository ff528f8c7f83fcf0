import { newOrganization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

test('reports too many requests, and retries after the time in the response', async ({ page, context }) => {
  const { key } = await newOrganization()
  await signIn(context, key)
  let refused = 0
  await page.route('**/api/projects*', async route => {
    if (refused++ > 0) return route.fallback()
    await route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: { error: 'Rate limit exceeded' } })
  })
  await page.goto('/settings/projects')
  await expect(page.getByText('Too many requests')).toBeVisible()
  await expect.poll(() => refused).toBe(2)
  await expect(page.getByText('Too many requests')).toBeHidden()
  await expect(page.getByRole('cell', { name: 'support' }).first()).toBeVisible()
})
