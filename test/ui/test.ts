import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { serverUrl } from './server.ts'

export { expect } from '@playwright/test'

declare global {
  interface Window {
    /** Set by what a hostile text would run, were it not shown as text. */
    __pwned?: unknown
  }
}

interface Fixtures {
  /** What went wrong in any page: a test fails unless it is empty at its end. */
  faults: string[]
  /** Opens the app in another browser, signed in with a key. */
  anotherBrowser: (key: string) => Promise<Page>
}

/** A test in a browser that nobody is signed in to. */
export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads what a fixture asks for from the pattern
  baseURL: ({}, use) => use(serverUrl()),

  faults: [
    async ({ context }, use) => {
      const faults: string[] = []
      await watch(context, faults)
      await use(faults)
      await requireUntouched(context)
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
      await requireUntouched(context)
      await context.close()
    }
  },
})

/** Signs a browser in without its pages, as they do it. */
export async function signIn(context: BrowserContext, key: string): Promise<void> {
  const response = await context.request.post(`${serverUrl()}/api/session`, {
    headers: { origin: serverUrl() },
    data: { apiKey: key },
  })
  expect(response.status()).toBe(201)
}

/** Notes errors on the console, exceptions, what the CSP refused, dialogs, and answers of 5xx. */
async function watch(context: BrowserContext, faults: string[]): Promise<void> {
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) =>
      console.error(`CSP: ${effectiveDirective} refused ${blockedURI} of ${sourceFile}:${lineNumber}`),
    )
  })
  context.on('console', message => {
    // A refusal is the app's to handle; each is an error to the console.
    const isRefusal = message.text().startsWith('Failed to load resource') && message.location().url.includes('/api/')
    if (message.type() === 'error' && !isRefusal) faults.push(`console: ${message.text()}`)
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

/** No page ran what came in a text. */
async function requireUntouched(context: BrowserContext): Promise<void> {
  for (const page of context.pages()) expect(await page.evaluate(() => window.__pwned)).toBeUndefined()
}
