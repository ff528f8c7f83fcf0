import { ApiError } from '../http/errors.ts'
import { MIN_WEBHOOK_KEY_LENGTH, WEBHOOK_SECRET_BYTES } from '../limits.ts'

/** What a webhook's row keeps encrypted. */
export interface Sealed {
  url: string
  /** The current signing secret. */
  secret: string
  /** The previous signing secret, which may still be valid. Null if there isn't one. */
  oldSecret: string | null
}

const NOT_CONFIGURED =
  'Webhooks need the Worker secret WEBHOOK_KEY, which encrypts their secrets. `npm run deploy` and `npm start` create it; with wrangler, run `openssl rand -base64 32 | npx wrangler secret put WEBHOOK_KEY`'
const TOO_SHORT = `The Worker secret WEBHOOK_KEY is too short. It needs at least ${MIN_WEBHOOK_KEY_LENGTH} random characters; with wrangler, run \`openssl rand -base64 32 | npx wrangler secret put WEBHOOK_KEY\``
const OTHER_KEY =
  'This webhook was encrypted with a different WEBHOOK_KEY. Restore that key, or set its URL and then replace its secret'

const encoder = new TextEncoder()

/** The key that encrypts webhooks. If the deployment has none, throws a 409 that says what to do. */
export async function webhookKeyOf({ WEBHOOK_KEY = '' }: { WEBHOOK_KEY?: string }): Promise<CryptoKey> {
  if (WEBHOOK_KEY.length < MIN_WEBHOOK_KEY_LENGTH) {
    throw new ApiError(409, WEBHOOK_KEY === '' ? NOT_CONFIGURED : TOO_SHORT, { code: 'no_webhook_key' })
  }
  // Any text works, and its hash keeps all of its randomness.
  const hash = await crypto.subtle.digest('SHA-256', encoder.encode(WEBHOOK_KEY))
  return crypto.subtle.importKey('raw', hash, 'AES-GCM', false, ['encrypt', 'decrypt'])
}

const IV_BYTES = 12

/** Encrypts what a webhook keeps secret. The result is bound to the webhook's id. */
export async function seal(key: CryptoKey, webhookId: string, sealed: Sealed): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
  const text = encoder.encode(JSON.stringify([sealed.url, sealed.secret, sealed.oldSecret]))
  const encrypted = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, ...boundTo(webhookId) }, key, text)
  return base64(iv) + base64(new Uint8Array(encrypted))
}

/** The length of the IV in base64, which needs no padding. */
const IV_LENGTH = (IV_BYTES / 3) * 4

/** Decrypts what `seal` encrypted. If it was encrypted with a different key, throws a 409 that says what to do. */
export async function unseal(key: CryptoKey, webhookId: string, text: string): Promise<Sealed> {
  try {
    const iv = bytes(text.slice(0, IV_LENGTH))
    const encrypted = bytes(text.slice(IV_LENGTH))
    const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv, ...boundTo(webhookId) }, key, encrypted)
    const [url, secret, oldSecret]: [string, string, string | null] = JSON.parse(new TextDecoder().decode(plain))
    return { url, secret, oldSecret }
  } catch (error) {
    throw new ApiError(409, OTHER_KEY, { code: 'other_webhook_key', cause: error })
  }
}

/** Like `unseal`, but returns undefined if the text was encrypted with a different key. */
export const unsealIfPossible = (key: CryptoKey, webhookId: string, text: string): Promise<Sealed | undefined> =>
  unseal(key, webhookId, text).catch(() => undefined)

const boundTo = (webhookId: string) => ({ additionalData: encoder.encode(webhookId) })

const PREFIX = 'whsec_'

/** Creates a signing secret in the format of Standard Webhooks. */
export const makeWebhookSecret = (): string =>
  PREFIX + base64(crypto.getRandomValues(new Uint8Array(WEBHOOK_SECRET_BYTES)))

/** A message's `webhook-signature` as defined by Standard Webhooks, with one signature for each valid secret. */
export async function sign(
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
): Promise<string> {
  const message = encoder.encode(`${id}.${timestamp}.${body}`)
  const signatures = await Promise.all(
    secrets.map(async secret => {
      const algorithm = { name: 'HMAC', hash: 'SHA-256' }
      const key = await crypto.subtle.importKey('raw', bytes(secret.slice(PREFIX.length)), algorithm, false, ['sign'])
      return `v1,${base64(new Uint8Array(await crypto.subtle.sign('HMAC', key, message)))}`
    }),
  )
  return signatures.join(' ')
}

const base64 = (value: Uint8Array): string => btoa(String.fromCharCode(...value))

const bytes = (text: string) => Uint8Array.from(atob(text), character => character.charCodeAt(0))
