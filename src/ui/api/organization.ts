/*
 * Which organization is looked at by somebody whom Cloudflare Access let in, and who is a user of several. Keys and sessions
 * are of one, and need no choice.
 */

const CHOSEN = 'countersign.organization'

/** The slug of the organization that was chosen in this browser, or null. */
export const chosenOrganization = (): string | null => localStorage.getItem(CHOSEN)

/** Keeps a choice for this browser; null: none. */
export function chooseOrganization(slug: string | null): void {
  if (slug === null) localStorage.removeItem(CHOSEN)
  else localStorage.setItem(CHOSEN, slug)
}
