/*
 * The chosen organization of a Cloudflare Access user who belongs to several. Keys and sessions belong to only one
 * organization, so there's nothing to choose.
 */

const CHOSEN = 'countersign.organization'

/** The slug of the chosen organization, or null. */
export const chosenOrganization = (): string | null => localStorage.getItem(CHOSEN)

/** Remembers a choice in this browser; null forgets it. */
export function chooseOrganization(slug: string | null): void {
  if (slug === null) localStorage.removeItem(CHOSEN)
  else localStorage.setItem(CHOSEN, slug)
}
