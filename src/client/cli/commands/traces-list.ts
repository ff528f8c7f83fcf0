import { defineCommand } from '../command.ts'
import { shownLine } from '../shown-text.ts'
import { traceFilterOptions, traceQuery } from '../trace-filters.ts'
import type { ListedTrace } from '../wire.ts'

const DEFAULT_LIMIT = 20

export const listTraces = defineCommand({
  name: 'traces list',
  summary: 'List traces, newest first',
  description: ['To get all traces, use `traces export`.'],
  arguments: {},
  options: {
    ...traceFilterOptions,
    limit: {
      type: 'number',
      value: 'n',
      min: 1,
      max: 10_000,
      description: `How many traces to list. Default: ${DEFAULT_LIMIT}.`,
    },
  },
  examples: [
    ['countersign traces list --rating negative --from 2026-11-01', 'What users complained about this month'],
    ['countersign traces list --metadata group_id=session-1 --json', 'A conversation, as JSON'],
  ],
  scopes: ['read'],
  json: '`{traces, hasMore}`, each trace as in `GET /api/traces`',
  async run({ out, connect }, { options: { limit = DEFAULT_LIMIT, ...filters } }) {
    const query = traceQuery(filters)
    const connection = await connect()
    const projectSlug = await connection.projectSlug()
    const traces: ListedTrace[] = []
    let hasMore = false
    const pages = connection.list<ListedTrace>('/api/traces', 'traces', {
      projectSlug,
      ...query,
      limit: Math.min(limit, 200),
    })
    for await (const trace of pages) {
      if (traces.length === limit) {
        hasMore = true
        break
      }
      traces.push(trace)
    }
    await out.json({ traces, hasMore })
    for (const { createdAt, traceId, name, status, reviewState, errorType, outputPreview } of traces) {
      const facts = [name, status, reviewState, ...(errorType === null ? [] : [errorType])]
      await out.line(`${createdAt}  ${traceId}  ${shownLine(facts.join(' · '), 200)}`)
      if (outputPreview !== null) await out.line(`  ${shownLine(outputPreview, out.width - 2)}`, 'faint')
    }
    if (traces.length === 0) await out.note('No traces match.')
    if (hasMore) await out.note(`There are more. Add --limit, or use "countersign traces export".`, 'faint')
    return 'ok'
  },
})
