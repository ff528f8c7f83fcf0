/**
 * Returns a function that loads a module when it's first needed. It keeps the module rather than a promise for it: a
 * promise belongs to the request that created it, and other requests that wait for it hang if that request ends first.
 */
export function loadOnce<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Module | undefined
  return async () => {
    loaded ??= await load()
    return loaded
  }
}
