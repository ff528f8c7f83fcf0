import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { serverUrl } from './server.ts'

export { expect } from '@playwright/test'

declare global {
  interface Window {
    /** Set by a hostile string's script if the app ever executes it. */
    __pwned?: unknown
  }
}

interface Fixtures {
  /** Errors in any page. A test fails if there are any when the test ends. */
  faults: string[]
  /** Opens the app in another browser, signed in with a key. */
  anotherBrowser: (key: string) => Promise<Page>
}

/** A test in a signed-out browser. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's dependencies in the pattern
  baseURL: ({}, use) => use(serverUrl()),

  faults: [
    async ({ context }, use) => {
      const faults: string[] = []
      await watch(context, faults)
      await use(faults)
      await expectNoScriptRan(context)
      expect(faults).toEqual([])
    },
    { auto: true },
  ],

  anotherBrowser: async ({ browser, contextOptions, baseURL, faults }, use) => {
    const contexts: BrowserContext[] = []
    await use(async key => {
      const context = await browser.newContext({ ...contextOptions, baseURL: baseURL ?? serverUrl() })
      contexts.push(context)
      await watch(context, faults)
      await signIn(context, key)
      return context.newPage()
    })
    for (const context of contexts) {
      await expectNoScriptRan(context)
      await context.close()
    }
  },
})

/** Signs a browser in through the API, the way the app's pages do. */
export async function signIn(context: BrowserContext, key: string): Promise<void> {
  const response = await context.request.post(`${serverUrl()}/api/session`, {
    headers: { origin: serverUrl() },
    data: { apiKey: key },
  })
  expect(response.status()).toBe(201)
}

/** Records console errors, exceptions, CSP violations, dialogs, and 5xx responses. */
async function watch(context: BrowserContext, faults: string[]): Promise<void> {
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) =>
      console.error(`CSP: ${effectiveDirective} refused ${blockedURI} of ${sourceFile}:${lineNumber}`),
    )
  })
  context.on('console', message => {
    // The browser logs every failed API call as an error, but the app handles those itself.
    const isFailedCall =
      message.text().startsWith('Failed to load resource') && message.location().url.includes('/api/')
    if (message.type() === 'error' && !isFailedCall) faults.push(`console: ${message.text()}`)
  })
  context.on('weberror', ({ error }) => faults.push(`exception: ${error().stack}`))
  context.on('dialog', async dialog => {
    faults.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  context.on('response', response => {
    if (response.status() >= 500) faults.push(`${response.status()}: ${response.url()}`)
  })
}

/** Asserts that no page executed a script from a hostile string. */
async function expectNoScriptRan(context: BrowserContext): Promise<void> {
  for (const page of context.pages()) expect(await page.evaluate(() => window.__pwned)).toBeUndefined()
}
