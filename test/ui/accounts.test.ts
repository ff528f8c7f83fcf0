import { newOrganization, type Organization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization

test.beforeAll(async () => {
  organization = await newOrganization()
})

test('asks a user in several organizations which one to open, and remembers the answer', async ({ page, context }) => {
  await signIn(context, organization.ownerKey)
  const session = await (await context.request.get('/api/session')).json()
  const { slug } = session.organization
  // Respond as the service does if Cloudflare Access lets the caller in as a user in both organizations.
  const requestedSlugs: (string | undefined)[] = []
  await page.route('**/api/session', route => {
    const requested = route.request().headers()['x-org-slug']
    requestedSlugs.push(requested)
    if (requested === slug) return route.fulfill({ json: { ...session, key: null } })
    const details = [{ path: 'x-org-slug', message: 'You belong to several organizations; select one' }]
    return route.fulfill({ status: 401, json: { error: 'Not authenticated', code: 'unauthorized', details } })
  })
  const organizations = [
    { slug, name: 'Acme' },
    { slug: 'imposter', name: 'Imposter' },
  ]
  await page.route('**/api/session/organizations', route => route.fulfill({ json: { organizations } }))
  await page.goto('/traces')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Choose an organization')
  await page.getByRole('button', { name: 'Acme' }).click()
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible()
  await page.reload()
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible()
  expect(requestedSlugs.at(-1)).toBe(slug)
  await page.getByRole('button', { name: /Acme/ }).click()
  await page.getByRole('menuitem', { name: 'Switch organization' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Choose an organization')
  // If the remembered organization no longer lets the user in, the app forgets it and asks again.
  await page.evaluate(() => localStorage.setItem('countersign.organization', 'left-long-ago'))
  await page.reload()
  await expect(page.getByRole('button', { name: 'Imposter' })).toBeVisible()
})

test('appoints adjudicators, edits users, and deletes them', async ({ page, context }) => {
  await signIn(context, organization.ownerKey)
  await organization.make('/api/users', { email: 'ada@example.com', name: 'Ada' })
  await page.goto('/settings/users')
  const adjudicates = page.getByRole('switch', { name: 'Ada is an adjudicator' })
  await expect(adjudicates).not.toBeChecked()
  const saved = page.waitForResponse(response => response.request().method() === 'PATCH')
  await adjudicates.click({ force: true })
  expect((await saved).status()).toBe(200)
  await page.reload()
  await expect(adjudicates).toBeChecked()
  await page.getByRole('button', { name: 'Edit Ada' }).click()
  await page.getByLabel('Name').fill('Ada Lopez')
  await page.getByLabel('Email').fill('lopez@example.com')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('table')).toContainText('lopez@example.com')
  await page.getByRole('button', { name: 'Delete Ada Lopez' }).click()
  await page.getByRole('button', { name: 'Delete user' }).click()
  await expect(page.getByText('lopez@example.com')).toBeHidden()
})

test('shows in the audit log why somebody overrode a gate', async ({ page, context }) => {
  await signIn(context, organization.ownerKey)
  await organization.call('PUT', `/api/projects/${organization.project.id}/gates/answer`, { minItems: 10 })
  const prompt = { projectSlug: organization.project.slug, stepId: 'answer', content: 'Answer.' }
  await organization.make('/api/prompts', { ...prompt, override: 'There is no candidate yet.' })
  await page.goto('/settings/audit-log')
  const log = page.getByRole('table', { name: 'Audit log' })
  await expect(log.getByRole('row', { name: 'Prompt created' })).toContainText(
    'Gate overridden: There is no candidate yet.',
  )
  await expect(log.getByRole('row', { name: 'Gate set' })).not.toContainText('overridden')
})

test('deletes a project once its slug is entered, and forgets that it was open', async ({ page, context }) => {
  await signIn(context, organization.ownerKey)
  await organization.make('/api/projects', { slug: 'spare', name: 'Spare' })
  await page.goto('/settings/projects?project=spare')
  await page.getByRole('button', { name: 'Delete Spare' }).click()
  const confirm = page.getByRole('button', { name: 'Delete project' })
  await expect(confirm).toBeDisabled()
  await page.getByLabel('Type spare to confirm').fill('spar')
  await expect(confirm).toBeDisabled()
  await page.getByLabel('Type spare to confirm').fill('spare')
  await confirm.click()
  await expect(page.getByRole('table')).not.toContainText('Spare')
  await expect(page).not.toHaveURL(/spare/)
  expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain('spare')
})

test("renames steps, shows why a name is rejected, and restores a step's old name", async ({ page, context }) => {
  await signIn(context, organization.ownerKey)
  for (const stepId of ['classify', 'route']) {
    await organization.make('/api/prompts', { projectSlug: organization.project.slug, stepId, content: 'Do it.' })
  }
  await page.goto('/settings/step-names?project=support')
  await expect(page.getByRole('heading', { name: 'No renamed steps' })).toBeVisible()
  const rename = async (oldName: string, newName: string) => {
    await page.getByRole('button', { name: 'Rename a step' }).click()
    await page.getByLabel('Old name').fill(oldName)
    await page.getByLabel('New name').fill(newName)
    await page.getByRole('button', { name: 'Rename', exact: true }).click()
  }
  await rename('classify', 'route')
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('has a prompt, and so does "route"')
  await page.getByLabel('New name').fill(' triage ')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await expect(dialog).toBeHidden()
  const table = page.getByRole('table', { name: 'Renamed steps' })
  await expect(table.getByRole('row', { name: 'classify' })).toContainText('triage')
  await rename('triage', 'other')
  await expect(dialog).toContainText("is also a step's new name")
  await page.getByLabel('Old name').fill('classify')
  await expect(dialog).toContainText('already has a new name')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.goto('/prompts?project=support')
  await expect(page.getByRole('main')).toContainText('triage')
  await page.goto('/settings/step-names?project=support')
  await page.getByRole('button', { name: 'Restore the name classify' }).click()
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'No renamed steps' })).toBeVisible()
})
