/** The name that the user probably meant, if one is close enough: at most a third of its letters differ. */
export function closest(given: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map(name => ({ name, distance: distanceBetween(given, name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, name.length / 3))
    .sort((left, right) => left.distance - right.distance)
  return best?.name
}

/** How many letters have to be added, removed, or replaced. */
function distanceBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let at = 1; at <= left.length; at++) {
    const next = [at]
    for (let index = 1; index <= right.length; index++) {
      const replaced = (row[index - 1] ?? 0) + (left[at - 1] === right[index - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[index] ?? 0) + 1, (next[index - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}
