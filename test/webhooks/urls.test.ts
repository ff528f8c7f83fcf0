import { describe, it } from 'vitest'
import { MAX_WEBHOOK_URL_LENGTH } from '../../src/limits.ts'
import { newHooked } from '../support/webhooks.ts'

/* The URLs that events are never sent to. The service is at https://countersign.test in tests. */

const HTTPS = 'must begin with https://'
const ADDRESS = 'must have a host name, not an IP address'
const PRIVATE = 'must have a public host name'
const PORT = 'must use port 443, or port 1024 or higher'
const USER = 'must not contain a user name or a password'
const NO_URL = 'must be a URL'

const REFUSED: readonly (readonly [url: unknown, why: string])[] = [
  ['http://hooks.example.com/in', HTTPS],
  ['HTTP://hooks.example.com/in', HTTPS],
  ['ftp://hooks.example.com/in', HTTPS],
  ['file:///etc/passwd', HTTPS],
  ['data:text/plain,hello', HTTPS],
  ['javascript:alert(1)', HTTPS],
  ['wss://hooks.example.com/in', HTTPS],
  ['https://127.0.0.1/in', ADDRESS],
  ['https://127.0.0.1./in', ADDRESS],
  ['https://8.8.8.8/in', ADDRESS],
  ['https://127.1/in', ADDRESS],
  ['https://2130706433/in', ADDRESS],
  ['https://0177.0.0.1/in', ADDRESS],
  ['https://017700000001/in', ADDRESS],
  ['https://0x7f.0.0.1/in', ADDRESS],
  ['https://0x7f000001/in', ADDRESS],
  ['https://0X7F.1/in', ADDRESS],
  ['https://0/in', ADDRESS],
  ['https://１２７.０.０.１/in', ADDRESS],
  ['https://127。0。0。1/in', ADDRESS],
  ['https://%31%32%37.0.0.1/in', ADDRESS],
  ['https://169.254.169.254/latest/meta-data/', ADDRESS],
  ['https://[::1]/in', ADDRESS],
  ['https://[::]/in', ADDRESS],
  ['https://[0:0:0:0:0:0:0:1]:8443/in', ADDRESS],
  ['https://[::ffff:127.0.0.1]/in', ADDRESS],
  ['https://[::ffff:7f00:1]/in', ADDRESS],
  ['https://[64:ff9b::7f00:1]/in', ADDRESS],
  ['https://[fd00::1]/in', ADDRESS],
  ['https://[2606:4700:4700::1111]/in', ADDRESS],
  ['https://localhost/in', PRIVATE],
  ['https://LOCALHOST/in', PRIVATE],
  ['https://localhost./in', PRIVATE],
  ['https://localhost../in', PRIVATE],
  ['https://ｌｏｃａｌｈｏｓｔ/in', PRIVATE],
  ['https://ⓛocalhost/in', PRIVATE],
  ['https://local\thost/in', PRIVATE],
  ['https://hooks.localhost/in', PRIVATE],
  ['https://hooks.localhost./in', PRIVATE],
  ['https://localhost.localdomain/in', PRIVATE],
  ['https://metadata.google.internal/computeMetadata/v1/', PRIVATE],
  ['https://metadata.google.internal./computeMetadata/v1/', PRIVATE],
  ['https://METADATA.GOOGLE.INTERNAL/in', PRIVATE],
  ['https://internal/in', PRIVATE],
  ['https://printer.local/in', PRIVATE],
  ['https://wiki.intranet/in', PRIVATE],
  ['https://nas.lan/in', PRIVATE],
  ['https://router.home.arpa/in', PRIVATE],
  ['https://example.onion/in', PRIVATE],
  ['https://intranet/in', PRIVATE],
  ['https://ada@hooks.example.com/in', USER],
  ['https://ada:secret@hooks.example.com/in', USER],
  ['https://:secret@hooks.example.com/in', USER],
  ['https://hooks.example.com@127.0.0.1/in', USER],
  ['https://hooks.example.com/in#part', 'must not contain a fragment (#)'],
  ['https://hooks.example.com:22/in', PORT],
  ['https://hooks.example.com:25/in', PORT],
  ['https://hooks.example.com:80/in', PORT],
  ['https://hooks.example.com:1023/in', PORT],
  ['https://countersign.test/api/v1/traces', 'must not be this service itself'],
  ['https://COUNTERSIGN.TEST/in', 'must not be this service itself'],
  ['https://countersign.test./in', 'must not be this service itself'],
  ['https://countersign.test:8443/in', 'must not be this service itself'],
  ['https://hooks.example.com:99999/in', NO_URL],
  ['https://1.2.3.4.5/in', NO_URL],
  ['https://256.0.0.1/in', NO_URL],
  ['https://hooks example.com/in', NO_URL],
  ['https://', NO_URL],
  ['https:///', NO_URL],
  ['https://exa<mple.com/in', NO_URL],
  ['https://xn--/in', PRIVATE],
  ['//hooks.example.com/in', NO_URL],
  ['hooks.example.com/in', NO_URL],
  ['', 'must'],
  [`https://hooks.example.com/${'x'.repeat(MAX_WEBHOOK_URL_LENGTH)}`, `${MAX_WEBHOOK_URL_LENGTH}`],
  [`https://${'x.'.repeat(100_000)}example.com/`, `${MAX_WEBHOOK_URL_LENGTH}`],
  [null, 'must'],
  [42, 'must'],
  [['https://hooks.example.com/in'], 'must'],
]

const ACCEPTED = [
  'https://hooks.example.com',
  'https://hooks.example.com./in',
  'https://hooks.example.com:443/in',
  'https://hooks.example.com:8443/in?token=a%20b&c=ü',
  'https://bücher.example/in',
  'https://xn--bcher-kva.example/in',
  'https://internal.example.com/in',
  'https://localhost.example.com/in',
  'https://countersign.test.example.com/in',
  'https://hooks.example.com/https://127.0.0.1/',
  `https://hooks.example.com/${'x'.repeat(MAX_WEBHOOK_URL_LENGTH - 'https://hooks.example.com/'.length)}`,
]

const events = ['span.reviewed']

describe("a webhook's URL", () => {
  it('is refused if events must not be sent to it, both for a new webhook and for a change', async ({ expect }) => {
    const { manager, path, webhook, read } = await newHooked()
    for (const [url, why] of REFUSED) {
      for (const [call, response] of [
        ['POST', await manager.post('/api/webhooks', { projectSlug: 'support', url, events })],
        ['PATCH', await manager.patch(path, { url })],
      ] as const) {
        const { status, body } = response
        expect([call, url, status, body.details?.[0]?.path]).toEqual([call, url, 400, 'url'])
        expect([url, body.error]).toEqual([url, expect.stringContaining(why)])
      }
    }
    const { webhooks } = (await manager.get('/api/webhooks')).body
    expect(webhooks).toHaveLength(1)
    expect((await read()).url).toBe(webhook.url)
  })

  it.for(ACCEPTED)('may be %s', async (url, { expect }) => {
    const { manager, webhook, path } = await newHooked({ url })
    expect(webhook).toMatchObject({ url })
    expect((await manager.patch(path, { url: 'https://other.example.com' })).status).toBe(200)
    expect((await manager.patch(path, { url })).body).toMatchObject({ url })
  })

  it('is required when a webhook is created, and optional when it is changed', async ({ expect }) => {
    const { manager, path, webhook } = await newHooked()
    const created = await manager.post('/api/webhooks', { projectSlug: 'support', events })
    expect([created.status, created.body.details[0].path]).toEqual([400, 'url'])
    expect((await manager.patch(path, { description: 'New' })).body).toMatchObject({
      url: webhook.url,
      description: 'New',
    })
  })
})
