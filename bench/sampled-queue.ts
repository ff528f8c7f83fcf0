import * as v from 'valibot'
import type { Client } from './client.ts'
import type { Place } from './reads.ts'
import type { Server } from './server.ts'
import type { Person, Reviewer } from './tenant.ts'

const Projects = v.object({ projects: v.tuple([v.object({ id: v.string() })]) })
const Pass = v.object({ due_at: v.number() })

const HOUR_MS = 60 * 60_000

/** Makes a Worker's queue offer 1 in 100 outputs, and runs cron until the queue's index has no other traces. */
export async function sampleQueue(server: Server, worker: string, client: Client): Promise<void> {
  await setPolicy(server, worker, client, { default: { sample: 0.01 } })
}

/** How many spans people disagree on, and how many other spans are assigned to the reviewer. */
const DISPUTED = 100
const ASSIGNED = 300

const Queue = v.object({ spans: v.array(v.object({ id: v.string() })), nextCursor: v.nullable(v.string()) })

/**
 * Makes a Worker's queue offer 1 in 100 outputs, and all outputs from traces with negative feedback, for blind review
 * by two people. Assigns spans to the reviewer, and makes people disagree on other spans.
 */
export async function shareQueue(
  server: Server,
  worker: string,
  { client, people }: Place,
  { reviewer }: Record<Person, Reviewer>,
): Promise<void> {
  const policy = {
    default: { sample: 0.01, reviewers: 2, blind: true },
    always: ['negative', 'error', 'low_confidence'],
  }
  await setPolicy(server, worker, client, policy)
  const spanIds: string[] = []
  let cursor = ''
  do {
    const query = `projectSlug=bench&all=true&stepId=answer&limit=100&payloads=preview${cursor}`
    const { body } = await client.call('GET', `/api/review-queue?${query}`)
    const page = v.parse(Queue, JSON.parse(body))
    spanIds.push(...page.spans.map(({ id }) => id))
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
  } while (cursor !== '' && spanIds.length < ASSIGNED + DISPUTED)
  const disputed = spanIds.slice(0, DISPUTED)
  const assigned = spanIds.slice(-ASSIGNED)
  await client.call('POST', '/api/review-queue/assign', { spanIds: assigned, userIds: [reviewer.id] })
  for (const [person, vote] of [
    ['reviewer', { decision: 'accept' }],
    ['colleague', { decision: 'correct', approvedOutput: { answer: 'No.' } }],
  ] as const) {
    const reviews = disputed.map(spanId => ({ spanId, ...vote }))
    await people[person].client.call('POST', '/api/reviews', { reviews })
  }
}

/** Sets the project's policy, and runs cron until the queue's index has only the traces that the policy selects. */
async function setPolicy(server: Server, worker: string, client: Client, policy: object): Promise<void> {
  const { body } = await client.call('GET', '/api/projects')
  const [{ id }] = v.parse(Projects, JSON.parse(body)).projects
  await client.call('PUT', `/api/projects/${id}/review-policy`, policy)
  const database = await server.databaseOf(worker)
  // Cron leaves out only traces that nobody has updated for a while.
  await database.prepare('update traces set updated_at = updated_at - ?').bind(HOUR_MS).run()
  const pass = database.prepare('select pass_due_at as due_at from review_policies')
  do await server.runCron(worker)
  while (v.parse(Pass, await pass.first()).due_at <= Date.now())
}
