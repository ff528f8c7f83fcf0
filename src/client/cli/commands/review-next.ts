import { parametersOf } from '../../parameters.ts'
import type { SpanDetail } from '../../wire.ts'
import { defineCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import { rememberShown } from '../review/shown.ts'
import { printSpan } from '../span-text.ts'

/** How many spans to request. There are several, because other reviewers may claim the first ones in the meantime. */
const PAGE_SPANS = 10

export const reviewNext = defineCommand({
  name: 'review next',
  summary: 'Show the next output to review, and claim it',
  description: [
    "The claim lasts for 15 minutes, and nobody else is offered the output during that time. `review accept` and `review correct` then decide on it, but only if it hasn't changed in the meantime.",
  ],
  arguments: {},
  options: {
    step: { type: 'text', value: 'step', description: 'Only outputs from this step.' },
    order: {
      type: 'choice',
      choices: ['oldest', 'newest', 'negative', 'random', 'mine'],
      description: 'Which outputs come first. `mine`: those that are assigned to you. Default: oldest.',
    },
    full: { type: 'flag', description: 'Show values in full.' },
  },
  examples: [
    ['countersign review next', 'Show what has waited longest'],
    ['countersign review next --order negative --json', 'What users complained about, as JSON'],
  ],
  scopes: ['review'],
  json: '`{span, remaining}`; `span` is null if nothing is left, and `remaining` also counts outputs from other steps in the same traces',
  async run({ out, environment, connect }, { options: { step, order, full } }) {
    const connection = await connect()
    const { span, remaining } = await claimNext(connection, { stepId: step, order })
    if (span) await rememberShown(environment, { url: connection.url, spanId: span.id, etag: span.etag })
    await out.json({ span: span ?? null, remaining })
    if (!span) {
      await out.note('Nothing to review.')
      return 'ok'
    }
    await out.line(`${span.trace.name}  ${span.trace.traceId}`, 'faint')
    if (!out.isJson) await printSpan(out, span, { isFull: full })
    await out.note('\ncountersign review accept\ncountersign review correct', 'faint')
    return 'ok'
  },
})

interface QueuePage {
  spans: SpanDetail[]
  remaining: number
  nextCursor: string | null
}

/** Claims the first span in the queue that nobody else has claimed yet. */
async function claimNext(connection: Connection, filters: { stepId: string | undefined; order: string | undefined }) {
  const projectSlug = await connection.projectSlug()
  let remaining = 0
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = parametersOf({ projectSlug, ...filters, limit: PAGE_SPANS, cursor })
    const page: QueuePage = await connection.call<QueuePage>(`/api/review-queue?${query}`, 'spans')
    remaining = page.remaining
    for (const span of page.spans) {
      // The service filters traces, not spans.
      if (filters.stepId !== undefined && span.stepId !== filters.stepId) continue
      const body = JSON.stringify({ spanIds: [span.id] })
      const { claimed } = await connection.call<{ claimed: string[] }>('/api/review-queue/claim', 'claimed', {
        method: 'POST',
        body,
      })
      if (claimed.length > 0) return { span, remaining }
    }
    cursor = page.nextCursor
  }
  return { span: undefined, remaining }
}
