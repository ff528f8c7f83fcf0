import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import * as v from 'valibot'

const Request = v.object({ messages: v.array(v.object({ role: v.string(), content: v.string() })) })

/** A local model provider in OpenAI's wire format. The engine calls it as it would call a real one. */
export interface Provider extends AsyncDisposable {
  /** The Worker's variables that select this provider. */
  variables: Record<string, string>
}

/** Starts a provider. `reply` gets the question and returns the text of the answer. */
export async function startProvider(reply: (question: string) => Promise<string>): Promise<Provider> {
  const server = createServer(async (request, response) => {
    const { messages } = v.parse(Request, await json(request))
    const content = await reply(messages.map(message => message.content).join('\n\n'))
    response.writeHead(200, { 'content-type': 'application/json' })
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
    response.end(JSON.stringify({ id: 'answer', object: 'chat.completion', created: 0, model: 'files', choices }))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    variables: { ATTRIBUTION_MODEL: 'openai/files', ATTRIBUTION_BASE_URL: `http://localhost:${port}/v1` },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
