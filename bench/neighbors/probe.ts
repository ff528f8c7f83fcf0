/** A thread that asks `/healthz` again and again, so that nothing which the measuring thread does looks like a stall. */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** Between two questions: a stall shows at most this much too short. */
const EVERY_MS = 2

const agent = new Agent({ keepAlive: true })
let longestMs = 0

const ask = (): Promise<void> =>
  new Promise((settle, fail) => {
    request(workerData, { agent }, response => response.resume().on('end', settle).on('error', fail))
      .on('error', fail)
      .end()
  })

// Any message asks for the longest answer since the last message.
parentPort?.on('message', () => {
  parentPort?.postMessage(longestMs)
  longestMs = 0
})

for (;;) {
  const start = performance.now()
  await ask()
  longestMs = Math.max(longestMs, performance.now() - start)
  await sleep(EVERY_MS)
}
