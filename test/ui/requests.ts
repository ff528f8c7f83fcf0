import type { Page, Request, Route } from '@playwright/test'

/** After this long without a new call the page waits for answers. Some that may be late are meant to be: 400 ms. */
const QUIET_MS = 600
const POLL_MS = 50

/**
 * Holds back the calls of the API that a page makes, and answers them round by round: those that it makes before any is
 * answered, then those that it makes on these answers, and so on. However slow the machine, a call is in the first round that
 * has all that it needs.
 */
export async function roundsOfCalls(page: Page, address: string): Promise<string[][]> {
  const held: Route[] = []
  const underWay = new Set<Request>()
  const isCall = (url: URL) => url.pathname.startsWith('/api/')
  let changedAt = performance.now()
  const noted = (change: () => unknown) => () => {
    change()
    changedAt = performance.now()
  }
  const begin = (request: Request) => noted(() => !isCall(new URL(request.url())) && underWay.add(request))()
  const end = (request: Request) => noted(() => underWay.delete(request))()
  page.on('request', begin)
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  await page.route(isCall, route => noted(() => held.push(route))())

  const quiet = async () => {
    while (underWay.size > 0 || performance.now() - changedAt < QUIET_MS) {
      await page.waitForTimeout(POLL_MS)
      // An answer that is there may still wait for the page to read it.
      await page.evaluate(() => new Promise(resolve => requestIdleCallback(resolve)))
    }
  }
  const rounds: string[][] = []
  await page.goto(address)
  await quiet()
  while (held.length > 0) {
    const round = held.splice(0)
    rounds.push(round.map(route => route.request().url()))
    for (const route of round) underWay.add(route.request())
    await Promise.all(round.map(route => route.continue()))
    await quiet()
  }
  await page.unroute(isCall)
  return rounds
}
