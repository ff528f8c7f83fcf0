import type { Page, Request, Route } from '@playwright/test'

const POLL_MS = 50
const QUIET_MS = 200
const NONE: Requests = new Set()

type Requests = Pick<ReadonlySet<Request>, 'has'>

/**
 * Follows the requests of a page. What it returns waits until there has been nothing new for a while, and nothing is under way
 * but what is `held`.
 */
function followRequests(page: Page) {
  const underWay = new Set<Request>()
  let changedAt = performance.now()
  const change = (request: Request, isBegun: boolean) => {
    changedAt = performance.now()
    if (isBegun) underWay.add(request)
    else underWay.delete(request)
  }
  page.on('request', request => change(request, true))
  page.on('requestfinished', request => change(request, false))
  page.on('requestfailed', request => change(request, false))
  return async (quietMs: number, held: Requests = NONE): Promise<void> => {
    while ([...underWay].some(request => !held.has(request)) || performance.now() - changedAt < quietMs) {
      await page.waitForTimeout(POLL_MS)
      // An answer that is there may still wait for the page to read it.
      await page.evaluate(() => new Promise(resolve => requestIdleCallback(resolve)))
    }
  }
}

/** Opens a page, and waits until it has got all that it asks for. */
export async function open(page: Page, address: string): Promise<void> {
  const quiet = followRequests(page)
  await page.goto(address)
  await quiet(QUIET_MS)
}

/**
 * Opens a page, holds back its calls of the API, and answers them round by round: those that it makes before any is answered,
 * then those that it makes on these answers, and so on. However slow the machine, a call is in the first round that has all
 * that it needs. `quietMs`: after this long without a new call the page waits for answers.
 */
export async function roundsOfCalls(page: Page, address: string, quietMs = QUIET_MS): Promise<string[][]> {
  const held = new Map<Request, Route>()
  const quiet = followRequests(page)
  const isCall = (url: URL) => url.pathname.startsWith('/api/')
  await page.route(isCall, route => {
    held.set(route.request(), route)
  })
  const rounds: string[][] = []
  await page.goto(address)
  await quiet(quietMs, held)
  while (held.size > 0) {
    const round = [...held.values()]
    held.clear()
    rounds.push(round.map(route => route.request().url()))
    await Promise.all(round.map(route => route.continue()))
    await quiet(quietMs, held)
  }
  await page.unroute(isCall)
  return rounds
}
