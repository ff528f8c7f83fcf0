import type { Webhook } from '../api/wire.ts'

/** The host that a webhook sends to. Its whole URL can be a secret, such as one of Slack. */
export const hostOf = ({ url, isReadable }: Pick<Webhook, 'url' | 'isReadable'>): string =>
  isReadable ? new URL(url).host : 'Unreadable URL'
