import { newOrganization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

test('never asks for data older than what it has shown, even after a reload or in another tab', async ({
  page,
  context,
}) => {
  const { key } = await newOrganization()
  await signIn(context, key)
  const sent: (string | undefined)[] = []
  await context.route('**/api/projects*', async route => {
    sent.push(route.request().headers()['x-d1-bookmark'])
    const response = await route.fetch()
    await route.fulfill({ response, headers: { ...response.headers(), 'x-d1-bookmark': `DB=000${sent.length}` } })
  })
  await page.goto('/settings/projects')
  await expect(page.getByRole('cell', { name: 'support' }).first()).toBeVisible()
  await page.reload()
  await expect(page.getByRole('cell', { name: 'support' }).first()).toBeVisible()
  const tab = await context.newPage()
  await tab.goto('/settings/projects')
  await expect(tab.getByRole('cell', { name: 'support' }).first()).toBeVisible()
  expect(sent.slice(0, 3)).toEqual([undefined, 'DB=0001', 'DB=0002'])
})
