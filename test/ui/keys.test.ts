import { newOrganization } from './organization.ts'
import { serverUrl } from './server.ts'
import { expect, signIn, test } from './test.ts'

test('a new key is shown once, can be copied, works, and can be revoked', async ({ page, context }) => {
  const { ownerKey, project } = await newOrganization()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(context, ownerKey)
  await page.goto(`/settings/keys?project=${project.slug}`)
  await page.getByRole('button', { name: 'New key' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').fill('Test pipeline')
  for (const scope of ['ingest', 'review', 'manage']) await form.getByLabel(scope, { exact: true }).setChecked(false)
  await form.getByLabel('read', { exact: true }).setChecked(true)
  await page.keyboard.press('Enter')

  const secret = page.getByRole('dialog').filter({ hasText: 'Copy this key now' })
  await secret.getByRole('button', { name: 'Copy key' }).click()
  const key = await page.evaluate(() => navigator.clipboard.readText())
  expect(key).toMatch(/^cs_\w{24}$/)
  await expect(secret).toContainText(key)
  const read = () => fetch(`${serverUrl()}/api/traces?projectSlug=${project.slug}`, { headers: { 'x-api-key': key } })
  expect((await read()).status).toBe(200)
  const write = await fetch(`${serverUrl()}/api/projects`, { headers: { 'x-api-key': key } })
  expect(write.status).toBe(403)

  await page.goBack()
  await expect(secret).toContainText(key)
  await secret.getByRole('button', { name: "I've copied it" }).click()
  await expect(secret).toBeHidden()
  await page.reload()
  const row = page.getByRole('row').filter({ hasText: 'Test pipeline' })
  await expect(row).toContainText(key.slice(0, 8))
  expect(await page.content()).not.toContain(key)
  expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain(key)

  await row.getByRole('button', { name: /Revoke/ }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Revoke/ })
    .click()
  await expect(row).toContainText('Revoked')
})

test("a key's scopes and name can be changed, and a key that can review but not read gets a warning", async ({
  page,
  context,
}) => {
  const { ownerKey, project, reviewer } = await newOrganization()
  const { key } = await reviewer('Ada')
  await signIn(context, ownerKey)
  await page.goto(`/settings/keys?project=${project.slug}`)
  await page.getByRole('button', { name: 'Edit Ada' }).click()
  const form = page.getByRole('dialog', { name: 'Edit Ada' })
  await form.getByLabel('read', { exact: true }).setChecked(false)
  await expect(form.getByRole('status')).toContainText("can't see any outputs to review")
  await form.getByLabel('read', { exact: true }).setChecked(true)
  await form.getByLabel('review', { exact: true }).setChecked(false)
  await form.getByLabel('Name').fill('Ada, reading')
  await form.getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row').filter({ hasText: 'Ada, reading' })
  await expect(row).toContainText('read')
  await expect(row).not.toContainText('review')
  const headers = { 'x-api-key': key }
  expect((await fetch(`${serverUrl()}/api/traces?projectSlug=${project.slug}`, { headers })).status).toBe(200)
})
