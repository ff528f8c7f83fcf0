/** The fields that differ. Sending only these keeps other people's concurrent changes. */
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
