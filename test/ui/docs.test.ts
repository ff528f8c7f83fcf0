import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization } from './organization.ts'
import { serverUrl } from './server.ts'
import { expect, test } from './test.ts'

test('the API page lists every endpoint, is accessible in both color schemes, and fits on a phone screen', async ({
  page,
}) => {
  const document = await (await fetch(`${serverUrl()}/openapi.json`)).json()
  const operations: { operationId: string }[] = Object.values(document.paths).flatMap(path => Object.values(path ?? {}))
  await page.goto('/docs#postApiV1Batch')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Countersign API')
  const links = page.getByRole('navigation').getByRole('link')
  await expect(links).toHaveCount(operations.length)
  await expect(page.locator('details[id]')).toHaveCount(operations.length)

  // The endpoint in the URL is expanded.
  const batch = page.locator('#postApiV1Batch')
  await expect(batch.getByRole('heading', { name: 'Try it' })).toBeVisible()
  await batch.getByText('Fields in events').click()
  await batch.getByText('type: "span"').click()
  await batch.getByText('Fields in body').click()
  await expect(batch.getByText('parent_span_id').first()).toBeVisible()
  await batch.getByText('207').click()

  await expectAccessibleOnEveryScreen(page)
})

test('the API page shows an example of each kind of file', async ({ page }) => {
  await page.goto('/docs#getApiDatasetsDatasetIdExport')
  const item = page.locator('#getApiDatasetsDatasetIdExport')
  await item.getByText('200', { exact: true }).click()
  await expect(item.getByText('A file, application/jsonl:')).toBeVisible()
  await expect(item.getByText('{"end":true,"items":1}')).toBeVisible()
  await expect(item.getByText('id,spanId,traceId,decision')).toBeVisible()
})

test('the API page sends requests with a key, and does not store the key', async ({ page, context }) => {
  const { key } = await newOrganization()
  await page.goto('/docs')
  await page.getByLabel('API key or admin token').fill(key)
  await page.getByRole('navigation').getByRole('link', { name: 'POST /api/v1/traces', exact: true }).click()
  const write = page.locator('#postApiV1Traces')
  const body = { trace_id: 'trace_try', name: 'tried', timestamp: '2026-11-21T09:30:00.000Z', status: 'running' }
  await write.getByLabel('Body').fill(JSON.stringify(body))
  await write.getByRole('button', { name: 'Send' }).click()
  await expect(write.getByRole('status')).toContainText('202')
  await expect(write.getByRole('status')).toContainText('trace_try')

  await page.getByLabel('Filter').fill('/api/v1/traces/search')
  const search = page.locator('#getApiV1TracesSearch')
  await search.locator('summary').first().click()
  await search.getByLabel('name', { exact: true }).fill('tried')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await search.getByRole('button', { name: 'Copy as curl' }).click()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  expect(command).toContain('/api/v1/traces/search?name=tried')
  expect(command).not.toContain(key)
  await search.getByRole('button', { name: 'Send' }).click()
  await expect(search.getByRole('status')).toContainText('200')
  await expect(search.getByRole('status')).toContainText('trace_try')

  expect(page.url()).not.toContain(key)
  expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain(key)
  await page.reload()
  await expect(page.getByLabel('API key or admin token')).toHaveValue('')
})
