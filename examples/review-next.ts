/**
 * Takes the next output from the review queue, shows it, and decides on it:
 *
 *     node review-next.ts [accept | correct '<approved output as JSON>' ['<comment>']]
 */
const {
  COUNTERSIGN_URL: url = 'http://localhost:8787',
  COUNTERSIGN_KEY: key = '',
  COUNTERSIGN_PROJECT: project = 'support',
} = process.env
const [decision, approved = 'null', comment] = process.argv.slice(2)

interface QueuedSpan {
  id: string
  stepId: string
  input: unknown
  output: unknown
  /** Identifies the version that was read: a decision with this tag is rejected if the output has changed since. */
  etag: string
}

/** Makes one call. The type parameter is the response body that the API documents for it. */
async function call<Answer>(method: string, path: string, body?: object, headers = {}): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

/** Claims, for 15 minutes, the first span in the queue that nobody else has claimed. */
async function claimNext(): Promise<QueuedSpan | undefined> {
  const list = `/api/review-queue?projectSlug=${project}&limit=10`
  const { spans } = await call<{ spans: QueuedSpan[] }>('GET', list)
  for (const span of spans) {
    const { claimed } = await call<{ claimed: string[] }>('POST', '/api/review-queue/claim', { spanIds: [span.id] })
    if (claimed.length > 0) return span
  }
  return undefined
}

const span = await claimNext()
if (!span) {
  console.log('Nothing to review.')
} else {
  const { id, stepId, input, output, etag } = span
  console.log(JSON.stringify({ id, stepId, input, output }, undefined, 2))
  if (decision === 'accept' || decision === 'correct') {
    const approvedOutput = decision === 'correct' ? { approvedOutput: JSON.parse(approved) } : {}
    const review = { decision, ...approvedOutput, ...(comment && { comment }) }
    await call('PUT', `/api/spans/${id}/review`, review, { 'if-match': etag })
    console.log(decision === 'accept' ? 'Accepted.' : 'Corrected.')
  } else {
    await call('POST', '/api/review-queue/release', { spanIds: [id] })
  }
}

export {}
