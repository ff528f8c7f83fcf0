import type { Page, Request } from '@playwright/test'

interface Call {
  url: string
  begin: number
  /** When its answer was whole; undefined: it is under way. */
  end?: number
}

/**
 * Notes the calls of the API that a page makes, each held back for a while: so calls that wait for each other stand apart from
 * those that only happen to come late.
 */
export async function slowedCalls(page: Page, delayMs: number) {
  const calls = new Map<Request, Call>()
  const end = (request: Request) => {
    const call = calls.get(request)
    if (call) call.end = performance.now()
  }
  page.on('request', request => {
    const { pathname, search } = new URL(request.url())
    if (pathname.startsWith('/api/')) calls.set(request, { url: pathname + search, begin: performance.now() })
  })
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  await page.route('**/api/**', async route => {
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await route.continue()
  })
  return {
    /** Waits until no call is under way, nor any new one within the delay. */
    settle: async () => {
      for (let quietSince = performance.now(); performance.now() - quietSince < delayMs; ) {
        await page.waitForTimeout(20)
        if ([...calls.values()].some(call => call.end === undefined)) quietSince = performance.now()
      }
    },
    /** The calls by rounds: each began after one of the round before had ended. */
    rounds: () => roundsOf([...calls.values()]),
    stop: () => page.unrouteAll({ behavior: 'ignoreErrors' }),
  }
}

function roundsOf(calls: readonly Call[]): string[][] {
  const rounds: Call[][] = []
  for (const call of calls.toSorted((one, other) => one.begin - other.begin)) {
    const before = rounds.findLastIndex(round => round.some(({ end = Number.POSITIVE_INFINITY }) => end <= call.begin))
    const round = rounds[before + 1]
    if (round) round.push(call)
    else rounds.push([call])
  }
  return rounds.map(round => round.map(({ url }) => url))
}
