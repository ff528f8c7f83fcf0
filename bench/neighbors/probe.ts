/**
 * Requests `/healthz` again and again from its own thread, so that work in the measuring thread doesn't look like a
 * stall.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { threadMs } from '../process.ts'
import type { Longest, Probed } from './neighbor.ts'

/** The pause between two requests. A stall may seem this much shorter than it is. */
const EVERY_MS = 2

const { url, processId }: Probed = workerData
const agent = new Agent({ keepAlive: true })
let longest: Longest = { ms: 0, computingMs: 0 }

const ask = (): Promise<void> =>
  new Promise((settle, fail) => {
    request(url, { agent }, response => response.resume().on('end', settle).on('error', fail))
      .on('error', fail)
      .end()
  })

// Replies to any message with the longest response time since the previous message.
parentPort?.on('message', () => {
  parentPort?.postMessage(longest)
  longest = { ms: 0, computingMs: 0 }
})

for (;;) {
  const [start, computed] = [performance.now(), threadMs(processId)]
  await ask()
  longest.ms = Math.max(longest.ms, performance.now() - start)
  longest.computingMs = Math.max(longest.computingMs, threadMs(processId) - computed)
  await sleep(EVERY_MS)
}
