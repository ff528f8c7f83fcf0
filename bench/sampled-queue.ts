import * as v from 'valibot'
import type { Client } from './client.ts'
import type { Server } from './server.ts'

const Projects = v.object({ projects: v.tuple([v.object({ id: v.string() })]) })
const Pass = v.object({ due_at: v.number() })

const HOUR_MS = 60 * 60_000

/** Has a Worker's queue offer 1 in 100 outputs, and runs cron until it has moved the other traces out of its index. */
export async function sampleQueue(server: Server, worker: string, client: Client): Promise<void> {
  const { body } = await client.call('GET', '/api/projects')
  const [{ id }] = v.parse(Projects, JSON.parse(body)).projects
  await client.call('PUT', `/api/projects/${id}/review-policy`, { default: { sample: 0.01 } })
  const database = await server.databaseOf(worker)
  // Cron leaves out only traces that nobody is still sending.
  await database.prepare('update traces set updated_at = updated_at - ?').bind(HOUR_MS).run()
  const pass = database.prepare('select pass_due_at as due_at from review_policies')
  do await server.runCron(worker)
  while (v.parse(Pass, await pass.first()).due_at <= Date.now())
}
