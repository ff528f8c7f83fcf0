/**
 * Receives events from a webhook, and prints the latest decision on each span once:
 *
 *     WEBHOOK_SECRET=whsec_... node receive-webhooks.ts
 */
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

const { WEBHOOK_SECRET = '', PORT = '8800' } = process.env

interface ReceivedEvent {
  type: string
  data: { sequence: number; spanId?: string; decision?: string }
}

const webhook = new Webhook(WEBHOOK_SECRET)
/**
 * The ids of the handled events. Store them in your database, in the same transaction as the changes that they cause.
 */
const handled = new Set<string>()
/** The sequence number of the latest event about each span. */
const latest = new Map<string, number>()

/** Returns the event in a request. Throws if the signature is wrong or older than five minutes. */
async function readEvent(request: IncomingMessage): Promise<ReceivedEvent> {
  return webhook.verify(await text(request), request.headers as Record<string, string>) as ReceivedEvent
}

function handle(id: string, { type, data }: ReceivedEvent): void {
  // An event may arrive again if the first response was lost, or if somebody replays it.
  if (handled.has(id)) return
  handled.add(id)
  if (type !== 'span.reviewed' || !data.spanId) {
    console.log(type)
    return
  }
  // An event that was sent again may arrive after newer events.
  if (data.sequence < (latest.get(data.spanId) ?? 0)) return
  latest.set(data.spanId, data.sequence)
  console.log(`${data.spanId}: ${data.decision}`)
}

createServer(async (request, response) => {
  try {
    handle(String(request.headers['webhook-id']), await readEvent(request))
    response.writeHead(204).end()
  } catch {
    response.writeHead(401).end()
  }
}).listen(Number(PORT), 'localhost')
