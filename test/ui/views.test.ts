import type { Page } from '@playwright/test'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization, type Organization } from './organization.ts'
import { answered } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization

test.beforeEach(async ({ context }) => {
  organization = await newOrganization()
  await organization.post([...answered(1).events, ...answered(2).events])
  await signIn(context, organization.ownerKey)
})

/** The menu. Its name varies, because it comes from the button, which shows the current view. */
const menu = (page: Page) => page.getByRole('dialog').filter({ hasNotText: 'Delete view?' })

async function saveView(page: Page, name: string, { isShared = false } = {}) {
  await page.getByRole('button', { name: 'Views' }).click()
  await menu(page).getByRole('textbox', { name: 'Save the current filters as' }).fill(name)
  if (isShared) await menu(page).getByRole('checkbox', { name: 'Share with the project' }).check()
  await menu(page).getByRole('button', { name: 'Save view' }).click()
  await expect(menu(page)).toBeHidden()
  await expect(page.getByRole('button', { name, exact: true })).toBeVisible()
}

test('a saved view sets the filters for traces, and the button shows its name', async ({ page }) => {
  const { project } = organization
  await page.goto(`/traces?project=${project.slug}&status=completed&metadata.customer.tier=gold`)
  await saveView(page, 'Gold customers')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByRole('button', { name: 'Views' }).click()
  await menu(page)
    .getByRole('list', { name: 'Only you' })
    .getByRole('button', { name: 'Gold customers', exact: true })
    .click()
  await expect(page).toHaveURL(/status=completed/)
  await expect(page).toHaveURL(/metadata\.customer\.tier=gold/)
  await expect(page).toHaveURL(new RegExp(`project=${project.slug}`))
  await expect(page.getByRole('table', { name: 'Traces' }).getByRole('link')).toHaveCount(1)
  await expect(menu(page)).toBeHidden()
  // The URL alone identifies the view.
  await page.reload()
  await page.getByRole('button', { name: 'Gold customers' }).click()
  await expect(menu(page).getByRole('button', { name: 'Gold customers', exact: true })).toHaveAttribute('aria-current')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(page.getByRole('button', { name: 'Views' })).toBeVisible()
})

test('colleagues see shared views, and only owners and managers can delete them', async ({ page, anotherBrowser }) => {
  const { project, reviewer } = organization
  await page.goto(`/traces?project=${project.slug}&status=completed`)
  await saveView(page, 'Mine')
  await page.goto(`/traces?project=${project.slug}&status=running`)
  await saveView(page, 'Ours', { isShared: true })
  const { key } = await reviewer('Kofi')
  const colleague = await anotherBrowser(key)
  await colleague.goto(`/traces?project=${project.slug}`)
  await colleague.getByRole('button', { name: 'Views' }).click()
  await expect(menu(colleague).getByRole('button')).toHaveText(['Ours'])
  await menu(colleague).getByRole('button', { name: 'Ours' }).click()
  await expect(colleague).toHaveURL(/status=running/)

  await page.getByRole('button', { name: 'Ours' }).click()
  await expectAccessibleOnEveryScreen(page)
  await menu(page).getByRole('button', { name: 'Delete view Ours' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete view?' })
  await expect(dialog).toContainText('This deletes the view Ours for everyone in the project.')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await expect(dialog).toBeHidden()
  await page.getByRole('button', { name: 'Views' }).click()
  await expect(menu(page).getByRole('button', { name: 'Mine', exact: true })).toBeVisible()
  await expect(menu(page).getByRole('button', { name: 'Ours', exact: true })).toBeHidden()
})

test('a view with the same name is replaced, and a view never switches the project', async ({ page }) => {
  const { project, call, ownerKey } = organization
  const view = { projectSlug: project.slug, name: 'Mine', page: 'spans' }
  await call('POST', '/api/views', { ...view, query: 'project=other&x=y&decision=accept' }, ownerKey)
  await page.goto(`/spans?project=${project.slug}&stepId=nothing`)
  await page.getByRole('button', { name: 'Views' }).click()
  await menu(page).getByRole('textbox', { name: 'Save the current filters as' }).fill(' Mine ')
  await expect(menu(page).getByRole('button', { name: 'Replace view' })).toBeVisible()
  await menu(page).getByRole('button', { name: 'Mine', exact: true }).click()
  await expect(page).toHaveURL(new RegExp(`/spans\\?project=${project.slug}&decision=accept$`))
  await page.goto(`/spans?project=${project.slug}&stepId=nothing`)
  await page.getByRole('button', { name: 'Views' }).click()
  await menu(page).getByRole('textbox', { name: 'Save the current filters as' }).fill('Mine')
  await menu(page).getByRole('button', { name: 'Replace view' }).click()
  // Until the menu is closed, it has a button with the same name.
  await expect(menu(page)).toBeHidden()
  await page.getByRole('button', { name: 'Mine', exact: true }).click()
  await expect(menu(page).getByRole('list').getByRole('button', { name: 'Mine', exact: true })).toHaveCount(1)
})

test('a saved view sets the order and the filters for the review queue', async ({ page }) => {
  const { project } = organization
  await page.goto(`/review?project=${project.slug}&order=newest&stepId=generate-answer`)
  await saveView(page, 'Newest answers')
  const filters = page.getByRole('search', { name: 'Filters' })
  await filters.getByRole('button', { name: 'Order: Newest first', exact: true }).click()
  await page.getByRole('option', { name: 'Random' }).click()
  await expect(page).toHaveURL(/order=random/)
  await page.getByRole('button', { name: 'Views' }).click()
  await menu(page).getByRole('button', { name: 'Newest answers', exact: true }).click()
  await expect(page).toHaveURL(/order=newest/)
  await expect(filters.getByRole('button', { name: 'Order: Newest first', exact: true })).toBeVisible()
})
