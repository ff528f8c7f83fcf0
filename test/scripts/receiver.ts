import { spawn } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import * as v from 'valibot'
import { call } from '../../scripts/call.ts'
import type { Tenant } from './clients/tenant.ts'

/** A program that receives events on a port, as those on docs/webhooks.md do. */
export interface Receiver {
  url: string
  /** What it has printed so far. */
  printed: () => string
  stop: () => void
}

/** Starts a receiver, and waits until it rejects a request without a signature. */
export async function startReceiver(
  [program, ...args]: readonly [string, ...string[]],
  { folder, port, secret }: { folder: string; port: number; secret: string },
): Promise<Receiver> {
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(program, args, { cwd: folder, env })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (printed += data))
  const url = `http://localhost:${port}`
  const statusOf = () =>
    fetch(url, { method: 'POST', body: '{}' }).then(
      ({ status }) => status,
      () => undefined,
    )
  for (let status = await statusOf(); status !== 401; status = await statusOf()) {
    if (status !== undefined || child.exitCode !== null) throw new Error(`${program} returned ${status}: ${printed}`)
    await setTimeout(100)
  }
  return { url, printed: () => printed, stop: () => child.kill() }
}

const Attempt = v.object({ error: v.nullable(v.string()) })
const Deliveries = v.object({
  deliveries: v.array(v.object({ type: v.string(), state: v.string(), attempt: v.nullable(Attempt) })),
})

/** Returns a webhook's deliveries, newest first, as soon as none are pending. Throws if an attempt fails. */
export async function settledDeliveries({ url, key }: Tenant, webhookId: string) {
  for (;;) {
    const path = `/api/webhooks/${webhookId}/deliveries`
    const { deliveries } = v.parse(Deliveries, await call(url, key, 'GET', path))
    const failed = deliveries.find(({ attempt }) => attempt?.error)
    if (failed) throw new Error(`an attempt failed: ${JSON.stringify(failed)}`)
    if (deliveries.every(({ state }) => state === 'delivered')) return deliveries
    await setTimeout(200)
  }
}
