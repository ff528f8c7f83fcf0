import type { Webhook } from '../api/wire.ts'

/** The host that a webhook sends to. The whole URL can be a secret, as it is for Slack. */
export const hostOf = ({ url, isReadable }: Pick<Webhook, 'url' | 'isReadable'>): string =>
  isReadable ? new URL(url).host : 'Unreadable URL'
