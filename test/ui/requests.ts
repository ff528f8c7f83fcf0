import type { Page, Request, Route } from '@playwright/test'

const POLL_MS = 50
const QUIET_MS = 200
const NONE: Requests = new Set()

type Requests = Pick<ReadonlySet<Request>, 'has'>

/**
 * Tracks a page's requests. Returns a function that waits until no request has started or ended for `quietMs` and only
 * `held` requests are in flight.
 */
function followRequests(page: Page) {
  const inFlight = new Set<Request>()
  let changedAt = performance.now()
  const change = (request: Request, hasStarted: boolean) => {
    changedAt = performance.now()
    if (hasStarted) inFlight.add(request)
    else inFlight.delete(request)
  }
  page.on('request', request => change(request, true))
  page.on('requestfinished', request => change(request, false))
  page.on('requestfailed', request => change(request, false))
  return async (quietMs: number, held: Requests = NONE): Promise<void> => {
    while ([...inFlight].some(request => !held.has(request)) || performance.now() - changedAt < quietMs) {
      await page.waitForTimeout(POLL_MS)
      // The page may not have processed a response yet that has already arrived.
      await page.evaluate(() => new Promise(resolve => requestIdleCallback(resolve)))
    }
  }
}

/** Opens a page, and waits until all its requests have responses. */
export async function open(page: Page, address: string): Promise<void> {
  const quiet = followRequests(page)
  await page.goto(address)
  await quiet(QUIET_MS)
}

/**
 * Opens a page, holds back its API calls, and responds to them in rounds: first to the calls that the page makes before
 * it gets any response, then to the calls that follow from those responses, and so on. A call is always in the first
 * round in which the page has everything that the call needs, even on a slow machine. A round ends once the page makes no
 * new call for `quietMs`. Returns the URLs in each round.
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
