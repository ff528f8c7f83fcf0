/** The new names of renamed steps, keyed by old name. */
export type StepNames = ReadonlyMap<string, string>

/** Why a step can't be renamed. */
export interface StepNameFault {
  oldName: string
  message: string
}

/**
 * Finds the names that can't take effect together. A new name must differ from its old one and must not itself be
 * renamed, so that each old name leads directly to a final name, and the order of the renames doesn't matter.
 */
export function stepNameFaults(names: StepNames): StepNameFault[] {
  const newNames = new Set(names.values())
  return [...names].flatMap(([oldName, newName]) => {
    if (oldName === newName) return [{ oldName, message: 'must be a different name' }]
    if (newNames.has(oldName)) return [{ oldName, message: "is also a step's new name, so it can't itself be renamed" }]
    return []
  })
}
