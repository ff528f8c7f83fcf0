import { pathWith } from '../api/client.ts'

/** The metadata field that usually identifies a conversation. */
export const DEFAULT_KEY = 'group_id'

/** The path to a conversation. The conversation's value may be empty. */
export const conversationAddress = (project: string | undefined, key: string, value: string): string => {
  const path = pathWith('/traces/conversations/read', { project, key: key === DEFAULT_KEY ? undefined : key })
  return `${path}${path.includes('?') ? '&' : '?'}value=${encodeURIComponent(value)}`
}

/** The path to the list of conversations that a key identifies. */
export const conversationsAddress = (project: string | undefined, key: string): string =>
  pathWith('/traces/conversations', { project, key: key === DEFAULT_KEY ? undefined : key })
