import { describe, it } from 'vitest'
import { jsonResponse, newClient } from './service.ts'

const BOOKMARK = 'x-d1-bookmark'

describe('a client of a service with replicas', () => {
  it('sends the newest bookmark of each database, in whatever order responses arrive', async ({ expect }) => {
    const bookmarks = ['DB=0005, DB_1=0002', 'DB=0003, DB_1=0004', 'DB=0001']
    const { countersign, sent } = newClient(() =>
      jsonResponse(200, { traces: [], nextCursor: null }, { [BOOKMARK]: bookmarks.shift() ?? '' }),
    )
    for (let request = 0; request < 4; request++) for await (const _ of countersign.traces.list()) break
    expect(sent.map(({ headers }) => headers.get(BOOKMARK))).toEqual([
      null,
      'DB=0005, DB_1=0002',
      'DB=0005, DB_1=0004',
      'DB=0005, DB_1=0004',
    ])
  })

  it('reads what it has written, but reads prompts from the service’s memory', async ({ expect }) => {
    const { countersign, sent } = newClient(({ path, events }) => {
      if (path.startsWith('/api/prompts')) return jsonResponse(200, { prompts: [{ stepId: 'answer' }] })
      if (path.startsWith('/api/traces')) return jsonResponse(200, { traces: [], nextCursor: null })
      const results = events.map(() => ({ status: 202, body: {} }))
      return jsonResponse(207, { results }, { [BOOKMARK]: 'DB=0007' })
    })
    countersign.startTrace('run').complete()
    await countersign.flush()
    for await (const _ of countersign.traces.list()) break
    await countersign.prompts.active('answer')
    expect(sent.map(({ method, headers }) => [method, headers.get(BOOKMARK)])).toEqual([
      ['POST', null],
      ['GET', 'DB=0007'],
      ['GET', null],
    ])
  })

  it('sends no bookmark if the service has none', async ({ expect }) => {
    const { countersign, sent } = newClient(() => jsonResponse(200, { traces: [], nextCursor: null }))
    for (let request = 0; request < 2; request++) for await (const _ of countersign.traces.list()) break
    expect(sent.map(({ headers }) => headers.has(BOOKMARK))).toEqual([false, false])
  })
})
