import * as v from 'valibot'
import { newOrganization, type Organization } from './organization.ts'
import { serverUrl } from './server.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization

test.beforeAll(async () => {
  organization = await newOrganization()
})

/** Everything in the browser's storage that a script on the page can read. */
const readableStorage = () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])

test("signs in with a key that scripts can't read back, and signs out", async ({ page, context }) => {
  const { key } = organization
  await page.goto('/traces')
  const form = page.getByRole('main')
  await expect(form.getByRole('heading', { level: 1 })).toHaveText('Sign in to Countersign')
  await form.getByLabel('API key').fill(key)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible()
  await expect(page).toHaveURL(/\/traces/)

  expect(await page.evaluate(readableStorage)).not.toContain(key)
  expect(await page.evaluate(() => document.cookie)).toBe('')
  expect(await context.cookies()).toEqual([
    expect.objectContaining({ name: 'countersign', httpOnly: true, sameSite: 'Strict', path: '/' }),
  ])
  expect(JSON.stringify(await context.cookies())).not.toContain(key)

  await page.reload()
  await page.getByRole('button', { name: /Acme/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in to Countersign')
  await page.reload()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in to Countersign')
  expect(await context.cookies()).toEqual([])
})

test('reports a wrong key, and then accepts a valid one', async ({ page }) => {
  await page.goto('/')
  await page.getByLabel('API key').fill(`cs_${'x'.repeat(24)}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('alert')).toContainText("Couldn't sign in")
  await expect(page.getByLabel('API key')).toHaveValue(`cs_${'x'.repeat(24)}`)
  await page.getByLabel('API key').fill(organization.key)
  await expect(page.getByRole('alert')).toBeHidden()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible()
})

test('signs in with a link once, and removes the token from the URL', async ({ page, context, baseURL }) => {
  const Link = v.object({ token: v.string() })
  const { token } = v.parse(Link, await organization.call('POST', '/api/sign-in-links', {}))
  await page.goto(`/sign-in#${token}`)
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible()
  expect(page.url()).not.toContain(token)
  await expect(page).toHaveURL(new RegExp(`^${baseURL}/(\\?|$)`))

  await context.clearCookies()
  await page.goto('about:blank')
  await page.goto(`/sign-in#${token}`)
  await expect(page.getByRole('alert')).toContainText("Couldn't sign in")
  await expect(page.getByLabel('API key')).toBeVisible()
  expect(await page.evaluate(readableStorage)).not.toContain(token)
})

test('asks before a link replaces the signed-in user', async ({ page, context }) => {
  const other = await newOrganization()
  await signIn(context, organization.key)
  const Link = v.object({ token: v.string() })
  const { token } = v.parse(Link, await other.call('POST', '/api/sign-in-links', {}, other.ownerKey))
  await page.goto(`/sign-in#${token}`)
  await expect(page.getByText("You're signed in as")).toBeVisible()
  expect(page.url()).not.toContain(token)
  await page.getByRole('link', { name: 'Continue' }).click()
  await expect(page.getByRole('button', { name: 'Pipeline Acme' })).toBeVisible()

  await page.goto(`/sign-in#${token}`)
  await page.getByRole('button', { name: 'Sign in with the link instead' }).click()
  await expect(page.getByRole('button', { name: 'Owner Acme' })).toBeVisible()
})

test('returns to the sign-in page if the session was ended elsewhere', async ({ page, anotherBrowser }) => {
  await page.goto('/prompts')
  await page.getByLabel('API key').fill(organization.key)
  await page.keyboard.press('Enter')
  const sections = page.getByRole('navigation', { name: 'Sections' })
  await expect(sections).toBeVisible()
  await page.waitForLoadState('networkidle')
  const other = await anotherBrowser(organization.key)
  await other.goto('/')
  await expect(other.getByRole('navigation', { name: 'Sections' })).toBeVisible()

  const ended = await page.context().request.delete('/api/session', { headers: { origin: serverUrl() } })
  expect(ended.ok()).toBe(true)
  await sections.getByRole('link', { name: 'Traces' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in to Countersign')
  await other.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Prompts' }).click()
  await expect(other.getByRole('heading', { name: 'Sign in to Countersign' })).toHaveCount(0)
})

test('opens the project that was used last', async ({ page }) => {
  await organization.make('/api/projects', { slug: 'archive', name: 'Archive' })
  const signIn = async () => {
    await page.getByLabel('API key').fill(organization.ownerKey)
    await page.keyboard.press('Enter')
  }
  const project = page.getByLabel('Project', { exact: true })
  await page.goto('/')
  await signIn()
  await project.selectOption('Support')
  await expect(page).toHaveURL(/project=support/)
  await page.getByRole('button', { name: /Acme/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.goto('/sign-in')
  await signIn()
  await expect(project).toHaveValue('support')
  await project.selectOption('Archive')
  await expect(page).toHaveURL(/project=archive/)
  await page.context().clearCookies()
  await page.goto('/')
  await signIn()
  await expect(project).toHaveValue('archive')
})

test('sends a content security policy that blocks inline scripts', async ({ page }) => {
  for (const path of ['/', '/review', '/traces', '/settings']) {
    const response = await page.goto(path)
    const policy = response?.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'self'; script-src 'self';")
  }
})
