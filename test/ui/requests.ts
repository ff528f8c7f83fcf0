import type { Page, Request, Route } from '@playwright/test'

const POLL_MS = 50
const QUIET_MS = 200
const NONE: Requests = new Set()

type Requests = Pick<ReadonlySet<Request>, 'has'>

/**
 * Tracks a page's requests. Returns a function that waits until no request has started or ended for `quietMs`, only
 * `held` requests are in flight, and all scripts that arrived have run. The function doesn't wait for a script that
 * imports a held script.
 */
function followRequests(page: Page) {
  const inFlight = new Set<Request>()
  const arrived = new Set<Request>()
  let changedAt = performance.now()
  const change = (request: Request, hasStarted: boolean) => {
    changedAt = performance.now()
    if (hasStarted) inFlight.add(request)
    else inFlight.delete(request)
  }
  // On a busy machine, a script may run long after it has arrived, and only then make its requests. Importing the
  // script again waits until it has run.
  const run = async (request: Request) => {
    arrived.add(request)
    await page.evaluate(`import(${JSON.stringify(request.url())}).then(() => undefined)`).catch(() => undefined)
    arrived.delete(request)
    changedAt = performance.now()
  }
  const isRunning = () => arrived.size > 0 && ![...inFlight].some(isScript)
  page.on('request', request => change(request, true))
  page.on('requestfinished', request => {
    change(request, false)
    if (isScript(request)) run(request)
  })
  page.on('requestfailed', request => change(request, false))
  return async (quietMs: number, held: Requests = NONE): Promise<void> => {
    const isBusy = () => [...inFlight].some(request => !held.has(request)) || isRunning()
    while (isBusy() || performance.now() - changedAt < quietMs) {
      await page.waitForTimeout(POLL_MS)
      // The page may not have processed a response that has already arrived, so wait until the page is idle. While the
      // browser holds back frames, that may take a long time, so don't wait longer than a second.
      await page.evaluate(() => new Promise(resolve => requestIdleCallback(resolve, { timeout: 1000 })))
    }
  }
}

const isScript = (request: Request): boolean => request.resourceType() === 'script'

/** Opens a page, and waits until all its requests have responses. */
export async function open(page: Page, address: string): Promise<void> {
  const quiet = followRequests(page)
  await page.goto(address)
  await quiet(QUIET_MS)
}

interface Rounds {
  /** Which requests to hold back. The request for the document is never held back. */
  isHeld: (url: URL) => boolean
  quietMs?: number
  /** What to wait for before the first round. A page whose own files are held back can't load. */
  waitUntil?: 'commit' | 'load'
  /** Called before each round. If it returns true, the page needs no more rounds, and gets all responses. */
  isDone?: () => Promise<boolean>
}

/**
 * Opens a page, holds back its requests, and responds to them in rounds: first to the requests that the page makes
 * before it gets any response, then to the requests that follow from those responses, and so on. A request is always in
 * the first round in which the page has everything that the request needs, even on a slow machine. A round ends once
 * the page makes no new request for `quietMs`.
 */
export async function roundsOf(
  page: Page,
  address: string,
  { isHeld, quietMs = QUIET_MS, waitUntil = 'commit', isDone = async () => false }: Rounds,
): Promise<Request[][]> {
  const held = new Map<Request, Route>()
  const quiet = followRequests(page)
  let isOver = false
  await page.route(isHeld, async route => {
    if (isOver || route.request().isNavigationRequest()) await route.continue()
    else held.set(route.request(), route)
  })
  const release = async () => {
    const round = [...held.values()]
    held.clear()
    await Promise.all(round.map(route => route.continue()))
    return round.map(route => route.request())
  }
  const rounds: Request[][] = []
  await page.goto(address, { waitUntil })
  await quiet(quietMs, held)
  while (held.size > 0 && !(await isDone())) {
    rounds.push(await release())
    await quiet(quietMs, held)
  }
  isOver = true
  await release()
  return rounds
}

/** The URLs of a page's API calls in each round. */
export async function roundsOfCalls(page: Page, address: string, quietMs = QUIET_MS): Promise<string[][]> {
  const rounds = await roundsOf(page, address, {
    isHeld: url => url.pathname.startsWith('/api/'),
    quietMs,
    waitUntil: 'load',
  })
  return rounds.map(round => round.map(request => request.url()))
}
