/** The new names of renamed steps, by their old names. */
export type StepNames = ReadonlyMap<string, string>

/** Says why a step can't be renamed. */
export interface StepNameFault {
  oldName: string
  message: string
}

/**
 * Finds the names that can't take effect together. A new name must differ from its old one and must not itself be
 * renamed, so that each name leads to its final name in one step, in any order.
 */
export function stepNameFaults(names: StepNames): StepNameFault[] {
  const newNames = new Set(names.values())
  return [...names].flatMap(([oldName, newName]) => {
    if (oldName === newName) return [{ oldName, message: 'must be a different name' }]
    if (newNames.has(oldName)) return [{ oldName, message: "is also a step's new name, so it can't itself be renamed" }]
    return []
  })
}
