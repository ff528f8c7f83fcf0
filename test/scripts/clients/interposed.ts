import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LocalServer } from './openai-server.ts'

/** A proxy between a client and the service that simulates an unreliable network. */
export interface Interposed extends LocalServer {
  /** The exports that the proxy forwarded or rejected. */
  exports: Export[]
}

interface Export {
  path: string
  contentType: string | undefined
  contentEncoding: string | undefined
  status: number
}

export interface Behavior {
  /** The number of initial exports that get a 503 and aren't forwarded. */
  refused?: number
  /** How many times each forwarded export is sent. */
  copies?: number
}

/** Starts a proxy on its own port that forwards calls to `target`. */
export async function interpose(target: string, { refused = 0, copies = 1 }: Behavior = {}): Promise<Interposed> {
  const exports: Export[] = []
  let left = refused
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url: path = '', method = '', headers } = request
    const isExport = /\/v1\/(traces|logs)$/.test(path)
    const record = (status: number) =>
      isExport &&
      exports.push({ path, status, contentType: headers['content-type'], contentEncoding: headers['content-encoding'] })
    if (isExport && left > 0) {
      left--
      record(503)
      response.writeHead(503, { 'retry-after': '1' }).end()
      return
    }
    const { host: _, connection: __, 'transfer-encoding': ___, ...passed } = headers
    const send = () =>
      fetch(target + path, {
        method,
        headers: new Headers(Object.entries(passed).map(([name, value]) => [name, String(value)])),
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      })
    for (let copy = 1; isExport && copy < copies; copy++) record((await send()).status)
    const answer = await send()
    record(answer.status)
    const type = answer.headers.get('content-type')
    response.writeHead(answer.status, type ? { 'content-type': type } : {})
    response.end(Buffer.from(await answer.arrayBuffer()))
  }
  const server = createServer((request, response) => {
    pass(request, response).catch(error => response.destroy(error))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    exports,
    url: `http://localhost:${port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
