import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import type { TestProject } from 'vitest/node'
import type { ReceiverReport } from '../support/receiver-report.ts'

const sessions = new Map<string, ReceiverReport>()

function* withoutEnd(): Generator<Buffer> {
  for (const part = Buffer.alloc(64 * 1024, 'x'); ; ) yield part
}

/** Writes until the other side closes the connection. */
async function writeForever(response: ServerResponse, report: ReceiverReport): Promise<void> {
  await pipeline(withoutEnd, response).catch(() => {})
  report.isClosed = true
}

type Behavior = (response: ServerResponse, report: ReceiverReport) => unknown

/** What the receiver does, by the last segment of a request's path. */
const BEHAVIORS: Readonly<Record<string, Behavior>> = {
  redirect: response => response.writeHead(302, { location: 'ok' }).end('Moved'),
  empty: response => response.writeHead(500).end(),
  // The first KiB ends in the middle of the euro sign.
  multibyte: response => response.writeHead(500).end(`${'x'.repeat(1022)}€ and more`),
  binary: response => response.writeHead(500).end(Buffer.from([0, 0xff, 0xfe, 0x80, 0x41])),
  compressed: response => response.writeHead(500, { 'content-encoding': 'gzip' }).end(gzipSync('Out of memory')),
  bomb: response =>
    response.writeHead(500, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(32 * 1024 * 1024, 'x'))),
  endless: (response, report) => writeForever(response.writeHead(500), report),
  'endless-ok': (response, report) => writeForever(response.writeHead(200), report),
  huge: (response, report) => writeForever(response.writeHead(500, { 'content-length': 2 ** 40 }), report),
  'hangs-up': response => response.destroy(),
  ok: response => response.end('ok'),
}

/**
 * A receiver of webhooks that answers in unusual ways, over real HTTP. Each test has a session, which is the first
 * segment of the path. `GET /<session>` returns a report of what the receiver got.
 */
export async function setup(project: TestProject): Promise<() => void> {
  const server = createServer((request, response) => {
    answer(request, response).catch(error => response.destroy(error))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  project.provide('webhookReceiver', `http://localhost:${port}`)
  return () => {
    server.close()
    server.closeAllConnections()
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, session = '', behavior = ''] = (request.url ?? '').split('/')
  const report = sessions.get(session) ?? { paths: [], isClosed: false }
  sessions.set(session, report)
  if (request.method === 'GET') {
    response.end(JSON.stringify(report))
    return
  }
  report.paths.push(request.url ?? '')
  await once(request.resume(), 'end')
  await BEHAVIORS[behavior]?.(response, report)
}
