import { newOrganization, type Organization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization

test.beforeAll(async () => {
  organization = await newOrganization()
})

test('without votes, the page says how to get some', async ({ page, context }) => {
  await signIn(context, organization.key)
  await page.goto('/?project=support')
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Agreement' }).click()
  await expect(page.getByRole('heading', { name: 'Nothing to compare yet' })).toBeVisible()
  await expect(page.getByRole('main').getByRole('link', { name: 'review policy' })).toHaveAttribute(
    'href',
    /^\/settings\/review-policy\?/,
  )
})

test('reviewers have no such section, and learn who has', async ({ page, context }) => {
  const { key } = await organization.reviewer('Ada')
  await signIn(context, key)
  await page.goto('/agreement?project=support')
  await expect(page.getByText('Only managers and adjudicators see how far reviewers agree')).toBeVisible()
  const sections = page.getByRole('navigation', { name: 'Sections' })
  await expect(sections.getByRole('link', { name: 'Review' })).toBeVisible()
  await expect(sections.getByRole('link', { name: 'Agreement' })).toHaveCount(0)
})
