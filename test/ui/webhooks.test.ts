import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expectAccessibleDialog, expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

const HOSTILE = '<img src=x onerror="window.__pwned = 1"> \u202Egnp.exe'

interface Receiver {
  url: string
  /** The IDs of the events that it has received. */
  ids: (string | undefined)[]
  /** What it returns from now on. */
  answer: { status: number; body: string }
  close: () => void
}

/** A webhook receiver on this machine. It fails at first. */
async function newReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    receiver.ids.push(idOf(request.headers))
    request.resume().on('end', () => response.writeHead(receiver.answer.status).end(receiver.answer.body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    ids: [],
    answer: { status: 503, body: HOSTILE },
    close: () => server.close(),
  }
  return receiver
}

const idOf = ({ 'webhook-id': id }: IncomingHttpHeaders) => (typeof id === 'string' ? id : undefined)

test('a webhook is created, tested, replayed, disabled, and deleted', async ({ page, context }) => {
  const { ownerKey, project } = await newOrganization()
  const receiver = await newReceiver()
  const { host } = new URL(receiver.url)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(context, ownerKey)
  await page.goto(`/settings/webhooks?project=${project.slug}`)
  await expect(page.getByRole('heading', { name: 'No webhooks' })).toBeVisible()

  const secretDialog = page.getByRole('dialog').filter({ hasText: 'Copy this secret now' })
  const copySecret = async () => {
    await secretDialog.getByRole('button', { name: 'Copy secret' }).click()
    const secret = await page.evaluate(() => navigator.clipboard.readText())
    expect(secret).toMatch(/^whsec_/)
    await expect(secretDialog).toContainText(secret)
    await secretDialog.getByRole('button', { name: "I've copied it" }).click()
    await expect(secretDialog).toBeHidden()
    return secret
  }

  const secret = await test.step('create, with errors next to their fields', async () => {
    await page.getByRole('button', { name: 'New webhook' }).click()
    const form = page.getByRole('dialog', { name: 'New webhook' })
    await expect(form.getByRole('button', { name: 'Create webhook' })).toBeDisabled()
    await form.getByRole('checkbox', { name: 'span.reviewed' }).check()
    await form.getByLabel('URL').fill('ftp://example.com')
    await form.getByLabel('Description').fill(HOSTILE)
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await expect(form.getByLabel('URL')).toHaveAccessibleDescription(/must begin with https/)
    await expectAccessibleDialog(page)
    await form.getByLabel('URL').fill(receiver.url)
    await page.keyboard.press('Enter')
    return copySecret()
  })

  const row = page.getByRole('row').filter({ hasText: host })
  await expect(row).toContainText('span.reviewed')
  await expect(row).toContainText('All')
  await expect(row).toContainText('U+202E')
  await page.reload()
  await expect(row).toContainText('Enabled')
  expect(await page.content()).not.toContain(secret)

  const delivery = page.getByRole('row').filter({ hasText: 'webhook.test' })
  const dialog = page.getByRole('dialog', { name: 'webhook.test' })
  await test.step('send a test event, which fails', async () => {
    await row.getByRole('link', { name: host }).click()
    await expect(page.getByRole('heading', { name: 'No deliveries yet' })).toBeVisible()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await expect(delivery).toContainText('503')
    await expect(delivery).toContainText('Pending')
    await delivery.getByRole('button', { name: 'webhook.test' }).press('Enter')
    await expect(dialog.getByRole('region', { name: 'Request' })).toContainText('"type": "webhook.test"')
    await expect(dialog.getByRole('region', { name: 'Response' })).toContainText('<img src=x onerror=')
    await expect(dialog.getByRole('region', { name: 'Response' })).toContainText('U+202E')
    await expectAccessibleDialog(page)
  })

  await test.step('replay it', async () => {
    receiver.answer = { status: 204, body: '' }
    await dialog.getByRole('button', { name: 'Send now' }).click()
    await expect(dialog).toContainText('Delivered')
    await expect(dialog).toContainText('Returned 204')
    await page.keyboard.press('Escape')
    await expect(delivery).toContainText('204')
    await expect(delivery.getByRole('button', { name: 'webhook.test' })).toBeFocused()
    expect(receiver.ids).toHaveLength(2)
    expect(new Set(receiver.ids).size).toBe(1)
  })

  await test.step('filter deliveries', async () => {
    await page.getByRole('combobox', { name: 'Show deliveries' }).click()
    await page.getByRole('option', { name: 'Failed' }).click()
    await expect(page.getByRole('heading', { name: 'No deliveries in this state' })).toBeVisible()
    await page.getByRole('combobox', { name: 'Show deliveries' }).click()
    await page.getByRole('option', { name: 'All' }).click()
    await expect(delivery).toBeVisible()
  })

  await test.step('replace the secret', async () => {
    await page.getByRole('button', { name: `Replace the secret for ${host}` }).click()
    await expect(page.getByRole('dialog')).toContainText('For 24 hours, deliveries are signed with both secrets')
    await page.getByRole('button', { name: 'Create new secret' }).click()
    expect(await copySecret()).not.toBe(secret)
  })

  await test.step('edit it', async () => {
    await page.getByRole('button', { name: `Edit ${host}` }).click()
    await page.getByRole('dialog').getByRole('checkbox', { name: 'span.disputed' }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await expect(page.getByRole('main')).toContainText('span.disputed')
  })

  await test.step('disable it', async () => {
    await page.getByRole('switch', { name: `Send events to ${host}` }).press('Space')
    await expect(page.getByRole('main')).toContainText('By a manager')
    await expect(page.getByRole('button', { name: 'Send test event' })).toBeDisabled()
    await expectAccessibleOnEveryScreen(page)
  })

  await test.step('delete it', async () => {
    await page.getByRole('button', { name: `Delete ${host}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete webhook' }).click()
    await expect(page.getByRole('heading', { name: 'No webhooks' })).toBeVisible()
  })
  receiver.close()
})
