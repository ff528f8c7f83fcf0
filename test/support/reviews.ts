import { anObservation, aSpan, aTrace } from './builders.ts'
import { type ApiResponse, type Client, newOrg, type Org } from './org.ts'

/** Creates a trace whose root span has an output, and returns functions that review the output. */
export async function newReviewed(output: unknown, tenant?: Org) {
  const org = tenant ?? (await newOrg())
  const trace = aTrace()
  const { trace_id } = trace
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  const observe = (fields: object) => org.ingest.post('/api/v1/observations', anObservation({ trace_id, ...fields }))
  const step = (fields: object) => org.ingest.post('/api/v1/spans', aSpan({ trace_id, ...fields }))
  await observe({ data: output })
  const { spans } = (await org.read.get(`/api/traces/${id}`)).body
  const spanId: string = spans[0].id
  return {
    org,
    id,
    trace_id,
    spanId,
    observe,
    step,
    review: (body: object, headers: Record<string, string> = {}, by: Client = org.owner): Promise<ApiResponse> =>
      by.put(`/api/spans/${spanId}/review`, body, headers),
    history: async () => (await org.owner.get(`/api/spans/${spanId}/reviews`)).body.reviews,
    read: async () => ({
      trace: (await org.read.get(`/api/traces/${id}`)).body,
      span: (await org.read.get(`/api/spans/${spanId}`)).body,
    }),
  }
}

/** Creates a user in the organization, and a reviewer's key for the user. */
export async function reviewerOf(org: Org, email = `${crypto.randomUUID()}@example.com`) {
  const user = (await org.owner.post('/api/users', { email, name: 'Reviewer' })).body
  const draft = { name: 'Reviewer', scopes: ['read', 'review'], userId: user.id }
  const { key, id } = (await org.owner.post('/api/api-keys', draft)).body
  return { userId: String(user.id), keyId: String(id), key: String(key), client: org.clientOf(key) }
}
