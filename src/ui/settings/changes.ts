/** The fields that differ. Sending only these fields keeps changes that other people make to the rest. */
export const changesIn = <Thing extends object, Field extends keyof Thing>(
  before: Thing,
  after: Pick<Thing, Field>,
  fields: readonly Field[],
): Partial<Pick<Thing, Field>> => {
  const changes: Partial<Pick<Thing, Field>> = {}
  for (const field of fields) {
    if (JSON.stringify(before[field]) !== JSON.stringify(after[field])) changes[field] = after[field]
  }
  return changes
}
