/**
 * Runs a task for each item, up to `size` at once, and reads an item only when its task can start. After an error,
 * starts no more tasks. Throws the first error once every running task has ended, so no task is cut off.
 */
export async function runInFlight<Item>(
  items: AsyncGenerator<Item>,
  size: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const work = async () => {
    try {
      for (let next = await items.next(); !next.done && errors.length === 0; next = await items.next()) {
        await task(next.value)
      }
    } catch (error) {
      errors.push(error)
    }
  }
  await Promise.all(Array.from({ length: size }, work))
  if (errors.length > 0) throw errors[0]
}
